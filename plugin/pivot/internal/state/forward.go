// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/mover"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// completion takes a pivot from the commit to the end.
type completion struct {
	p         *process
	snapshots *snapshots
	// hold and discardChanges come from Source.
	hold           time.Duration
	discardChanges bool
}

// activate lets the target unpause the Cluster.
func (c completion) activate(ctx context.Context) error {
	if err := c.checkPaused(ctx); err != nil {
		return err
	}

	// If another process has verified it, the target may have lost objects since. A target that
	// answers TooLate is active already, and Stale is repaired below.
	if !c.snapshots.verified {
		err := c.snapshots.compare(ctx)
		goesOn := isRefused(err, TooLate) || isRefused(err, Stale)
		if err != nil && !goesOn {
			return err
		}
	}

	// A target that has lost everything gets it again.
	out, err := c.snapshots.ask(ctx, Request{Op: Activate})
	lostAll := out.Receipt != nil && !out.Receipt.Step.Forward()
	if isRefused(err, Stale) && lostAll {
		c.p.report("", "importing again, as the target has lost what was verified: "+printable.FirstLine(err.Error()))
		if err := c.rebuild(ctx, err); err != nil {
			return err
		}
		_, err = c.snapshots.ask(ctx, Request{Op: Activate})
	}
	if err != nil {
		return err
	}
	return c.p.save(ctx, Activated, "")
}

// checkPaused returns an error if the Cluster was unpaused after the commit, so that the target is
// not activated.
func (c completion) checkPaused(ctx context.Context) error {
	o, err := c.p.live(ctx)
	if err != nil || o == nil {
		return err // It was deleted: by a process that has gone on, or with its namespace.
	}
	if paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); !paused {
		const format = "%s plane: %s is not paused any more, so that the target is not activated: " +
			"see in its metadata.managedFields what unpaused it, set its spec.paused to true, and go on with `ropewalk pivot run --resume`"
		return stepErrorf(format, c.p.plane.Name(), c.p.receipt.Cluster)
	}
	return nil
}

// rebuild sends the verified objects again to a target that lost everything before its activation.
func (c completion) rebuild(ctx context.Context, lost error) error {
	if err := c.snapshots.restage(ctx, lost); err != nil {
		return err
	}
	for _, op := range []Op{Import, Verify} {
		if _, err := c.snapshots.ask(ctx, Request{Op: op}); err != nil {
			return err
		}
	}
	return nil
}

// confirm waits until the target is in charge, and has been so for the time of Hold.
func (c completion) confirm(ctx context.Context) error {
	if _, err := c.snapshots.ask(ctx, Request{Op: Confirm}); err != nil {
		return err
	}
	if left := c.hold - c.p.now().Sub(c.p.receipt.When(Activated)); left > 0 {
		c.p.report("", fmt.Sprintf("holding for %s before the source is deleted", left.Round(time.Second)))
		if err := c.p.plane.Sleep(ctx, left); err != nil {
			return err
		}
		if _, err := c.snapshots.ask(ctx, Request{Op: Confirm}); err != nil {
			return err
		}
	}
	return c.p.save(ctx, Confirmed, "")
}

// finish deletes the source.
func (c completion) finish(ctx context.Context) error {
	// The staged snapshot is gone only if this step was done, and all of the source is deleted.
	if _, err := c.p.call(ctx, Request{Op: Confirm}); err != nil && !isRefused(err, Corrupt) {
		return err
	}

	// Look for new objects once: after a part of the source is deleted, they cannot be told apart
	// any more.
	if last := &c.p.receipt.Marks[len(c.p.receipt.Marks)-1]; last.Note != nothingNew && !c.discardChanges {
		if err := c.checkCreated(ctx); err != nil {
			return err
		}
		last.Note = nothingNew
		if err := c.p.store.write(ctx, c.p.receipt); err != nil {
			return err
		}
	}

	// GitOps would create the objects again.
	if c.p.gitOps != nil {
		if err := c.p.gitOps.Tombstone(ctx, c.p.receipt.Cluster); err != nil {
			return fmt.Errorf("ending the delivery by GitOps: %w", err)
		}
	}

	// Delete the objects, and end the pivot on both ends.
	progress := func(done, of int) { c.p.count("deleting from the source", done, of) }
	err := mover.Delete(ctx, c.p.plane, c.p.kinds, c.p.receipt.Outline, c.discardChanges, c.snapshots.checkReady, progress)
	if err != nil {
		return err
	}
	if _, err := c.p.call(ctx, Request{Op: Finish}); err != nil {
		return err
	}
	return c.p.save(ctx, Done, "")
}

// nothingNew notes that the source was searched before anything was deleted from it.
const nothingNew = "nothing was created on the source"

// checkCreated returns findings for objects that came to the cluster on the source after the
// commit. The target does not have them, and nothing would reconcile them.
func (c completion) checkCreated(ctx context.Context) error {
	// A Cluster that another process, or its namespace, deletes has no new objects.
	set, err := inventory.Read(ctx, c.p.plane, c.p.kinds, c.p.cluster, inventory.Options{Copy: c.p.copies})
	var findings inventory.Findings
	if errors.As(err, &findings) {
		o, failed := c.p.live(ctx)
		isDeleted := o == nil || o.GetDeletionTimestamp() != nil
		if failed == nil && isDeleted {
			return nil
		}
	}
	if err != nil {
		return err
	}

	// Compare the objects with the outline of the snapshot.
	known := map[plane.Ref]bool{}
	for _, e := range c.p.receipt.Outline {
		known[e.Ref] = true
	}
	for _, item := range set.Items {
		if !known[item.Ref] && !item.Stays {
			findings = append(findings, inventory.Finding{
				Ref:     item.Ref,
				Problem: "was created on the source after the commit, and is not on the target",
				Advice: "create it on the target if it is wanted, delete it from the source, without its finalizers, and go on with " +
					"`ropewalk pivot run --resume`; or with `ropewalk pivot run --resume --discard-changes`, which leaves it there",
			})
		}
	}
	if len(findings) > 0 {
		return findings.Sorted()
	}
	return nil
}
