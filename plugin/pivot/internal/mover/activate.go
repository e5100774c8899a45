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

// Activate puts the target in charge of the imported objects. It imports missing objects again,
// removes the marks, restores the managedFields of server-side applies, and unpauses the Cluster
// last. The fence is called before every 32 objects, and before the Cluster is unpaused. Nothing
// is unpaused if there are findings.
func Activate(ctx context.Context, p *plane.Plane, kinds plane.Kinds, entries []snapshot.Entry, id string, fence func(context.Context) error) error {
	active, err := mend(ctx, p, kinds, entries, id, fence)
	if err != nil {
		return err
	}

	// The Cluster that moves is unpaused after all other objects are in order.
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
		err := runInParts(ctx, p, len(part), fence, func(ctx context.Context, i int) error { return a.activateOne(ctx, part[i]) })
		if err != nil {
			return err
		}
		if err := a.err(); err != nil {
			return err
		}
	}
	return nil
}

// mend imports the objects again that the plane has lost since it was verified, and reports whether
// the Cluster is active. If it is, nothing is imported: an active cluster may delete objects.
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

// Rehearse tries the writes of Activate on the target as a dry run, with an object of each kind.
// The refusals of its API server, webhooks and policies are returned as Findings.
func Rehearse(ctx context.Context, p *plane.Plane, kinds plane.Kinds, entries []snapshot.Entry, id string) error {
	const patience = 30 * time.Second // A webhook that is away for longer is not there.
	a := &activation{
		plane:  p.Within(patience),
		kinds:  kinds,
		id:     id,
		dryRun: []string{metav1.DryRunAll},
		fence:  func(context.Context) error { return nil },
	}

	// Choose an object of each kind. Of the Clusters only the one that moves is unpaused.
	byKind := map[schema.GroupKind]*snapshot.Entry{}
	for i := range entries {
		if e := &entries[i]; !e.Stays && byKind[e.Ref.GroupKind()] == nil {
			byKind[e.Ref.GroupKind()] = e
		}
	}

	// Collect the refusals, except of webhooks that cannot be tried.
	samples := slices.Collect(maps.Values(byKind))
	err := p.Each(ctx, len(samples), func(ctx context.Context, i int) error {
		err := a.activateOne(ctx, samples[i])
		switch {
		case err == nil, ctx.Err() != nil:
			return ctx.Err()
		case apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run"):
			return nil
		}
		advice := fmt.Sprintf("see that the controllers of the %s plane run, with their webhooks, and what its policies refuse", p.Name())
		a.add(samples[i].Ref, "cannot be activated: "+err.Error(), advice)
		return nil
	})
	return errors.Join(err, a.err())
}

// activation removes the marks of imported objects, and collects what stands in the way.
type activation struct {
	findings
	plane *plane.Plane
	kinds plane.Kinds
	id    string
	fence func(context.Context) error
	// dryRun is the option DryRun of the requests; nil to store what they write.
	dryRun []string
	// active means that the Cluster was unpaused before, and has deleted the objects that are
	// missing.
	active bool
}

// activateOne activates the object of an entry, or adds a finding why it cannot.
func (a *activation) activateOne(ctx context.Context, e *snapshot.Entry) error {
	k, err := a.kinds.At(e.Ref, e.APIVersion)
	if err != nil {
		return err
	}

	// Write only what carries the mark of this pivot, and is not being deleted.
	deleted := false
	var sent *unstructured.Unstructured
	options := metav1.UpdateOptions{FieldManager: Manager, DryRun: a.dryRun}
	there, err := a.plane.Update(ctx, k, e.Ref, options, func(o *unstructured.Unstructured) error {
		if m, id := markOf(o); m == "" || id != a.id {
			return plane.ErrUnchanged
		}
		deleted = o.GetDeletionTimestamp() != nil
		if deleted {
			return plane.ErrUnchanged // Its controllers would delete the infrastructure.
		}
		sent = o
		return a.change(ctx, e, o)
	})

	// An active cluster may have deleted the object itself.
	gone := err != nil && plane.IgnoreNotFound(err) == nil
	if gone && !a.active {
		advice := "see what deleted it, and go on with `ropewalk pivot run --resume`: it is imported again"
		a.add(e.Ref, fmt.Sprintf("is not on the %s plane any more", a.plane.Name()), advice)
	}
	if gone {
		return nil
	}
	if err != nil {
		return failed(a.plane, "activating", e.Ref, sent, err)
	}

	// Report why the object was left unchanged.
	m, id := markOf(there)
	staysPaused := isCluster(e.Ref) && !e.Stays && isPaused(there)
	switch {
	case deleted && !a.active:
		a.add(beingDeleted(a.plane, e.Ref))
	case deleted:
		return nil
	case m != "":
		a.add(e.Ref, fmt.Sprintf("is being imported to the %s plane by pivot %q", a.plane.Name(), id), "let that pivot end, or abort it")
	case staysPaused:
		const format = "is paused on the %s plane, and not by this pivot, whose mark is gone; it was last written%s"
		a.add(e.Ref, fmt.Sprintf(format, a.plane.Name(), LastWriter(there)), "remove its spec.paused")
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
