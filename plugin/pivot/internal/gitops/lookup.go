// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
)

// Lookup finds the tombstone of the cluster, in the registry or in the API server; found is false
// if neither has one. After an error it is not known whether there is a tombstone, so nothing may
// be provisioned. Nothing may be provisioned after ErrAnother either.
func (g *GitOps) Lookup(ctx context.Context) (t Tombstone, found bool, err error) {
	// Read both places. An error of one of them is no answer.
	store, err := g.open(ctx)
	if err != nil {
		return Tombstone{}, false, err
	}
	kept, inRegistry, err := g.pull(ctx, store)
	if err != nil {
		return Tombstone{}, false, err
	}
	guard, inPolicy, err := g.readGuard(ctx)
	if err != nil {
		return Tombstone{}, false, err
	}

	// Both must belong to the same pivot.
	differ := inRegistry && inPolicy && !kept.same(guard)
	switch {
	case differ:
		const format = "%s has %w than ValidatingAdmissionPolicy %q: %s and %s: " +
			"see which cluster lives, and delete the other tombstone by hand"
		return Tombstone{}, false, fmt.Errorf(format, g.artifactName(), ErrAnother, Policy(g.Cluster.Name), kept, guard)
	case inRegistry:
		t = kept
	case inPolicy:
		t = guard
	default:
		return Tombstone{}, false, nil
	}

	// A tombstone of this parent must name this PivotCluster.
	here, err := g.Plane.UID(ctx)
	if err != nil {
		return Tombstone{}, false, err
	}
	if t.Parent.UID == here && t.UID != string(g.Cluster.UID) {
		const format = "%s: %w: it is that of %s, and this PivotCluster has UID %s: nothing is provisioned: " +
			"if the name is used again for a new cluster, delete the tombstone by hand, see the guide"
		return Tombstone{}, false, fmt.Errorf(format, g.artifactName(), ErrAnother, t, g.Cluster.UID)
	}
	return t, true, nil
}
