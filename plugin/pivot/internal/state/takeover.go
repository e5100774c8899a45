// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// Takeover activates a target whose source is lost for good, for a reason that the user gives.
// Answers returns an error if the source answers at an address: the takeover is refused then.
func (t *Target) Takeover(ctx context.Context, cluster types.NamespacedName, reason string, answers func(ctx context.Context, server string) error) (*Receipt, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &store{plane: t.Plane, cluster: cluster}
	r, err := s.read(ctx)
	if err != nil {
		return nil, err
	}

	// Only a target that has staged the whole snapshot is complete.
	switch {
	case r == nil:
		const format = "%s plane: no pivot has brought Cluster %s here: there is no receipt %s"
		return nil, stepErrorf(format, t.Plane.Name(), cluster, s.ref())
	case r.Role != RoleTarget:
		const format = "%s plane: it is the source of pivot %q of %s, and in charge unless that is committed: see `ropewalk pivot status`"
		return r, stepErrorf(format, t.Plane.Name(), r.ID, r.Cluster)
	case r.Step == Active || r.Step == Done:
		const format = "%s plane: there is nothing to take over: it has been in charge of %s since %s"
		return r, stepErrorf(format, t.Plane.Name(), r.Cluster, r.When(Active).Format(time.RFC3339))
	case !slices.Contains([]Step{Staged, Imported, Verified, Activating}, r.Step):
		const format = "%s plane: pivot %q of %s is at step %s: only what was staged as a whole can be taken over, " +
			"as nothing else is known to be complete"
		return r, stepErrorf(format, t.Plane.Name(), r.ID, r.Cluster, r.Step)
	}

	// The source must be lost, and the user is recorded.
	if err := answers(ctx, r.Source.Server); err != nil {
		const format = "the source of pivot %q answers: go on from there with `ropewalk pivot run --resume`, or undo it with `ropewalk pivot abort`: %v"
		return r, stepErrorf(format, r.ID, err)
	}
	user, err := t.Plane.User(ctx)
	if err != nil {
		return r, fmt.Errorf("%s plane: who takes over has to be recorded: %w", t.Plane.Name(), err)
	}

	// The takeover is a request of the same pivot. Nothing is written to a plane that is being lost.
	h := t.handling(cluster, Request{
		Round:   r.Round,
		Digest:  r.Digest,
		Chunks:  r.Chunks,
		Cluster: r.Cluster,
		Pivot:   r.ID,
		Epoch:   r.Epoch,
	})
	h.store = s
	h.receipt = r
	m := moving{h, staging{h}}
	if err := h.checkPlane(ctx); err != nil {
		return r, err
	}

	// The staged snapshot must still be complete.
	_, _, err = m.staging.entries(ctx)
	if isRefused(err, Corrupt) {
		const problem = "what pivot %q has staged for its activation is damaged or gone, and only its source can stage it again: %v"
		const advice = "if the source comes back, go on there with `ropewalk pivot run --resume`; if it is lost for good, activate it by hand: " +
			"at step Active in %s, without annotation %s on the %d objects that have it, and with spec.paused false, in this order; " +
			"the guide has the commands"
		return r, inventory.Findings{{
			Ref:     r.Cluster,
			Problem: fmt.Sprintf(problem, r.ID, err),
			Advice:  fmt.Sprintf(advice, s.ref(), snapshot.ImportAnnotation, r.Objects),
		}}
	}
	if err != nil {
		return r, err
	}

	// Finish the import, and activate it.
	if r.Step != Activating {
		if err := m.complete(ctx); err != nil {
			return r, err
		}
	}
	r.TakenOver = true
	r.Epoch++
	return r, m.unpause(ctx, fmt.Sprintf("taken over by %q, as the source is lost: %s", user, reason))
}
