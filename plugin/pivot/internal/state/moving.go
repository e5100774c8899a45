// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/mover"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// moving makes what is staged the objects of the target.
type moving struct {
	h       *handling
	staging staging
}

// importObjects creates the objects, or brings them to what is staged.
func (m moving) importObjects(ctx context.Context) error {
	if err := m.checkSealed(); err != nil || m.h.receipt.Step == Verified {
		return err // What is verified is not imported again, by a request that comes late.
	}
	entries, kinds, err := m.staging.entries(ctx)
	if err != nil {
		return err
	}
	if err := mover.Import(ctx, m.h.plane, kinds, entries, m.h.receipt.ID, m.checkFence); err != nil {
		return err
	}
	return m.h.save(ctx, Imported, "")
}

// checkSealed refuses requests that need a snapshot that is staged as a whole, and is not active
// yet.
func (m moving) checkSealed() error {
	if err := m.h.checkNotActive(); err != nil {
		return err
	}
	if m.h.receipt.Step == Prepared || m.h.receipt.Digest != m.h.request.Digest {
		return refuse(Stale, "snapshot %q is not staged: the target is at step %s of %q", m.h.request.Digest, m.h.receipt.Step, m.h.receipt.Digest)
	}
	return nil
}

// checkFence refuses to write after another process has taken over, or to a plane that loses the
// objects.
func (m moving) checkFence(ctx context.Context) error {
	live, err := Read(ctx, m.h.plane, m.h.store.cluster)
	if err != nil {
		return err
	}
	if live == nil || live.ID != m.h.receipt.ID || live.Epoch != m.h.receipt.Epoch || live.Step == Aborting || live.Step == Aborted {
		return refuse(Fenced, "%s plane: its receipt is not of epoch %d of pivot %q any more", m.h.plane.Name(), m.h.receipt.Epoch, m.h.receipt.ID)
	}
	return m.h.checkPlane(ctx)
}

// verify reads back what was imported, and waits until the controllers of the target have seen it.
func (m moving) verify(ctx context.Context) error {
	if err := m.checkSealed(); err != nil {
		return err
	}
	if err := m.h.checkPlane(ctx); err != nil {
		return err
	}

	// Read all back, and collect what is wrong.
	entries, kinds, err := m.staging.entries(ctx)
	if err != nil {
		return err
	}
	checks, err := mover.ReadBack(ctx, m.h.plane, kinds, entries, m.h.receipt.ID)
	if err != nil {
		return err
	}
	read := snapshot.Outline(entries)
	var wrong inventory.Findings
	for i, c := range checks {
		read[i].Digest = c.Digest
		if c.Problem != "" {
			wrong = append(wrong, inventory.Finding{Ref: c.Ref, Problem: "on the target: " + c.Problem, Advice: c.Advice})
		}
	}

	// What differs is imported again by the source.
	m.h.response.Digest = snapshot.Digest(read)
	if len(wrong) > 0 || m.h.response.Digest != m.h.receipt.Digest {
		if m.h.receipt.Step == Verified { // It was so, and an import may mend it.
			if err := m.h.save(ctx, Imported, "not as it was verified"); err != nil {
				return err
			}
		}
		return &refusal{why: Differs, findings: wrong, err: fmt.Errorf("what was imported is not what was sent: %w", wrong)}
	}

	// The controllers of the target must run, and the plane must last.
	if err := mover.AwaitImported(ctx, m.h.plane, kinds, entries, settleWithin); err != nil {
		return err
	}
	if err := m.h.checkPlane(ctx); err != nil {
		return err
	}
	return m.h.save(ctx, Verified, "")
}

// activate lets the controllers of the target reconcile what was verified.
func (m moving) activate(ctx context.Context) error {
	r := m.h.receipt
	switch {
	case r.Digest != m.h.request.Digest:
		return refuse(Stale, "snapshot %q is not the one that was verified, %q", m.h.request.Digest, r.Digest)
	case r.Step == Active || r.Step == Done:
		return nil
	case r.Step != Verified && r.Step != Activating:
		return refuse(TooLate, "pivot %q is at step %s on the target: only what is verified can be activated", r.ID, r.Step)
	}
	return m.unpause(ctx, "")
}

// unpause activates what is staged, if the plane is not about to lose it.
func (m moving) unpause(ctx context.Context, note string) error {
	entries, kinds, err := m.staging.entries(ctx)
	if err != nil {
		return err
	}
	if err := m.h.checkPlane(ctx); err != nil {
		return err
	}
	if err := m.h.save(ctx, Activating, note); err != nil {
		return err
	}
	if err := mover.Activate(ctx, m.h.plane, kinds, entries, m.h.receipt.ID, m.checkFence); err != nil {
		return err
	}
	return m.h.save(ctx, Active, "")
}

// confirm waits until the controllers of the target are at work.
func (m moving) confirm(ctx context.Context) error {
	if m.h.receipt.Step == Done {
		return nil
	}
	if m.h.receipt.Step != Active {
		return refuse(TooLate, "pivot %q is at step %s on the target: it is not active", m.h.receipt.ID, m.h.receipt.Step)
	}
	entries, kinds, err := m.staging.entries(ctx)
	if err != nil {
		return err
	}
	if err := m.h.checkPlane(ctx); err != nil {
		return err
	}
	return mover.AwaitActive(ctx, m.h.plane, kinds, entries, settleWithin)
}

// finish ends the pivot on the target.
func (m moving) finish(ctx context.Context) error {
	switch m.h.receipt.Step {
	case Done:
		return nil
	case Active:
	default:
		return refuse(TooLate, "pivot %q is at step %s on the target: it is not active", m.h.receipt.ID, m.h.receipt.Step)
	}
	if err := m.staging.unstage(ctx, ""); err != nil {
		return err
	}
	return m.h.save(ctx, Done, "")
}

// checkReady returns an error if what a pivot relies on is not there any more. Before the
// activation it asks webhooks and policies too. Afterwards Confirm asks the controllers of the
// target.
func (m moving) checkReady(ctx context.Context) error {
	switch m.h.receipt.Step {
	case Done:
		return nil // By then an agent has given up its rights.
	case Verified:
		entries, kinds, err := m.staging.entries(ctx)
		if err != nil {
			return err
		}
		if err := mover.Rehearse(ctx, m.h.plane, kinds, entries, m.h.receipt.ID); err != nil {
			return err
		}
	default:
		m.h.used = mapped(m.h.request.Kinds)
	}
	return m.h.checkPlane(ctx)
}

// complete imports what is staged, if that was not done or if something is missing since, and
// verifies it without the source.
func (m moving) complete(ctx context.Context) error {
	entries, kinds, err := m.staging.entries(ctx)
	if err != nil {
		return err
	}
	if err := mover.Import(ctx, m.h.plane, kinds, entries, m.h.receipt.ID, m.checkFence); err != nil {
		return err
	}
	if m.h.receipt.Step == Staged {
		if err := m.h.save(ctx, Imported, ""); err != nil {
			return err
		}
	}
	if err := m.verify(ctx); err != nil {
		return err
	}
	return m.checkReady(ctx)
}
