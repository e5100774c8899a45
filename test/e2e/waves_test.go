// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestWavesAreNoMoreThanReadinessAsksFor compares the waves of real projects with
// the longest chain of objects that wait for the readiness of another, which is
// counted here from the edges alone, and with the longest chain of any edges and of
// the calls between workloads, which is what comes out where each opens a wave.
func TestWavesAreNoMoreThanReadinessAsksFor(t *testing.T) {
	c := Shared(t)
	root := filepath.Join(c.modules.Root, "..", "..")
	for _, project := range []struct{ name, dir string }{
		{"the shop", "cue/examples/shop"},
		{"the Online Boutique", "render/workload/score/testdata/corpus/onlineboutique"},
		{"the workloads", "cue/examples/workloads"},
	} {
		for _, dialect := range []string{"argocd", "flux"} {
			dir := filepath.Join(root, project.dir)
			g := c.graphOf(t, dir, dialect)
			least := g.chain(link.waitsForReadiness)
			naive := g.chain(func(link) bool { return true }, g.calls(t, dir)...)
			t.Logf("%-20s for %-7s %2d objects: %2d waves where each edge and each call costs one, %d of ours, %d readiness dependencies in a row",
				project.name, dialect+",", len(g.Nodes), naive, g.Waves, least-1)
			require.Equal(t, least, g.Waves, "%s for %s", project.name, dialect)
			require.Less(t, g.Waves, naive, "%s for %s", project.name, dialect)
		}
	}
}

// link is that from comes after to. Somebody asked for it where it is explicit, and
// else it follows from the objects.
type link struct {
	from, to identity
	explicit bool
	rule     string
}

// waitsForReadiness reports whether from is of no use before to is ready. That is so
// where somebody asked to wait for what runs, and for a Secret that a controller
// has yet to fetch.
func (l link) waitsForReadiness() bool {
	switch l.to.Kind {
	case "Deployment", "StatefulSet", "DaemonSet", "Job", "Pod":
		return l.explicit
	case "ExternalSecret":
		return l.explicit || l.rule == "secret"
	}
	return false
}

// chain is how many waves it takes when the links that cost one do, and all others
// may be within one. More links are added to those of the graph.
func (g graph) chain(costs func(link) bool, more ...link) int {
	next := map[identity][]link{}
	for _, l := range slices.Concat(g.links(), more) {
		next[l.from] = append(next[l.from], l)
	}
	waves := map[identity]int{}
	var wave func(identity) int
	wave = func(of identity) int {
		if waves[of] == 0 {
			least := 1
			for _, l := range next[of] {
				after := wave(l.to)
				if costs(l) {
					after++
				}
				least = max(least, after)
			}
			waves[of] = least
		}
		return waves[of]
	}
	most := 0
	for _, n := range g.Nodes {
		most = max(most, wave(n.Object))
	}
	return most
}

// links are the edges, and every pair of the joins.
func (g graph) links() []link {
	objects := map[string]identity{}
	for _, n := range g.Nodes {
		objects[n.ID] = n.Object
	}
	var out []link
	for _, e := range g.Edges {
		out = append(out, link{objects[e.From], objects[e.To], e.Explicit, e.Rule})
	}
	for _, j := range g.Joins {
		for _, from := range j.FromNodes {
			for _, to := range j.ToNodes {
				out = append(out, link{objects[from], objects[to], true, "spec"})
			}
		}
	}
	return out
}

// calls are links from the Deployment of each Score file below dir to those of the
// workloads that it calls. They are none of ours: a caller tries again.
func (g graph) calls(t testing.TB, dir string) []link {
	t.Helper()
	deployments := map[string]identity{}
	for _, n := range g.Nodes {
		if n.Object.Kind == "Deployment" {
			deployments[n.Object.Name] = n.Object
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "score.yaml"))
	require.NoError(t, err)
	var out []link
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, workload := range decode(t, data) {
			resources, _, err := unstructured.NestedMap(workload.Object, "resources")
			require.NoError(t, err)
			for name, resource := range resources {
				fields, _ := resource.(map[string]any)
				from, to := deployments[workload.GetName()], deployments[name]
				if fields["type"] == "service" && from != (identity{}) && to != (identity{}) {
					out = append(out, link{from: from, to: to, rule: "call"})
				}
			}
		}
	}
	return out
}
