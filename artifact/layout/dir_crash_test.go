// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package layout_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/layout"
	"github.com/ropewalk/ropewalk/test/artifacts"
)

// The process that is killed is this test itself, run once more with the folder
// in its environment.
const childDir = "ROPEWALK_TEST_LAYOUT_DIR"

// write pushes and deletes without end.
func write(dir string) error {
	l, err := layout.Open(dir, true)
	if err != nil {
		return err
	}
	ctx := context.Background()
	fmt.Println("ready")
	for i := 0; ; i++ {
		set, err := artifact.PackSet(artifacts.Tree("a.yaml", fmt.Sprint(i, os.Getpid())), nil, artifact.Options{})
		if err != nil {
			return err
		}
		if _, err := artifact.Push(ctx, l, set, []string{"v1"}, artifact.PushOptions{}); err != nil {
			return err
		}
		if _, err := artifact.Attach(ctx, l, set.Complete.Descriptor, artifact.Referrer{ArtifactType: "application/vnd.example.graph+json", Data: []byte("{}\n")}); err != nil {
			return err
		}
		if _, err := artifact.Prune(ctx, l, artifact.PruneOptions{Keep: 3}); err != nil {
			return err
		}
	}
}

func TestAKilledWriterLeavesTheLayoutWhole(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Println(write(dir))
		os.Exit(1)
	}
	kills := 200
	if testing.Short() {
		kills = 20
	}
	dir := filepath.Join(t.TempDir(), "layout")
	random := rand.New(rand.NewPCG(1, 2))
	for i := range kills {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), childDir+"="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		line := make([]byte, 5)
		_, err = out.Read(line)
		require.NoError(t, err)
		require.Equal(t, "ready", string(line), "run %d", i)
		time.Sleep(time.Duration(random.IntN(12_000)) * time.Microsecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		l, err := layout.Open(dir, false)
		require.NoError(t, err)
		require.NoError(t, artifacts.VerifyLayout(dir), "run %d", i)
		require.NoError(t, l.Close())
	}
	ingest := filepath.Join(dir, "ingest")
	left, err := os.ReadDir(ingest)
	require.NoError(t, err)
	for _, e := range left {
		old := time.Now().Add(-2 * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(ingest, e.Name()), old, old))
	}
	l := open(t, dir)
	artifacts.Push(t, l, artifacts.Single(t, "last", ""), "v1")
	got, err := artifact.Pull(t.Context(), l, "v1", artifact.PullOptions{})
	require.NoError(t, err)
	require.Equal(t, "last", string(got.Files[0].Data))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.False(t, strings.HasPrefix(e.Name(), ".tmp-"), "the next writer clears what the killed ones left")
	}
	left, err = os.ReadDir(ingest)
	require.NoError(t, err)
	require.Empty(t, left, "and what they left for an hour")
}
