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

// completion goes from the commit to the end.
type completion struct {
	p         *process
	snapshots *snapshots
	// hold and discardChanges are those of Source.
	hold           time.Duration
	discardChanges bool
}

// activate lets the target unpause the Cluster.
func (c completion) activate(ctx context.Context) error {
	if err := c.checkPaused(ctx); err != nil {
		return err
	}
	if !c.snapshots.verified { // By another process, since when the target may have lost objects.
		// What is too late for it is active, and what is stale is mended below.
		if err := c.snapshots.compare(ctx); err != nil && !isRefused(err, TooLate) && !isRefused(err, Stale) {
			return err
		}
	}
	out, err := c.snapshots.ask(ctx, Request{Op: Activate})
	if isRefused(err, Stale) && out.Receipt != nil && !out.Receipt.Step.Forward() {
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

// checkPaused returns an error if the Cluster was unpaused after the commit: the target is not
// activated then.
func (c completion) checkPaused(ctx context.Context) error {
	o, err := c.p.live(ctx)
	if err != nil || o == nil {
		return err // It was deleted: by a process that has gone on, or with its namespace.
	}
	if paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); !paused {
		return wrong("%s plane: %s is not paused any more, so that the target is not activated: see in its metadata.managedFields what unpaused it, set its spec.paused to true, and go on with `ropewalk pivot run --resume`",
			c.p.plane.Name(), c.p.receipt.Cluster)
	}
	return nil
}

// rebuild brings a target that has lost everything before it was activated back to what was
// verified.
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
	// What was staged is gone only where this was done, and all of the source deleted.
	if _, err := c.p.call(ctx, Request{Op: Confirm}); err != nil && !isRefused(err, Corrupt) {
		return err
	}
	if last := &c.p.receipt.Marks[len(c.p.receipt.Marks)-1]; last.Note != nothingNew && !c.discardChanges {
		if err := c.checkCreated(ctx); err != nil {
			return err
		}
		// Once a part of the source is deleted, there is no telling any more.
		last.Note = nothingNew
		if err := c.p.store.write(ctx, c.p.receipt); err != nil {
			return err
		}
	}
	if c.p.gitOps != nil {
		if err := c.p.gitOps.Tombstone(ctx, c.p.receipt.Cluster); err != nil {
			return fmt.Errorf("ending the delivery by GitOps: %w", err)
		}
	}
	err := mover.Delete(ctx, c.p.plane, c.p.kinds, c.p.receipt.Outline, c.discardChanges, c.snapshots.checkReady, func(done, of int) { c.p.count("deleting from the source", done, of) })
	if err != nil {
		return err
	}
	if _, err := c.p.call(ctx, Request{Op: Finish}); err != nil {
		return err
	}
	return c.p.save(ctx, Done, "")
}

// nothingNew notes that the source was looked through before anything was deleted from it.
const nothingNew = "nothing was created on the source"

// checkCreated returns findings for objects that came to the cluster on the source after the
// commit. The target does not have them, and nothing would reconcile them.
func (c completion) checkCreated(ctx context.Context) error {
	set, err := inventory.Read(ctx, c.p.plane, c.p.kinds, c.p.cluster, inventory.Options{Copy: c.p.copies})
	var findings inventory.Findings
	if errors.As(err, &findings) {
		if o, failed := c.p.live(ctx); failed == nil && (o == nil || o.GetDeletionTimestamp() != nil) {
			return nil // Another process has deleted it, or its namespace takes all along.
		}
	}
	if err != nil {
		return err
	}
	known := map[plane.Ref]bool{}
	for _, e := range c.p.receipt.Outline {
		known[e.Ref] = true
	}
	for _, item := range set.Items {
		if !known[item.Ref] && !item.Stays {
			findings = append(findings, inventory.Finding{Ref: item.Ref, Problem: "was created on the source after the commit, and is not on the target",
				Advice: "create it on the target if it is wanted, delete it from the source, without its finalizers, and go on with `ropewalk pivot run --resume`; or with `ropewalk pivot run --resume --discard-changes`, which leaves it there"})
		}
	}
	if len(findings) > 0 {
		return findings.Sorted()
	}
	return nil
}
