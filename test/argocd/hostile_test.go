// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hostile are modules that the evaluator has to be kept from, by what they do.
func hostile() map[string]string {
	const dir = "../../render/evaluate/worker/testdata/hostile"
	return map[string]string{
		"hangs":       filepath.Join(dir, "nested-for.cue"),
		"eats memory": filepath.Join(dir, "doubled-string.cue"),
	}
}

// TestOneTenantHarmsNoOther has the repo-server ask for three applications at once:
// one hangs, one wants all memory, and one is fine.
func TestOneTenantHarmsNoOther(t *testing.T) {
	const limit = 3 * time.Second
	r := newRig(t, "--timeout", limit.String())
	root := local(t)
	apps := map[string]application{"fine": {path: "app"}}
	for name, file := range hostile() {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		write(t, root, map[string]string{
			name + "/m/m.cue":     string(data),
			name + "/broken.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: broken}\nspec: {cueRef: {type: path, ref: m}}\n",
		})
		apps[name] = application{path: name}
	}
	repo := commit(t, root).file()
	for name, a := range apps {
		a.name, a.repo, a.revision, a.plugin, a.hard = name, repo, "main", plugin(), true
		apps[name] = a
	}
	r.objects(t, apps["fine"]) // The repository is checked out, and a worker is warm.

	before, peak := resident(r.sidecar.cmd.Process.Pid), r.peak()
	var all sync.WaitGroup
	type outcome struct {
		err  error
		took time.Duration
	}
	outcomes := make(chan map[string]outcome, len(apps))
	for name, a := range apps {
		all.Go(func() {
			var o outcome
			o.took = timed(func() { _, o.err = r.generate(t.Context(), a) })
			outcomes <- map[string]outcome{name: o}
		})
	}
	all.Wait()
	highest := peak()
	close(outcomes)
	got := map[string]outcome{}
	for o := range outcomes {
		for name, one := range o {
			got[name] = one
			t.Logf("%s: %s: %v", name, one.took, one.err)
		}
	}
	t.Logf("memory of the sidecar and its workers: %d MiB before, %d MiB at most", before>>20, highest>>20)

	require.NoError(t, got["fine"].err)
	for name := range hostile() {
		require.ErrorContains(t, got[name].err, "ResourceExhausted")
		require.ErrorContains(t, got[name].err, name+"/broken.yaml:")
		require.Less(t, got[name].took, 4*limit, name)
	}
	require.Less(t, highest, int64(512<<20), "what the server and its workers may have together, if nobody says more")
	r.objects(t, apps["fine"])
}
