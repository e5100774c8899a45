// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/mover"
)

// Abort undoes a pivot that is not committed: what was imported and staged is deleted from
// the target, and then the source is unpaused. TargetLost unpauses it although the target
// cannot be reached: what is there stays paused, and must never be taken over. Once it can be
// reached again, another abort deletes it.
func (s *Source) Abort(ctx context.Context, targetLost bool) (*Receipt, error) {
	s.Resume, s.doing = true, "undoing"
	s.store = &store{plane: s.Plane, cluster: s.Cluster}
	r, err := s.store.read(ctx)
	if err != nil {
		return nil, err
	}
	if r == nil && !targetLost {
		if r, err = s.restore(ctx); err != nil {
			return nil, err
		}
	}
	switch {
	case r != nil && r.Role == RoleSource && r.Step == Aborted && !targetLost:
		s.receipt = r
		return r, s.abortAgain(ctx)
	case r == nil || r.Step.Ended():
		return r, wrong("%s plane: no pivot of %s is under way", s.Plane.Name(), s.Cluster)
	case r.Role != RoleSource:
		return r, wrong("%s plane: it is the target of pivot %q of %s: abort it from its source, %s", s.Plane.Name(), r.ID, r.Cluster, r.Source.Server)
	case r.Step.Forward():
		return r, wrong("pivot %q of %s is committed, at step %s: it can only go forward: go on with --resume", r.ID, r.Cluster, r.Step)
	case targetLost:
		s.receipt = r
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
	if s.receipt.Step.Forward() {
		return s.receipt, wrong("pivot %q of %s cannot be aborted: the target is active: go on with --resume", s.receipt.ID, s.receipt.Cluster)
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
	if errors.As(err, &refused) && refused.why == TooLate && out.Receipt != nil && out.Receipt.Step.Forward() {
		// The target was taken over: it is in charge, and the source must stay paused.
		if failed := s.overtaken(ctx, out.Receipt); failed != nil {
			return failed
		}
		return wrong("pivot %q of %s cannot be aborted: the target is active: go on with --resume", s.receipt.ID, s.receipt.Cluster)
	}
	if err != nil {
		return err
	}
	return s.thaw(ctx, "")
}

// abortAgain undoes what is left of a pivot that is aborted: the target was lost then, or a
// request of a process that was overtaken came late.
func (s *Source) abortAgain(ctx context.Context) error {
	if err := s.meet(ctx); err != nil {
		return err
	}
	if _, err := s.call(ctx, Request{Op: Abort, Samples: s.receipt.Outline}); err != nil {
		return err
	}
	o, err := s.live(ctx)
	if err != nil || o == nil || inventory.PausedBy(o) != mover.Manager {
		return err // What another client paused stays so.
	}
	return mover.Unpause(ctx, s.Plane, s.kinds, s.receipt.Cluster, s.fence)
}

// restore makes a receipt of the source that was lost, from that of the target, so that the
// pivot can be undone; nil where there is none. The target is not active, so that the source is
// complete.
func (s *Source) restore(ctx context.Context) (*Receipt, error) {
	uid, err := s.Plane.UID(ctx)
	if err != nil {
		return nil, err
	}
	hello, err := s.call(ctx, Request{Op: Hello})
	if err != nil {
		return nil, err
	}
	t := hello.Receipt
	if t == nil || t.Role != RoleTarget || t.Source.UID != uid || t.Step.Ended() {
		return nil, nil //nolint:nilnil // none is no error
	}
	if t.Step.Forward() {
		return nil, fmt.Errorf("%s plane: it has lost its receipt of pivot %q of %s, and the target is in charge, at step %s: leave the Cluster paused here, and delete what moved, without its finalizers, by hand",
			s.Plane.Name(), t.ID, t.Cluster, t.Step)
	}
	s.receipt = &Receipt{ID: t.ID, Role: RoleSource, Epoch: t.Epoch, Cluster: t.Cluster, Source: t.Source, Target: t.Target}
	return s.receipt, s.save(ctx, Aborting, "the receipt of the source was lost")
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
