// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

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
	s.receipt = r
	if r != nil && r.Role == RoleSource && r.Step == Aborted && !targetLost {
		return r, s.abortAgain(ctx)
	}
	if err := s.abortable(); err != nil {
		return r, err
	}
	if targetLost {
		if s.kinds, err = s.Plane.Kinds(ctx); err == nil {
			err = s.claim(ctx, 0, "the target is lost")
		}
		if err != nil {
			return s.receipt, err
		}
		return s.receipt, s.thaw(ctx, "the target is lost")
	}
	t, err := s.greet(ctx)
	if err != nil {
		return r, err
	}
	epoch := int64(0)
	if t != nil {
		epoch = t.Epoch // A takeover raises it as well.
		if t.Step.Forward() {
			if err := s.begin(ctx); err != nil {
				return s.receipt, err
			}
			return s.receipt, s.active()
		}
	}
	if err := s.claim(ctx, epoch, "on request"); err != nil {
		return s.receipt, err
	}
	if s.receipt.Step == Aborted { // By a run that has failed meanwhile.
		return s.receipt, s.abortAgain(ctx)
	}
	return s.receipt, s.abort(ctx, "")
}

// abortable refuses to abort what has ended, or is committed.
func (s *Source) abortable() error {
	switch r := s.receipt; {
	case r == nil || r.Step.Ended():
		return wrong("%s plane: no pivot of %s is under way", s.Plane.Name(), s.Cluster)
	case r.Role != RoleSource:
		return wrong("%s plane: it is the target of pivot %q of %s: abort it from its source, %s", s.Plane.Name(), r.ID, r.Cluster, r.Source.Server)
	case r.Step.Forward():
		return wrong("pivot %q of %s is committed, at step %s since %s: it can only go forward: go on with `ropewalk pivot run --resume`",
			r.ID, r.Cluster, r.Step, r.When(r.Step).Format(time.RFC3339))
	}
	return nil
}

// claim writes that the pivot is aborted. A run that is alive writes the same receipt: each of its
// writes but the commit only delays this one.
func (s *Source) claim(ctx context.Context, epoch int64, why string) error {
	return contested(func() error {
		s.receipt.Epoch = max(s.receipt.Epoch, epoch) + 1
		err := s.save(ctx, Aborting, why)
		if !errors.Is(err, ErrFenced) {
			return err
		}
		r, failed := s.store.read(ctx)
		if failed != nil {
			return failed
		}
		if s.receipt = r; r != nil && r.Step == Aborted {
			return nil
		}
		return cmp.Or(s.abortable(), err)
	})
}

// contested calls f until no other process has written a receipt before it did.
func contested(f func() error) error {
	const attempts = 100 // A pivot has fewer steps.
	for i := 1; ; i++ {
		if err := f(); !errors.Is(err, ErrFenced) || i == attempts {
			return err
		}
	}
}

// active is why a pivot whose target is in charge is not aborted.
func (s *Source) active() error {
	return wrong("pivot %q of %s cannot be aborted: the target is active: go on with `ropewalk pivot run --resume`", s.receipt.ID, s.receipt.Cluster)
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
		return s.active()
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

// clear undoes what is left on the target of a pivot there that is aborted, before another one
// begins: see abortAgain. What the target refuses is for the preflight to find.
func (s *Source) clear(ctx context.Context) error {
	r, asked := s.receipt, s.Copy
	if r == nil || r.Role != RoleSource || r.Step != Aborted {
		return nil
	}
	hello, err := s.call(ctx, Request{Op: Hello})
	if err != nil || hello.Plane.UID != r.Target.UID {
		return err
	}
	err = s.abortAgain(ctx)
	s.Copy = asked
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		return nil
	}
	return err
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
		return nil, wrong("%s plane: it has lost its receipt of pivot %q of %s, and the target is in charge, at step %s: leave the Cluster paused here, and delete what moved, without its finalizers, by hand",
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
