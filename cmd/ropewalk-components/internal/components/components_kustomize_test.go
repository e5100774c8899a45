// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"fmt"
	"log"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/render/component/kustomize"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// faulty is a library that does to its process what a namePrefix says.
type faulty struct{ kustomize.Library }

// Build implements [kustomize.Library].
func (f faulty) Build(r kustomize.Run) (kustomize.Built, error) {
	data, err := r.Files.ReadFile(r.Dir + "/kustomization.yaml")
	if err != nil {
		return kustomize.Built{}, err
	}
	var k struct{ NamePrefix string }
	if err := yaml.Unmarshal(data, &k); err != nil {
		return kustomize.Built{}, err
	}
	switch k.NamePrefix {
	case "fatal-":
		_, _ = f.Library.Build(r) // It prints that a field is deprecated.
		log.Fatal("s3cret")
	case "loop-":
		for i := 0; ; i++ {
			r.Schema = i > 0
		}
	case "stack-":
		return kustomize.Built{}, fmt.Errorf("%d calls", deeper(0))
	case "memory-":
		for all := [][]byte{}; ; all = append(all, make([]byte, 1<<20)) {
			clear(all[max(0, len(all)-1):])
		}
	}
	if k.NamePrefix == "panic-" {
		r.Files = nil // The library panics itself.
	}
	return f.Library.Build(r)
}

// deeper comes back from no number that is not negative.
func deeper(n int) int {
	if n < 0 {
		return 0
	}
	return deeper(n+1) + 1
}

// kustomization asks for one that gives its ConfigMap a prefix.
func kustomization(prefix string) evaluate.Request {
	at := object.Pos{File: "shop.yaml", Line: 4, Column: 3}
	return evaluate.Request{
		Operation: evaluate.OpBuild, Spec: "shop", Pos: at,
		Module: evaluate.Module{Digest: prefix, Label: "shop", FS: fstest.MapFS{
			"kustomization.yaml": {Data: []byte("resources: [a.yaml]\ncommonLabels: {a: b}\nnamePrefix: " + prefix + "\n")},
			"a.yaml":             {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")},
		}},
		Component: &spec.Component{Pos: at, Kustomize: &spec.Kustomize{Path: spec.Text{Text: ".", Pos: at}}},
	}
}

// TestWhatKustomizeDoesToItsProcessIsAnErrorOfItsComponent, and the next one is built.
func TestWhatKustomizeDoesToItsProcessIsAnErrorOfItsComponent(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv("ROPEWALK_COMPONENTS", self)
	pool := process.Components(nil, worker.Options{Size: 1, Timeout: 20 * time.Second, Strikes: -1})
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	for _, c := range []struct {
		prefix string
		is     error
		want   string
	}{
		{"fatal-", evaluate.ErrCrashed, `shop.yaml:4:3: evaluate: the library of the component gave up (exit status 1) ("kustomize build" or "helm template" may say more, with values of the files)`},
		{"panic-", nil, `shop/kustomization.yaml:1:1: evaluate: kustomize cannot build it: kustomize crashed ("kustomize build" may say more, with values of the files)`},
		{"loop-", evaluate.ErrTimeout, `shop.yaml:4:3: evaluate: evaluation exceeded 2s: component "shop" did not finish in time`},
		{"stack-", evaluate.ErrCrashed, `shop.yaml:4:3: evaluate: evaluation recursed too deeply: component "shop" was stopped`},
		{"memory-", evaluate.ErrMemory, `shop.yaml:4:3: evaluate: evaluation exceeded`},
	} {
		t.Run(c.prefix, func(t *testing.T) {
			req := kustomization(c.prefix)
			if c.prefix == "loop-" {
				req.Limits.Timeout = 2 * time.Second
			}
			_, err := pool.Evaluate(t.Context(), req)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "s3cret")
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			result, err := pool.Evaluate(t.Context(), kustomization("good-"))
			require.NoError(t, err)
			require.Equal(t, "good-a", result.Nodes[0].Object.Name())
		})
	}
}
