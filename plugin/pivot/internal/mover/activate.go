// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// Activate puts the target in charge of what was imported: it removes the marks, restores the
// managedFields of server-side applies, and at last unpauses the Cluster. The fence is called
// before every 32 objects, and before the Cluster is unpaused. Nothing is unpaused where there
// are findings.
func Activate(ctx context.Context, p *plane.Plane, kinds plane.Kinds, entries []snapshot.Entry, id string, fence func(context.Context) error) error {
	a := &activation{plane: p, kinds: kinds, id: id, fence: fence}
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
		if err := inParts(ctx, p, len(part), fence, func(ctx context.Context, i int) error { return a.one(ctx, part[i]) }); err != nil {
			return err
		}
		if err := a.err(); err != nil {
			return err
		}
	}
	return nil
}

type activation struct {
	findings
	plane *plane.Plane
	kinds plane.Kinds
	id    string
	fence func(context.Context) error
}

func (a *activation) one(ctx context.Context, e *snapshot.Entry) error {
	k, err := a.kinds.At(e.Ref, e.APIVersion)
	if err != nil {
		return err
	}
	deleted := false
	there, err := a.plane.Update(ctx, k, e.Ref, metav1.UpdateOptions{FieldManager: Manager}, func(o *unstructured.Unstructured) error {
		if m, id := markOf(o); m == "" || id != a.id {
			return plane.ErrUnchanged
		}
		if deleted = o.GetDeletionTimestamp() != nil; deleted {
			return plane.ErrUnchanged // Its controllers would delete what is behind it.
		}
		return a.change(ctx, e, o)
	})
	if err != nil && plane.IgnoreNotFound(err) == nil {
		a.add(e.Ref, fmt.Sprintf("is not on the %s plane any more", a.plane.Name()), "see what deleted it: the source has it still")
		return nil
	}
	if err != nil {
		return failed(a.plane, "activating", e.Ref, nil, err)
	}
	switch m, id := markOf(there); {
	case deleted:
		a.add(e.Ref, fmt.Sprintf("is being deleted from the %s plane", a.plane.Name()),
			"see what deletes it, such as the deletion of its namespace; once it is gone, its finalizers included, go on: it is imported again")
	case m != "":
		a.add(e.Ref, fmt.Sprintf("is being imported to the %s plane by pivot %q", a.plane.Name(), id), "let that pivot end, or abort it")
	case isCluster(e.Ref) && !e.Stays && isPaused(there):
		a.add(e.Ref, fmt.Sprintf("is paused on the %s plane, and not by this pivot, whose mark is gone; it was last written%s", a.plane.Name(), LastWriter(there)), "remove its spec.paused")
	}
	return nil
}

// change makes an imported object an ordinary one.
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
