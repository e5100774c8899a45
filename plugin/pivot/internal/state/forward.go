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

// activate lets the target unpause the Cluster.
func (s *Source) activate(ctx context.Context) error {
	if err := s.checkPaused(ctx); err != nil {
		return err
	}
	if !s.verified { // By another process, since when the target may have lost objects.
		// What is too late for it is active, and what is stale is mended below.
		if err := s.compare(ctx); err != nil && !isRefused(err, TooLate) && !isRefused(err, Stale) {
			return err
		}
	}
	out, err := s.ask(ctx, Request{Op: Activate})
	if isRefused(err, Stale) && out.Receipt != nil && !out.Receipt.Step.Forward() {
		s.report("", "importing again, as the target has lost what was verified: "+printable.FirstLine(err.Error()))
		if err := s.rebuild(ctx, err); err != nil {
			return err
		}
		_, err = s.ask(ctx, Request{Op: Activate})
	}
	if err != nil {
		return err
	}
	return s.save(ctx, Activated, "")
}

// checkPaused returns an error if the Cluster was unpaused after the commit: the target is not
// activated then.
func (s *Source) checkPaused(ctx context.Context) error {
	o, err := s.live(ctx)
	if err != nil || o == nil {
		return err // It was deleted: by a process that has gone on, or with its namespace.
	}
	if paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); !paused {
		return wrong("%s plane: %s is not paused any more, so that the target is not activated: see in its metadata.managedFields what unpaused it, set its spec.paused to true, and go on with `ropewalk pivot run --resume`",
			s.Plane.Name(), s.receipt.Cluster)
	}
	return nil
}

// live returns the Cluster on the source as it is now; nil if it is not there any more.
func (s *Source) live(ctx context.Context) (*unstructured.Unstructured, error) {
	cluster := s.receipt.Cluster
	o, err := s.Plane.Get(ctx, s.kinds[cluster.GroupKind()], cluster)
	switch {
	case err == nil:
		return o, nil
	case plane.IgnoreNotFound(err) == nil:
		return nil, nil //nolint:nilnil // none is no error
	}
	return nil, fmt.Errorf("%s plane: %s: %w", s.Plane.Name(), cluster, err)
}

// rebuild brings a target that has lost everything before it was activated back to what was
// verified.
func (s *Source) rebuild(ctx context.Context, lost error) error {
	if err := s.restage(ctx, lost); err != nil {
		return err
	}
	for _, op := range []Op{Import, Verify} {
		if _, err := s.ask(ctx, Request{Op: op}); err != nil {
			return err
		}
	}
	return nil
}

// confirm waits until the target is in charge, and has been so for the time of Hold.
func (s *Source) confirm(ctx context.Context) error {
	if _, err := s.ask(ctx, Request{Op: Confirm}); err != nil {
		return err
	}
	if left := s.Hold - s.now().Sub(s.receipt.When(Activated)); left > 0 {
		s.report("", fmt.Sprintf("holding for %s before the source is deleted", left.Round(time.Second)))
		if err := s.Plane.Sleep(ctx, left); err != nil {
			return err
		}
		if _, err := s.ask(ctx, Request{Op: Confirm}); err != nil {
			return err
		}
	}
	return s.save(ctx, Confirmed, "")
}

// finish deletes the source.
func (s *Source) finish(ctx context.Context) error {
	// What was staged is gone only where this was done, and all of the source deleted.
	if _, err := s.call(ctx, Request{Op: Confirm}); err != nil && !isRefused(err, Corrupt) {
		return err
	}
	if last := &s.receipt.Marks[len(s.receipt.Marks)-1]; last.Note != nothingNew && !s.DiscardChanges {
		if err := s.checkCreated(ctx); err != nil {
			return err
		}
		// Once a part of the source is deleted, there is no telling any more.
		last.Note = nothingNew
		if err := s.store.write(ctx, s.receipt); err != nil {
			return err
		}
	}
	if s.GitOps != nil {
		if err := s.GitOps.Tombstone(ctx, s.receipt.Cluster); err != nil {
			return fmt.Errorf("ending the delivery by GitOps: %w", err)
		}
	}
	err := mover.Delete(ctx, s.Plane, s.kinds, s.receipt.Outline, s.DiscardChanges, s.checkReady, func(done, of int) { s.count("deleting from the source", done, of) })
	if err != nil {
		return err
	}
	if _, err := s.call(ctx, Request{Op: Finish}); err != nil {
		return err
	}
	return s.save(ctx, Done, "")
}

// nothingNew notes that the source was looked through before anything was deleted from it.
const nothingNew = "nothing was created on the source"

// checkCreated returns findings for objects that came to the cluster on the source after the
// commit. The target does not have them, and nothing would reconcile them.
func (s *Source) checkCreated(ctx context.Context) error {
	set, err := inventory.Read(ctx, s.Plane, s.kinds, s.Cluster, inventory.Options{Copy: s.Copy})
	var findings inventory.Findings
	if errors.As(err, &findings) {
		if o, failed := s.live(ctx); failed == nil && (o == nil || o.GetDeletionTimestamp() != nil) {
			return nil // Another process has deleted it, or its namespace takes all along.
		}
	}
	if err != nil {
		return err
	}
	known := map[plane.Ref]bool{}
	for _, e := range s.receipt.Outline {
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
