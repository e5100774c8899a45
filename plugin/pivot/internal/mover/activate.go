// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// Activate puts the target in charge of what was imported. It imports again what has gone missing,
// removes the marks, restores the managedFields of server-side applies, and unpauses the Cluster
// last. The fence is called before every 32 objects, and before the Cluster is unpaused. Nothing
// is unpaused if there are findings.
func Activate(ctx context.Context, p *plane.Plane, kinds plane.Kinds, entries []snapshot.Entry, id string, fence func(context.Context) error) error {
	active, err := mend(ctx, p, kinds, entries, id, fence)
	if err != nil {
		return err
	}
	a := &activation{plane: p, kinds: kinds, id: id, fence: fence, active: active}
	var others []*snapshot.Entry
	var clusters []*snapshot.Entry
	for i := range entries {
		if e := &entries[i]; isCluster(e.Ref) && !e.Stays {
			clusters = append(clusters, e)
		} else {
			others = append(others, e)
		}
	}
	for _, part := range [][]*snapshot.Entry{others, clusters} {
		if err := runInParts(ctx, p, len(part), fence, func(ctx context.Context, i int) error { return a.activateOne(ctx, part[i]) }); err != nil {
			return err
		}
		if err := a.err(); err != nil {
			return err
		}
	}
	return nil
}

// mend imports again what the plane has lost since it was verified, unless the Cluster is active:
// what is active may delete objects.
func mend(ctx context.Context, p *plane.Plane, kinds plane.Kinds, entries []snapshot.Entry, id string, fence func(context.Context) error) (active bool, _ error) {
	t := &target{plane: p, kinds: kinds, id: id, uids: map[plane.Ref]types.UID{}, activating: true}
	c, err := t.compare(ctx, entries)
	if err != nil || c.active {
		return c.active, err
	}
	if err := t.err(); err != nil || c.missing+len(c.orphans) == 0 {
		return false, err
	}
	return false, t.importEntries(ctx, entries, fence)
}

// Rehearse tries on the target what Activate would write of one object of each kind, without
// storing it. This asks its API server, webhooks and policies. What they refuse is returned as
// Findings.
func Rehearse(ctx context.Context, p *plane.Plane, kinds plane.Kinds, entries []snapshot.Entry, id string) error {
	const patience = 30 * time.Second // A webhook that is away for longer is not there.
	a := &activation{plane: p.Within(patience), kinds: kinds, id: id, dryRun: []string{metav1.DryRunAll}, fence: func(context.Context) error { return nil }}
	first := map[schema.GroupKind]*snapshot.Entry{}
	for i := range entries {
		// The Cluster that moves is the one that is unpaused, and others stay.
		if e := &entries[i]; !e.Stays && first[e.Ref.GroupKind()] == nil {
			first[e.Ref.GroupKind()] = e
		}
	}
	tried := slices.Collect(maps.Values(first))
	err := p.Each(ctx, len(tried), func(ctx context.Context, i int) error {
		err := a.activateOne(ctx, tried[i])
		switch {
		case err == nil, ctx.Err() != nil:
			return ctx.Err()
		case apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run"):
			return nil
		}
		a.add(tried[i].Ref, "cannot be activated: "+err.Error(), fmt.Sprintf("see that the controllers of the %s plane run, with their webhooks, and what its policies refuse", p.Name()))
		return nil
	})
	return errors.Join(err, a.err())
}

type activation struct {
	findings
	plane *plane.Plane
	kinds plane.Kinds
	id    string
	fence func(context.Context) error
	// dryRun is that of the requests; nil where they are meant.
	dryRun []string
	// active: the Cluster was unpaused before, and what is not there any more is none of the pivot.
	active bool
}

func (a *activation) activateOne(ctx context.Context, e *snapshot.Entry) error {
	k, err := a.kinds.At(e.Ref, e.APIVersion)
	if err != nil {
		return err
	}

	// Write only what carries the mark of this pivot, and is not being deleted.
	deleted := false
	var sent *unstructured.Unstructured
	there, err := a.plane.Update(ctx, k, e.Ref, metav1.UpdateOptions{FieldManager: Manager, DryRun: a.dryRun}, func(o *unstructured.Unstructured) error {
		if m, id := markOf(o); m == "" || id != a.id {
			return plane.ErrUnchanged
		}
		deleted = o.GetDeletionTimestamp() != nil
		if deleted {
			return plane.ErrUnchanged // Its controllers would delete what is behind it.
		}
		sent = o
		return a.change(ctx, e, o)
	})

	// What is active may have deleted the object itself.
	switch {
	case err == nil:
	case plane.IgnoreNotFound(err) == nil && a.active:
		return nil
	case plane.IgnoreNotFound(err) == nil:
		a.add(e.Ref, fmt.Sprintf("is not on the %s plane any more", a.plane.Name()), "see what deleted it, and go on with `ropewalk pivot run --resume`: it is imported again")
		return nil
	default:
		return failed(a.plane, "activating", e.Ref, sent, err)
	}

	// See what has kept the object as it is.
	switch m, id := markOf(there); {
	case deleted && a.active:
	case deleted:
		a.add(beingDeleted(a.plane, e.Ref))
	case m != "":
		a.add(e.Ref, fmt.Sprintf("is being imported to the %s plane by pivot %q", a.plane.Name(), id), "let that pivot end, or abort it")
	case isCluster(e.Ref) && !e.Stays && isPaused(there):
		a.add(e.Ref, fmt.Sprintf("is paused on the %s plane, and not by this pivot, whose mark is gone; it was last written%s", a.plane.Name(), LastWriter(there)), "remove its spec.paused")
	}
	return nil
}

// change removes the mark of an imported object and restores its managedFields. It unpauses the
// Cluster after a call of the fence.
func (a *activation) change(ctx context.Context, e *snapshot.Entry, o *unstructured.Unstructured) error {
	annotate(o, snapshot.ImportAnnotation, nil)
	if len(e.ManagedFields) > 0 {
		fields, err := managedFields(o, e.ManagedFields)
		if err != nil {
			return err
		}
		o.SetManagedFields(fields)
	}
	if e.Stays || !isCluster(e.Ref) {
		return nil
	}
	unstructured.RemoveNestedField(o.Object, "spec", "paused")
	return a.fence(ctx)
}
