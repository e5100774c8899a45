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

// Delete deletes what moved from the source, after the commit: the deepest objects first, and the
// Cluster after all others. What was created again, or changed, since the snapshot is a finding.
// Such an object is left, and so is what owns it; discardChanges deletes what was changed. The
// rest is deleted. The fence is called before each depth. Each is called with how many of the
// objects are done, if it is not nil. The error is nil only if nothing is left.
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
			break // It pauses what is left.
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

type deletion struct {
	findings
	plane          *plane.Plane
	kinds          plane.Kinds
	discardChanges bool
	// Guarded by mu: done and left are counts of objects, keep are owners of those that are left.
	done, left int
	keep       map[types.UID]bool
}

// checkPaused returns findings if the Cluster is not paused: its controllers would make again what
// is deleted.
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
			d.add(e.Ref, fmt.Sprintf("is not paused on the %s plane any more; it was last written%s: two planes are in charge", d.plane.Name(), LastWriter(o)),
				"stop what writes it, such as GitOps, and set its spec.paused to true at once")
			return d.err()
		}
	}
	return nil
}

// deleteOne deletes an object, or adds a finding why it must not.
func (d *deletion) deleteOne(ctx context.Context, e *snapshot.Entry) error {
	k, err := d.kinds.At(e.Ref, e.APIVersion)
	if err != nil {
		return err
	}
	err = d.plane.Remove(ctx, k, e.Ref, metav1.UpdateOptions{FieldManager: Manager}, func(o *unstructured.Unstructured) error {
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
		d.add(e.Ref, "was created again on the source after the commit"+LastWriter(o), "stop what creates it, such as GitOps, then delete it; if the deletion hangs, remove its finalizers")
	case snapshot.Sum(canonical) != e.Digest && !d.discardChanges:
		d.add(e.Ref, "was changed on the source after the commit"+LastWriter(o), "make the change on the target; then go on with `ropewalk pivot run --resume --discard-changes`")
	case !kept:
		return true, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left++
	for _, r := range o.GetOwnerReferences() {
		d.keep[r.UID] = true
	}
	return false, nil
}

// checkGone returns findings for what is there again after all was deleted.
func (d *deletion) checkGone(ctx context.Context, moved []snapshot.Entry) error {
	at := index(moved)
	err := survey(ctx, d.plane, d.kinds, moved, func(o *unstructured.Unstructured) error {
		if i, ok := at[plane.RefOf(o)]; ok {
			ok, err := d.checkDeletable(&moved[i], o)
			if ok {
				d.add(moved[i].Ref, "is still there", "go on with `ropewalk pivot run --resume`")
			}
			return err
		}
		return nil
	})
	return errors.Join(d.err(), err)
}
