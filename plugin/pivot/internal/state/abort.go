// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/mover"
)

// Abort undoes a pivot that is not committed: what was imported and staged is deleted from
// the target, and then the source is unpaused. TargetLost unpauses it although the target
// cannot be reached: what is there stays paused, and must never be taken over.
func (s *Source) Abort(ctx context.Context, targetLost bool) (*Receipt, error) {
	s.Resume = true
	s.store = &store{plane: s.Plane, cluster: s.Cluster}
	r, err := s.store.read(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case r == nil || r.Step.Ended():
		return r, fmt.Errorf("%s plane: no pivot of %s is under way", s.Plane.Name(), s.Cluster)
	case r.Role != RoleSource:
		return r, fmt.Errorf("%s plane: it is the target of pivot %q of %s: abort it from its source, %s", s.Plane.Name(), r.ID, r.Cluster, r.Source.Server)
	case r.Step.forward():
		return r, fmt.Errorf("pivot %q of %s is committed, at step %s: it can only go forward: go on with --resume", r.ID, r.Cluster, r.Step)
	case targetLost:
		s.receipt = r
		s.setNow()
		if s.kinds, err = s.Plane.Kinds(ctx); err != nil {
			return r, err
		}
		r.Epoch++
		if err := s.save(ctx, Aborting, "the target is lost"); err != nil {
			return r, err
		}
		return r, s.thaw(ctx, "the target is lost")
	}
	if err := s.begin(ctx); err != nil {
		return s.receipt, err
	}
	if s.receipt.Step.forward() {
		return s.receipt, fmt.Errorf("pivot %q of %s cannot be aborted: the target is active: go on with --resume", s.receipt.ID, s.receipt.Cluster)
	}
	return s.receipt, s.abort(ctx, "on request")
}

// abort undoes what was done, the target first, so that the source is unpaused only once
// nothing on the target can be.
func (s *Source) abort(ctx context.Context, why string) error {
	if s.receipt.Step != Aborting {
		if err := s.save(ctx, Aborting, why); err != nil {
			return err
		}
	}
	out, err := s.call(ctx, Request{Op: Abort, Samples: s.receipt.Outline})
	var refused *refusal
	if errors.As(err, &refused) && refused.why == TooLate && out.Receipt != nil && out.Receipt.Step.forward() {
		// The target was taken over: it is in charge, and the source must stay paused.
		if failed := s.overtaken(ctx, out.Receipt); failed != nil {
			return failed
		}
		return fmt.Errorf("pivot %q of %s cannot be aborted: the target is active: go on with --resume", s.receipt.ID, s.receipt.Cluster)
	}
	if err != nil {
		return err
	}
	return s.thaw(ctx, "")
}

// thaw puts the source in charge again.
func (s *Source) thaw(ctx context.Context, note string) error {
	if err := mover.Unpause(ctx, s.Plane, s.kinds, s.receipt.Cluster, s.fence); err != nil {
		return err
	}
	if s.GitOps != nil {
		if err := s.GitOps.Thaw(ctx, s.receipt.Cluster); err != nil {
			return fmt.Errorf("starting GitOps again: %w", err)
		}
	}
	return s.save(ctx, Aborted, note)
}
