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

// Abort undoes a pivot that is not committed: it deletes what was imported and staged from the
// target, and then unpauses the source. With targetLost it unpauses the source although the target
// cannot be reached. What is on the target stays paused then, and must never be taken over. Once
// the target can be reached again, another abort deletes it.
func (s *Source) Abort(ctx context.Context, targetLost bool) (*Receipt, error) {
	s.Resume = true
	s.doing = "undoing"
	s.store = &store{plane: s.Plane, cluster: s.Cluster}
	r, err := s.store.read(ctx)
	if err != nil {
		return nil, err
	}
	if r == nil && !targetLost {
		r, err = s.restore(ctx)
		if err != nil {
			return nil, err
		}
	}

	// A pivot that is aborted already may have left something on the target.
	s.receipt = r
	if r != nil && r.Role == RoleSource && r.Step == Aborted && !targetLost {
		return r, s.abortAgain(ctx)
	}
	if err := s.checkAbortable(); err != nil {
		return r, err
	}

	// Without a target only the source is unpaused.
	if targetLost {
		s.kinds, err = s.Plane.Kinds(ctx)
		if err == nil {
			err = s.claim(ctx, 0, "the target is lost")
		}
		if err != nil {
			return s.receipt, err
		}
		return s.receipt, s.thaw(ctx, "the target is lost")
	}

	// A target that is in charge already cannot be undone.
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

	// Write that the pivot is aborted, and undo it.
	if err := s.claim(ctx, epoch, "on request"); err != nil {
		return s.receipt, err
	}
	if s.receipt.Step == Aborted { // By a run that has failed meanwhile.
		return s.receipt, s.abortAgain(ctx)
	}
	return s.receipt, s.abort(ctx, "")
}

// checkAbortable returns an error for a pivot that has ended, or is committed.
func (s *Source) checkAbortable() error {
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

// claim writes that the pivot is aborted. A run that is alive writes the same receipt. Each of its
// writes but the commit only delays this one.
func (s *Source) claim(ctx context.Context, epoch int64, why string) error {
	return retryContested(func() error {
		s.receipt.Epoch = max(s.receipt.Epoch, epoch) + 1
		err := s.save(ctx, Aborting, why)
		if !errors.Is(err, ErrFenced) {
			return err
		}
		r, failed := s.store.read(ctx)
		if failed != nil {
			return failed
		}
		s.receipt = r
		if r != nil && r.Step == Aborted {
			return nil
		}
		return cmp.Or(s.checkAbortable(), err)
	})
}

// retryContested calls f again, up to 100 times, while another process has written the receipt
// before f did.
func retryContested(f func() error) error {
	const attempts = 100 // A pivot has fewer steps.
	for i := 1; ; i++ {
		if err := f(); !errors.Is(err, ErrFenced) || i == attempts {
			return err
		}
	}
}

// active returns the error for an abort while the target is in charge.
func (s *Source) active() error {
	return wrong("pivot %q of %s cannot be aborted: the target is active: go on with `ropewalk pivot run --resume`", s.receipt.ID, s.receipt.Cluster)
}

// abort undoes what was done. The target comes first, so that the source is unpaused only once
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
		if failed := s.catchUp(ctx, out.Receipt); failed != nil {
			return failed
		}
		return s.active()
	}
	if err != nil {
		return err
	}
	return s.thaw(ctx, "")
}

// abortAgain undoes what is left of a pivot that is aborted. The target was lost then, or a
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
	return mover.Unpause(ctx, s.Plane, s.kinds, s.receipt.Cluster, s.checkFence)
}

// clear undoes what an aborted pivot has left on the target, before another pivot begins; see
// abortAgain. What the target refuses is left for the preflight to report.
func (s *Source) clear(ctx context.Context) error {
	r := s.receipt
	asked := s.Copy
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

// restore makes a lost receipt of the source from that of the target, so that the pivot can be
// undone; nil if there is none. The target is not active, so the source is complete.
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
	if err := mover.Unpause(ctx, s.Plane, s.kinds, s.receipt.Cluster, s.checkFence); err != nil {
		return err
	}
	if s.GitOps != nil {
		if err := s.GitOps.Thaw(ctx, s.receipt.Cluster); err != nil {
			return fmt.Errorf("starting GitOps again: %w", err)
		}
	}
	return s.save(ctx, Aborted, note)
}
