// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// Read finds the objects that belong to a Cluster. If problems stand in the way, the error is of
// type Findings.
func Read(ctx context.Context, p *plane.Plane, kinds plane.Kinds, cluster types.NamespacedName, o Options) (Set, error) {
	s := &scan{plane: p, kinds: kinds, cluster: cluster, options: o}
	target, err := s.readClusters(ctx)
	if err != nil {
		return Set{}, err
	}
	if err := s.readAll(ctx, target); err != nil {
		return Set{}, err
	}

	// Decide on the members, and report all problems at once.
	g := link(s.nodes)
	m := g.members(target, s.nodes, o)
	findings := m.check(ctx, s)
	cycles := m.setDepths()
	if err := append(findings, cycles...).err(); err != nil {
		return Set{}, err
	}
	return m.set(ctx, s)
}
