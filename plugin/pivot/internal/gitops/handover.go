// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

var _ state.GitOps = (*GitOps)(nil)

// Freeze stops the delivery, and returns when nothing is applied any more.
func (g *GitOps) Freeze(ctx context.Context, cluster plane.Ref) error {
	frozen := func(ctx context.Context) (string, error) {
		if _, err := g.readReceipt(ctx, cluster, func(s state.Step) bool { return s == state.Freezing }); err != nil {
			return "", err
		}
		return g.stopAll(ctx, true)
	}
	return g.repeat(ctx, "stopping the delivery", frozen)
}

// Thaw starts the delivery as it was before Freeze.
func (g *GitOps) Thaw(ctx context.Context, cluster plane.Ref) error {
	if _, err := g.readReceipt(ctx, cluster, func(s state.Step) bool { return s == state.Aborting }); err != nil {
		return err
	}
	return g.thaw(ctx)
}

// Tombstone ends the delivery without deleting delivered objects, and forbids another delivery.
func (g *GitOps) Tombstone(ctx context.Context, cluster plane.Ref) error {
	r, err := g.readReceipt(ctx, cluster, state.Step.Forward)
	if err != nil {
		return err
	}

	// Forbid another delivery in the registry and in the API server.
	t := g.tombstone(r)
	if _, err := g.push(ctx, t); err != nil {
		return err
	}
	if err := g.Forbid(ctx, t); err != nil {
		return err
	}

	// Then stop the delivery, and delete it.
	stop := func(ctx context.Context) (string, error) { return g.stopAll(ctx, false) }
	if err := g.repeat(ctx, "stopping the delivery", stop); err != nil {
		return err
	}
	return g.repeat(ctx, "ending the delivery", g.end)
}
