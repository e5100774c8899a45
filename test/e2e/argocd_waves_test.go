// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestArgoCDAppliesTheShopWaveByWave has Argo CD apply the shop from the artifact
// and from Git by the plugin: no object of a wave is made before all workloads of
// the waves before it are ready.
func TestArgoCDAppliesTheShopWaveByWave(t *testing.T) {
	c := Shared(t)
	a := c.ArgoCD(t)
	a.Plugin(t)
	for name, source := range map[string]func(s shop) string{
		"artifact": func(s shop) string {
			s.build(t, c, "argocd", "v1")
			return fmt.Sprintf(`{repoURL: "oci://%s/%s", targetRevision: v1, path: .}`, c.Registry, s.namespace)
		},
		"plugin": func(s shop) string {
			repository := c.Git(t)
			repository.Commit(s.files(t, "shop"))
			return fmt.Sprintf(`{repoURL: %q, targetRevision: main, path: shop, plugin: {name: ropewalk}}`, repository.URL)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := theShop(t, c, "waves-"+name)
			g := c.graphOf(t, s.dir, "argocd", "-n", s.namespace)
			j := c.journal(t, s.namespace, kindsOf(s.objects(t, c, "argocd"))...)
			from := source(s)
			start := time.Now()
			a.Application(t, s.namespace, fmt.Sprintf(`
project: default
source: %s
destination: {server: "https://kubernetes.default.svc", namespace: %s}
syncPolicy: {automated: {prune: true, selfHeal: true}}
`, from, s.namespace))
			a.AwaitSynced(t, 2*time.Minute, s.namespace)
			t.Logf("the sync is done after %s", time.Since(start).Round(10*time.Millisecond))
			a.AwaitHealthy(t, 2*time.Minute, s.namespace)
			t.Logf("healthy after %s", time.Since(start).Round(10*time.Millisecond))
			s.ready(t, c)
			inWaves(t, g, j)
		})
	}
}

// objects are what the shop renders to.
func (s shop) objects(t testing.TB, c *Cluster, dialect string) []*unstructured.Unstructured {
	t.Helper()
	return decode(t, []byte(c.Ropewalk(t, "render", s.dir, "--dialect", dialect, "-n", s.namespace)))
}

// files are those of the shop by their path below a folder, with its namespace in
// the project, for those who render it without flags.
func (s shop) files(t testing.TB, folder string) map[string]string {
	t.Helper()
	files := contents(t, s.dir, folder)
	project := folder + "/ropewalk.yaml"
	require.Contains(t, files[project], "namespace: shop\n")
	files[project] = strings.Replace(files[project], "namespace: shop\n", "namespace: "+s.namespace+"\n", 1)
	return files
}

// contents are the files below dir by their path below a folder.
func contents(t testing.TB, dir, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name) //nolint:gosec // a file of the test
		below, _ := filepath.Rel(dir, name)
		files[folder+"/"+filepath.ToSlash(below)] = string(data)
		return err
	}))
	return files
}

// AwaitSynced waits until the last sync of an Application has succeeded. It may
// be healthy later: a sync does not wait for its last wave.
func (a *ArgoCD) AwaitSynced(t testing.TB, within time.Duration, name string) {
	t.Helper()
	a.cluster.Await(t, within, name+" is synced", func() bool {
		phase, _, _ := unstructured.NestedString(a.Get(t, name).Object, "status", "operationState", "phase")
		require.NotContains(t, []string{"Failed", "Error"}, phase, "%v", a.Get(t, name).Object["status"])
		return phase == "Succeeded"
	})
}

// inWaves requires that no object was made before all workloads of the waves before
// its own were ready, and prints in which order they were made.
func inWaves(t testing.TB, g graph, j *journal) {
	t.Helper()
	type made struct {
		wave int
		change
	}
	var order []made
	for _, n := range g.Nodes {
		order = append(order, made{n.Wave, j.created(t, n.Object)})
	}
	slices.SortFunc(order, func(a, b made) int { return cmp.Compare(a.revision, b.revision) })
	for _, m := range order {
		t.Logf("wave %d, %6.2f s, creationTimestamp %s, %s",
			m.wave, m.at.Sub(order[0].at).Seconds(), m.object.GetCreationTimestamp().UTC().Format(time.TimeOnly), m.identity())
	}
	for _, n := range g.Nodes {
		if n.Wave == g.Waves-1 || !runs(n.Object) {
			continue
		}
		ready := j.first(t, n.Object, available)
		require.NotNil(t, ready, "%s was never ready", n.Object)
		t.Logf("wave %d, %6.2f s, %s is ready", n.Wave, ready.at.Sub(order[0].at).Seconds(), n.Object)
		for _, m := range order {
			if m.wave > n.Wave {
				require.Greater(t, m.revision, ready.revision, "%s of wave %d was made before %s of wave %d was ready", m.identity(), m.wave, n.Object, n.Wave)
				require.False(t, m.object.GetCreationTimestamp().Time.Before(ready.object.GetCreationTimestamp().Time))
			}
		}
	}
	require.True(t, slices.IsSortedFunc(order, func(a, b made) int { return cmp.Compare(a.wave, b.wave) }))
}

// runs reports whether something is a workload of which an engine sees whether it
// is ready.
func runs(of identity) bool { return of.Kind == "Deployment" || of.Kind == "StatefulSet" }

// available reports whether a Deployment or StatefulSet has all its replicas, as its
// present generation wants them.
func available(object *unstructured.Unstructured) bool {
	number := func(fields ...string) int64 {
		n, _, _ := unstructured.NestedInt64(object.Object, fields...)
		return n
	}
	return number("status", "observedGeneration") == object.GetGeneration() &&
		number("status", "readyReplicas") == number("spec", "replicas") &&
		number("status", "updatedReplicas") == number("spec", "replicas")
}
