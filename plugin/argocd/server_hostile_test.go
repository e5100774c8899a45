// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
)

func schemas() map[string]fs.FS { return map[string]fs.FS{cue.SchemaPath: cue.Schema()} }

// TestMain is the worker of the pools under test: the test binary starts itself,
// as the program does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Arg {
		if err := worker.Serve(context.Background(), os.Stdin, os.Stdout, "", inprocess.Options{Schemas: schemas()}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	code := m.Run()
	_ = os.Remove(filepath.Join(os.TempDir(), fmt.Sprintf("ropewalk-%d.test", os.Getpid()))) // see program
	os.Exit(code)
}

func TestAModuleThatHangsHarmsNoOther(t *testing.T) {
	t.Parallel()
	pool, err := worker.NewPool(worker.Options{Size: 2, Schemas: schemas()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	opts := options(t)
	opts.Evaluator, opts.Workers, opts.Evaluations, opts.Stores = pool, 2, nil, nil
	opts.Limits = evaluate.Limits{Timeout: time.Second}
	_, socket := start(t, opts)
	hang, err := os.ReadFile("../../render/evaluate/worker/testdata/hostile/long-range.cue")
	require.NoError(t, err)
	files := projectOf("web")
	files["bad/bad.yaml"] = "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: bad}\nspec: {cueRef: {type: path, ref: m}}\n"
	files["bad/m/m.cue"] = string(hang)
	packed := archive(t, texts(files))
	var all sync.WaitGroup
	bad := make(chan error, 1)
	all.Go(func() {
		_, err := generate(t, socket, call{archive: packed, path: "bad", env: map[string]string{"ARGOCD_APP_NAME": "bad"}})
		bad <- err
	})
	for i := range 50 {
		all.Go(func() {
			got, err := generate(t, socket, call{archive: packed, path: "apps/web", env: map[string]string{
				"ARGOCD_APP_NAME": fmt.Sprint(i), "ARGOCD_ENV_ROPEWALK_SET": fmt.Sprintf("n=%d", i),
			}})
			if err != nil || len(got) != 1 {
				t.Error(got, err)
			}
		})
	}
	all.Wait()
	err = <-bad
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "bad/bad.yaml")
}

// A bundle that is refused at once must not be read for minutes for what its messages may show.
func TestABundleOfDeepValuesHarmsNoOther(t *testing.T) {
	t.Parallel()
	const limit = 10 * time.Second // A tenth of a second for each alone.
	opts := options(t)
	opts.Workers = 2
	_, socket := start(t, opts)
	files := projectOf("web")
	files["bad/bundle.cue"] = "bundle: {apiVersion: \"v1alpha1\", name: \"a\", instances: a: {module: url: \"oci://a.example/b\", namespace: \"a\", values: " +
		strings.Repeat("x: ", 900_000) + "1}}\n"
	packed := archive(t, texts(files))
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			_, err := generate(t, socket, call{archive: packed, path: "bad", timeout: limit, env: map[string]string{"ARGOCD_APP_NAME": fmt.Sprint(i), "ARGOCD_APP_PROJECT_NAME": "bad"}})
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "too deep to be evaluated") {
				t.Error(err)
			}
		})
	}
	got, err := generate(t, socket, call{archive: archive(t, texts(projectOf("web"))), path: "apps/web", timeout: limit, env: map[string]string{"ARGOCD_APP_NAME": "web", "ARGOCD_APP_PROJECT_NAME": "good"}})
	require.NoError(t, err)
	require.Len(t, got, 1)
	all.Wait()
}
