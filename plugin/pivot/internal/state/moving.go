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

// moving creates the staged objects on the target, and activates them.
type moving struct {
	h       *handling
	staging staging
}

// importObjects creates the staged objects, or changes objects that differ. A request that comes
// late does not import verified objects again.
func (m moving) importObjects(ctx context.Context) error {
	if err := m.checkSealed(); err != nil || m.h.receipt.Step == Verified {
		return err
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

// checkSealed refuses a request unless its snapshot is completely staged, and not active yet.
func (m moving) checkSealed() error {
	if err := m.h.checkNotActive(); err != nil {
		return err
	}
	if m.h.receipt.Step == Prepared || m.h.receipt.Digest != m.h.request.Digest {
		const format = "snapshot %q is not staged: the target is at step %s of %q"
		return refuse(Stale, format, m.h.request.Digest, m.h.receipt.Step, m.h.receipt.Digest)
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
	r := m.h.receipt
	sameEpoch := live != nil && live.ID == r.ID && live.Epoch == r.Epoch
	if !sameEpoch || live.Step == Aborting || live.Step == Aborted {
		return refuse(Fenced, "%s plane: its receipt is not of epoch %d of pivot %q any more", m.h.plane.Name(), r.Epoch, r.ID)
	}
	return m.h.checkPlane(ctx)
}

// verify reads the imported objects back, and waits until the controllers of the target have seen
// them.
func (m moving) verify(ctx context.Context) error {
	if err := m.checkSealed(); err != nil {
		return err
	}
	if err := m.h.checkPlane(ctx); err != nil {
		return err
	}

	// Read all objects back, and collect the problems.
	entries, kinds, err := m.staging.entries(ctx)
	if err != nil {
		return err
	}
	checks, err := mover.ReadBack(ctx, m.h.plane, kinds, entries, m.h.receipt.ID)
	if err != nil {
		return err
	}
	read := snapshot.Outline(entries)
	var findings inventory.Findings
	for i, c := range checks {
		read[i].Digest = c.Digest
		if c.Problem != "" {
			findings = append(findings, inventory.Finding{Ref: c.Ref, Problem: "on the target: " + c.Problem, Advice: c.Advice})
		}
	}

	// The source imports objects again that differ. A snapshot that was verified before goes back a
	// step for that.
	m.h.response.Digest = snapshot.Digest(read)
	if len(findings) > 0 || m.h.response.Digest != m.h.receipt.Digest {
		if m.h.receipt.Step == Verified {
			if err := m.h.save(ctx, Imported, "not as it was verified"); err != nil {
				return err
			}
		}
		return &refusal{why: Differs, findings: findings, err: fmt.Errorf("what was imported is not what was sent: %w", findings)}
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

// activate lets the controllers of the target reconcile the verified objects.
func (m moving) activate(ctx context.Context) error {
	r := m.h.receipt
	switch {
	case r.Digest != m.h.request.Digest:
		return refuse(Stale, "snapshot %q is not the one that was verified, %q", m.h.request.Digest, r.Digest)
	case r.Step == Active || r.Step == Done:
		return nil
	case r.Step != Verified && r.Step != Activating:
		const format = "pivot %q is at step %s on the target: only what is verified can be activated"
		return refuse(TooLate, format, r.ID, r.Step)
	}
	return m.unpause(ctx, "")
}

// unpause activates the staged objects, unless the plane is about to lose them.
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
	if m.h.receipt.Step == Done {
		return nil
	}
	if m.h.receipt.Step != Active {
		return refuse(TooLate, "pivot %q is at step %s on the target: it is not active", m.h.receipt.ID, m.h.receipt.Step)
	}
	if err := m.staging.unstage(ctx, ""); err != nil {
		return err
	}
	return m.h.save(ctx, Done, "")
}

// checkReady returns an error if the target has lost the namespace or a definition. Before the
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

// complete imports the staged objects that are missing, and verifies them without the source.
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
