// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// setTraps makes some nodes such that an engine may wait for them without end,
// and has workloads use claims.
func setTraps(r *rand.Rand, nodes []*object.Node) map[object.ID]bool {
	traps := map[object.ID]bool{}
	var claims []string
	for _, n := range nodes {
		spec := n.Object.Map("spec")
		switch n.Object.Kind() {
		case "Service":
			spec["type"] = "LoadBalancer"
			traps[n.ID] = true
		case "Job":
			spec["suspend"] = true
			traps[n.ID] = true
		case "Secret":
			n.Object["kind"] = "PersistentVolumeClaim"
			delete(spec, "template")
			claims = append(claims, n.Object.Name())
			traps[n.ID] = true
		case "Deployment", "StatefulSet":
			if len(claims) > 0 && r.IntN(2) == 0 {
				n.Object.Map("spec", "template", "spec")["volumes"] = []any{map[string]any{
					"persistentVolumeClaim": map[string]any{"claimName": claims[r.IntN(len(claims))]},
				}}
			}
		}
	}
	return traps
}

func TestTrapsAreLastOrSharedOrWarnedOf(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		nodes, specs := randomNodes(r, 1+r.IntN(30))
		traps := setTraps(r, nodes)
		g, err := graph.Build(nodes, specs)
		require.NoError(t, err)
		for _, engine := range []string{"plain", "argocd"} {
			p := order.New(g, engineOf(t, engine))
			msg := fmt.Sprintf("seed %d, %s", seed, engine)
			placed := 0
			for i, w := range p.Waves {
				placed += len(w.Nodes)
				for _, n := range w.Nodes {
					if traps[n.ID] && i < len(p.Waves)-1 {
						require.True(t, sharesWave(p, n.ID) || isWarnedOf(p, n.ID), "%s: %s", msg, n.ID)
					}
				}
			}
			require.Len(t, nodes, placed, msg)
			for i, e := range p.Graph.Edges {
				if p.Gates[i].Gating {
					require.Greater(t, p.Placements[e.From].Wave, p.Placements[e.To].Wave, "%s: %v", msg, e)
				}
			}
		}
	}
}

// sharesWave reports whether a claim is beside one of its users.
func sharesWave(p *order.Plan, id object.ID) bool {
	return slices.ContainsFunc(p.Graph.Edges, func(e graph.Edge) bool {
		return e.Rule == graph.RuleClaim && e.To == id && p.Placements[e.From].Wave == p.Placements[id].Wave
	})
}

func isWarnedOf(p *order.Plan, id object.ID) bool {
	return slices.ContainsFunc(p.Warnings, func(e *object.Error) bool { return e.Node == id })
}
