// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"cmp"
	"slices"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// Plan describes the work of a pivot.
type Plan struct {
	Cluster plane.Ref `json:"cluster"`
	// PausedBy names the field managers that paused the Cluster; "" if it is not paused.
	PausedBy string `json:"pausedBy,omitempty"`
	// Objects counts the objects that are moved or copied, and Bytes is their size.
	Objects int `json:"objects"`
	Bytes   int `json:"bytes"`
	// Kinds are the counts, sorted.
	Kinds []Count `json:"kinds"`
	// Levels are the objects in the order of the import: all objects of a level at once.
	Levels [][]plane.Ref `json:"levels"`
	// Copied are objects that stay on the source as well.
	Copied []plane.Ref `json:"copied,omitempty"`
	// Waits are objects that a controller wants not to be moved yet: once they are paused, the
	// pivot waits for them.
	Waits []plane.Ref `json:"waits,omitempty"`
	// Left are objects of the namespace that belong to no Cluster, and stay on the source.
	Left []plane.Ref `json:"left,omitempty"`
	// Notes list checks that could not be made.
	Notes []string `json:"notes,omitempty"`
	// Findings stand in the way: if there are findings, nothing is moved.
	Findings inventory.Findings `json:"findings,omitempty"`
}

// Count is the number of objects of a kind.
type Count struct {
	Group   string `json:"group,omitempty"`
	Kind    string `json:"kind"`
	Version string `json:"version"`
	Count   int    `json:"count"`
}

// PlanOf returns the plan of a set. The set may be empty if there are findings. Cluster is the
// Cluster that the user named.
func PlanOf(cluster plane.Ref, set inventory.Set, findings inventory.Findings) Plan {
	out := Plan{
		Cluster:  cluster,
		PausedBy: set.PausedBy,
		Objects:  len(set.Items),
		Kinds:    []Count{},
		Levels:   [][]plane.Ref{},
		Left:     set.Left,
		Findings: findings.Sorted(),
	}

	// Count the objects of each kind, and list them by level.
	counts := map[Count]int{}
	for _, item := range set.Items {
		for len(out.Levels) <= item.Depth {
			out.Levels = append(out.Levels, []plane.Ref{})
		}
		out.Levels[item.Depth] = append(out.Levels[item.Depth], item.Ref)
		out.Bytes += len(item.Object)
		counts[Count{Group: item.Ref.Group, Kind: item.Ref.Kind, Version: item.APIVersion}]++
		if item.Stays {
			out.Copied = append(out.Copied, item.Ref)
		}
		if item.Blocks {
			out.Waits = append(out.Waits, item.Ref)
		}
	}
	for c, n := range counts {
		c.Count = n
		out.Kinds = append(out.Kinds, c)
	}
	slices.SortFunc(out.Kinds, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}
