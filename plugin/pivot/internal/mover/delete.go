// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// Delete deletes the moved objects from the source, after the commit: the deepest objects first,
// and the Cluster after all others. An object that was created again, or changed, since the
// snapshot is a finding. It is left, and so are its owners; discardChanges deletes changed objects.
// The others are deleted. The fence is called before each depth. Each, if it is not nil, is called
// with the number of objects that are deleted, and of all. The error is nil only if nothing is left.
func Delete(ctx context.Context, p *plane.Plane, kinds plane.Kinds, outline []snapshot.Entry, discardChanges bool, fence func(context.Context) error, each func(done, of int)) error {
	var moved []snapshot.Entry
	for _, e := range outline {
		if !e.Stays {
			moved = append(moved, e)
		}
	}

	// Delete level by level. Each level needs a paused Cluster, and a fence that returns no error.
	d := &deletion{plane: p, kinds: kinds, discardChanges: discardChanges, keep: map[types.UID]bool{}}
	for _, stage := range stages(moved) {
		if d.left > 0 && isCluster(stage[0].Ref) {
			break // It pauses the objects that are left.
		}
		if err := d.checkPaused(ctx, moved); err != nil {
			return err
		}
		if err := fence(ctx); err != nil {
			return err
		}
		err := p.Each(ctx, len(stage), func(ctx context.Context, i int) error {
			if err := d.deleteOne(ctx, &stage[i]); err != nil {
				return err
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			d.done++
			if each != nil {
				each(d.done-d.left, len(moved))
			}
			return nil
		})
		if err != nil {
			return errors.Join(d.err(), err)
		}
	}

	// Check that nothing came back.
	if err := d.err(); err != nil {
		return err
	}
	return d.checkGone(ctx, moved)
}

// deletion counts the deleted objects, and collects findings about the others.
type deletion struct {
	findings
	plane          *plane.Plane
	kinds          plane.Kinds
	discardChanges bool
	// done and left count objects. They are guarded by mu, as is keep.
	done, left int
	// keep has the UIDs of the owners of objects that are left.
	keep map[types.UID]bool
}

// checkPaused returns findings if the Cluster is not paused: its controllers would create the
// deleted objects again.
func (d *deletion) checkPaused(ctx context.Context, moved []snapshot.Entry) error {
	for i := range moved {
		e := &moved[i]
		if !isCluster(e.Ref) {
			continue
		}
		k, err := d.kinds.At(e.Ref, e.APIVersion)
		if err != nil {
			return err
		}
		o, err := d.plane.Get(ctx, k, e.Ref)
		if plane.IgnoreNotFound(err) != nil {
			return failed(d.plane, "reading", e.Ref, nil, err)
		}
		if err == nil && !isPaused(o) {
			const format = "is not paused on the %s plane any more; it was last written%s: two planes are in charge"
			advice := "stop what writes it, such as GitOps, and set its spec.paused to true at once"
			d.add(e.Ref, fmt.Sprintf(format, d.plane.Name(), LastWriter(o)), advice)
			return d.err()
		}
	}
	return nil
}

// deleteOne deletes an object, or adds a finding why the object must not be deleted.
func (d *deletion) deleteOne(ctx context.Context, e *snapshot.Entry) error {
	k, err := d.kinds.At(e.Ref, e.APIVersion)
	if err != nil {
		return err
	}
	options := metav1.UpdateOptions{FieldManager: Manager}
	err = d.plane.Remove(ctx, k, e.Ref, options, func(o *unstructured.Unstructured) error {
		ok, err := d.checkDeletable(e, o)
		if err != nil {
			return err
		}
		if !ok {
			return errLeft
		}
		if !release(o) {
			return plane.ErrUnchanged
		}
		return nil
	})
	if errors.Is(err, errLeft) {
		return nil
	}
	return failed(d.plane, "deleting", e.Ref, nil, err)
}

// checkDeletable reports whether an object may be deleted. If it may not, it adds a finding, and
// the owners of the object may not be deleted either.
func (d *deletion) checkDeletable(e *snapshot.Entry, o *unstructured.Unstructured) (bool, error) {
	canonical, err := snapshot.Canonical(unreleased(o))
	if err != nil {
		return false, err
	}
	d.mu.Lock()
	kept := d.keep[o.GetUID()]
	d.mu.Unlock()
	switch {
	case string(o.GetUID()) != e.UID:
		advice := "stop what creates it, such as GitOps, then delete it; if the deletion hangs, remove its finalizers"
		d.add(e.Ref, "was created again on the source after the commit"+LastWriter(o), advice)
	case snapshot.Sum(canonical) != e.Digest && !d.discardChanges:
		advice := "make the change on the target; then go on with `ropewalk pivot run --resume --discard-changes`"
		d.add(e.Ref, "was changed on the source after the commit"+LastWriter(o), advice)
	case !kept:
		return true, nil
	}

	// Keep the owners of an object that is left.
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left++
	for _, r := range o.GetOwnerReferences() {
		d.keep[r.UID] = true
	}
	return false, nil
}

// checkGone returns findings for objects that are there again after the deletion.
func (d *deletion) checkGone(ctx context.Context, moved []snapshot.Entry) error {
	positions := index(moved)
	err := survey(ctx, d.plane, d.kinds, moved, func(o *unstructured.Unstructured) error {
		i, ok := positions[plane.RefOf(o)]
		if !ok {
			return nil
		}
		deletable, err := d.checkDeletable(&moved[i], o)
		if deletable {
			d.add(moved[i].Ref, "is still there", "go on with `ropewalk pivot run --resume`")
		}
		return err
	})
	return errors.Join(d.err(), err)
}
