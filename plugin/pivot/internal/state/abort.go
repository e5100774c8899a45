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

// undoing puts the source in charge again.
type undoing struct{ p *process }

// checkAbortable returns an error for a pivot that has ended, or is committed.
func (u undoing) checkAbortable() error {
	switch r := u.p.receipt; {
	case r == nil || r.Step.Ended():
		return stepErrorf("%s plane: no pivot of %s is under way", u.p.plane.Name(), u.p.cluster)
	case r.Role != RoleSource:
		const format = "%s plane: it is the target of pivot %q of %s: abort it from its source, %s"
		return stepErrorf(format, u.p.plane.Name(), r.ID, r.Cluster, r.Source.Server)
	case r.Step.Forward():
		const format = "pivot %q of %s is committed, at step %s since %s: it can only go forward: go on with `ropewalk pivot run --resume`"
		return stepErrorf(format, r.ID, r.Cluster, r.Step, r.When(r.Step).Format(time.RFC3339))
	}
	return nil
}

// claim writes that the pivot is aborted. A run that is alive writes the same receipt, so it tries
// again unless that run has committed.
func (u undoing) claim(ctx context.Context, epoch int64, why string) error {
	return retryContested(func() error {
		u.p.receipt.Epoch = max(u.p.receipt.Epoch, epoch) + 1
		err := u.p.save(ctx, Aborting, why)
		if !errors.Is(err, ErrFenced) {
			return err
		}
		r, failed := u.p.store.read(ctx)
		if failed != nil {
			return failed
		}
		u.p.receipt = r
		if r != nil && r.Step == Aborted {
			return nil
		}
		return cmp.Or(u.checkAbortable(), err)
	})
}

// active returns the error for an abort while the target is in charge.
func (u undoing) active() error {
	const format = "pivot %q of %s cannot be aborted: the target is active: go on with `ropewalk pivot run --resume`"
	return stepErrorf(format, u.p.receipt.ID, u.p.receipt.Cluster)
}

// abort undoes the pivot. The target comes first, so that the source is unpaused only once nothing
// on the target can be unpaused.
func (u undoing) abort(ctx context.Context, why string) error {
	if u.p.receipt.Step != Aborting {
		if err := u.p.save(ctx, Aborting, why); err != nil {
			return err
		}
	}

	// If the target was taken over, it is in charge, and the source must stay paused.
	out, err := u.p.call(ctx, Request{Op: Abort, Samples: u.p.receipt.Outline})
	inCharge := out.Receipt != nil && out.Receipt.Step.Forward()
	if isRefused(err, TooLate) && inCharge {
		if failed := u.p.catchUp(ctx, out.Receipt); failed != nil {
			return failed
		}
		return u.active()
	}
	if err != nil {
		return err
	}
	return u.thaw(ctx, "")
}

// abortAgain undoes the rest of a pivot that is aborted already. The target was lost then, or a
// request of another process came late.
func (u undoing) abortAgain(ctx context.Context) error {
	if err := u.p.meet(ctx); err != nil {
		return err
	}
	if _, err := u.p.call(ctx, Request{Op: Abort, Samples: u.p.receipt.Outline}); err != nil {
		return err
	}
	o, err := u.p.live(ctx)
	if err != nil || o == nil || inventory.PausedBy(o) != mover.Manager {
		return err // A Cluster that another client paused stays paused.
	}
	return mover.Unpause(ctx, u.p.plane, u.p.kinds, u.p.receipt.Cluster, u.p.checkFence)
}

// clear undoes the rest of an aborted pivot on the target, before another pivot begins; see
// abortAgain. A refusal of the target is left for the preflight to report.
func (u undoing) clear(ctx context.Context) error {
	r := u.p.receipt
	copies := u.p.copies
	isAborted := r != nil && r.Role == RoleSource && r.Step == Aborted
	if !isAborted {
		return nil
	}
	hello, err := u.p.call(ctx, Request{Op: Hello})
	if err != nil || hello.Plane.UID != r.Target.UID {
		return err
	}
	err = u.abortAgain(ctx)
	u.p.copies = copies
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		return nil
	}
	return err
}

// restore makes a lost receipt of the source from the receipt of the target, so that the pivot can
// be undone; nil if the target has no receipt of it. The target is not active, so the source is
// complete.
func (u undoing) restore(ctx context.Context) (*Receipt, error) {
	uid, err := u.p.plane.UID(ctx)
	if err != nil {
		return nil, err
	}
	hello, err := u.p.call(ctx, Request{Op: Hello})
	if err != nil {
		return nil, err
	}

	// Only a pivot from this source that has not ended is undone.
	t := hello.Receipt
	fromHere := t != nil && t.Role == RoleTarget && t.Source.UID == uid
	if !fromHere || t.Step.Ended() {
		return nil, nil //nolint:nilnil // no receipt is no error
	}
	if t.Step.Forward() {
		const format = "%s plane: it has lost its receipt of pivot %q of %s, and the target is in charge, at step %s: " +
			"leave the Cluster paused here, and delete what moved, without its finalizers, by hand"
		return nil, stepErrorf(format, u.p.plane.Name(), t.ID, t.Cluster, t.Step)
	}

	// Write the receipt.
	u.p.receipt = &Receipt{
		ID:      t.ID,
		Role:    RoleSource,
		Epoch:   t.Epoch,
		Cluster: t.Cluster,
		Source:  t.Source,
		Target:  t.Target,
	}
	err = u.p.save(ctx, Aborting, "the receipt of the source was lost")
	return u.p.receipt, err
}

// thaw puts the source in charge again.
func (u undoing) thaw(ctx context.Context, note string) error {
	if err := mover.Unpause(ctx, u.p.plane, u.p.kinds, u.p.receipt.Cluster, u.p.checkFence); err != nil {
		return err
	}
	if u.p.gitOps != nil {
		if err := u.p.gitOps.Thaw(ctx, u.p.receipt.Cluster); err != nil {
			return fmt.Errorf("starting GitOps again: %w", err)
		}
	}
	return u.p.save(ctx, Aborted, note)
}
