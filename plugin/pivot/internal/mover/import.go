// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// fenceEvery bounds the objects that are written between two calls of a fence.
const fenceEvery = 32

// runInParts calls f for 0 to n-1, several at once, and the fence before each 32 of them.
func runInParts(ctx context.Context, p *plane.Plane, n int, fence func(context.Context) error, f func(ctx context.Context, i int) error) error {
	for start := 0; start < n; start += fenceEvery {
		if err := fence(ctx); err != nil {
			return err
		}
		err := p.Each(ctx, min(fenceEvery, n-start), func(ctx context.Context, i int) error { return f(ctx, start+i) })
		if err != nil {
			return err
		}
	}
	return nil
}

// target is a plane that imports the objects of a pivot.
type target struct {
	findings
	plane *plane.Plane
	kinds plane.Kinds
	id    string
	uids  map[plane.Ref]types.UID // of imported objects, guarded by mu
	// activating means that objects without a mark may belong to this pivot too, as its activation
	// removes the marks.
	activating bool
}

// Import creates the entries on the target, paused and marked, with owner references to the UIDs of
// the target. It removes objects that the same pivot has imported from another snapshot. An object
// that is there already, and was not imported by this pivot, is a finding, and is not altered; but
// an entry that stays may be there as it is in the snapshot. Nothing is written before all entries
// are known to be importable. The fence is called before each depth, and every 32 objects; its error
// ends the import.
func Import(ctx context.Context, p *plane.Plane, kinds plane.Kinds, entries []snapshot.Entry, id string, fence func(context.Context) error) error {
	t := &target{plane: p, kinds: kinds, id: id, uids: map[plane.Ref]types.UID{}}
	return t.importEntries(ctx, entries, fence)
}

// importEntries does the work of Import.
func (t *target) importEntries(ctx context.Context, entries []snapshot.Entry, fence func(context.Context) error) error {
	// Find everything that stands in the way before the first write.
	if err := t.check(entries); err != nil {
		return err
	}
	c, err := t.compare(ctx, entries)
	if err := errors.Join(t.err(), err); err != nil {
		return err
	}

	// Orphans are deleted first: the garbage collector would delete them later.
	if len(c.orphans) > 0 {
		if err := fence(ctx); err != nil {
			return err
		}
		if err := t.sweep(ctx, c.orphans); err != nil {
			return err
		}
	}

	// Owners come before their dependents, as these need the UIDs.
	for _, depth := range slices.Backward(stages(entries)) {
		err := runInParts(ctx, t.plane, len(depth), fence, func(ctx context.Context, i int) error { return t.importOne(ctx, &depth[i]) })
		if err := errors.Join(t.err(), err); err != nil {
			return err
		}
	}

	// Remove the objects of an earlier snapshot.
	if len(c.stale) == 0 {
		return nil
	}
	if err := fence(ctx); err != nil {
		return err
	}
	return t.sweep(ctx, c.stale)
}

// check returns findings for entries that cannot be imported. It makes no request.
func (t *target) check(entries []snapshot.Entry) error {
	positions := index(entries)
	clusters := 0
	for i := range entries {
		e := &entries[i]
		if _, err := t.kinds.At(e.Ref, e.APIVersion); err != nil {
			problem := fmt.Sprintf("version %q of its kind is not served by the %s plane", e.APIVersion, t.plane.Name())
			t.add(e.Ref, problem, "install its provider, or upgrade it")
			continue
		}

		// Owners must be imported before their dependents.
		var o struct {
			Metadata struct{ OwnerReferences []metav1.OwnerReference }
			Spec     struct{ Paused any }
		}
		if err := json.Unmarshal(e.Object, &o); err != nil {
			return fmt.Errorf("%s: %w: its snapshot is no object", e.Ref, snapshot.ErrCorrupt)
		}
		for _, r := range o.Metadata.OwnerReferences {
			owner := t.owner(e.Ref, r)
			if j, ok := positions[owner]; !ok || entries[j].Depth >= e.Depth {
				t.add(e.Ref, fmt.Sprintf("its owner %s is not in the snapshot before it", owner), "abort the pivot, and begin it again")
			}
		}

		// The Cluster must be paused, and the only one that moves.
		if !e.Stays && isCluster(e.Ref) {
			clusters++
			if o.Spec.Paused != true {
				t.add(e.Ref, "is not paused in the snapshot", "abort the pivot, and begin it again")
			}
		}
	}
	if clusters != 1 {
		return errors.Join(t.err(), fmt.Errorf("the snapshot has %d Clusters, expected 1: abort the pivot, and begin it again", clusters))
	}
	return t.err()
}

// owner returns the object that an owner reference of another object names.
func (t *target) owner(dependent plane.Ref, r metav1.OwnerReference) plane.Ref {
	gv, _ := schema.ParseGroupVersion(r.APIVersion)
	owner := plane.Ref{Group: gv.Group, Kind: r.Kind, Name: r.Name}
	if t.kinds[owner.GroupKind()].Namespaced {
		owner.Namespace = dependent.Namespace
	}
	return owner
}

// comparison describes the objects that the target has before an import.
type comparison struct {
	// stale are objects that this pivot imported and that are not in the entries.
	stale []snapshot.Entry
	// orphans are objects of this pivot that the garbage collector deletes, as their owners are all
	// lost, with all their dependents.
	orphans []snapshot.Entry
	// missing counts entries that are not there.
	missing int
	// active means that the Cluster is there, and has no mark.
	active bool
}

// compare compares the target with the entries. It adds findings for objects that stand in the way.
func (t *target) compare(ctx context.Context, entries []snapshot.Entry) (comparison, error) {
	// Sort the objects: ours, stale, and foreign, which must be accepted.
	positions := index(entries)
	c := comparison{missing: len(entries)}
	there := map[types.UID]bool{}
	ours := map[plane.Ref]*metav1.ObjectMeta{}
	err := survey(ctx, t.plane, t.kinds, entries, func(o *unstructured.Unstructured) error {
		m, id := markOf(o)
		i, ok := positions[plane.RefOf(o)]
		if !ok {
			if m != "" && id == t.id {
				c.stale = append(c.stale, entry(o))
			}
			return nil
		}
		e := &entries[i]
		c.missing--
		moves := !e.Stays
		c.active = c.active || (isCluster(e.Ref) && moves && m == "")
		there[o.GetUID()] = true
		marked := m != "" && id == t.id
		activated := m == "" && t.activating && moves
		if marked || activated {
			ours[e.Ref] = &metav1.ObjectMeta{
				UID:               o.GetUID(),
				OwnerReferences:   o.GetOwnerReferences(),
				DeletionTimestamp: o.GetDeletionTimestamp(),
			}
			return nil
		}
		_, err := t.checkAccepted(e, o)
		return err
	})

	// Objects whose owners are all gone are deleted by the garbage collector, with their
	// dependents: repeat until no more are found.
	swept := map[types.UID]bool{}
	for found := -1; found < len(c.orphans); {
		found = len(c.orphans)
		for r, o := range ours {
			owned := func(by map[types.UID]bool) bool {
				return slices.ContainsFunc(o.OwnerReferences, func(r metav1.OwnerReference) bool { return by[r.UID] })
			}
			collected := len(o.OwnerReferences) > 0 && o.DeletionTimestamp != nil
			if !owned(there) && (owned(swept) || collected) {
				c.orphans = append(c.orphans, entries[positions[r]])
				swept[o.UID] = true
				delete(there, o.UID)
				delete(ours, r)
			}
		}
	}

	// Another object that is being deleted is for the user.
	for r, o := range ours {
		if o.DeletionTimestamp != nil {
			t.add(beingDeleted(t.plane, r))
		}
	}
	return c, err
}

// entry returns the outline of an object that is not in the snapshot. Its depth is the greatest,
// so that it is deleted first.
func entry(o *unstructured.Unstructured) snapshot.Entry {
	const deepest = 1 << 20
	return snapshot.Entry{Ref: plane.RefOf(o), APIVersion: o.GetAPIVersion(), Depth: deepest}
}

// checkAccepted reports whether this pivot imported an object that is there. If not, it adds a
// finding, unless the object stays and is the same on both planes.
func (t *target) checkAccepted(e *snapshot.Entry, o *unstructured.Unstructured) (ours bool, err error) {
	m, id := markOf(o)
	switch {
	case m != "" && id != t.id:
		t.add(e.Ref, fmt.Sprintf("is being imported to the %s plane by pivot %q", t.plane.Name(), id), "let that pivot end, or abort it")
	case o.GetDeletionTimestamp() != nil:
		advice := "wait until it is gone; where it is not, see which of its finalizers are left"
		t.add(e.Ref, fmt.Sprintf("is being deleted from the %s plane", t.plane.Name()), advice)
	case m != "" || (t.activating && !e.Stays):
		return true, nil
	case !e.Stays:
		advice := "delete it there if it is not needed, or choose another target"
		t.add(e.Ref, fmt.Sprintf("is on the %s plane already, and not from this pivot", t.plane.Name()), advice)
	default:
		paths, _, err := differences(e, o)
		if err != nil {
			return false, err
		}
		if len(paths) > 0 {
			problem := fmt.Sprintf("is on the %s plane already, and differs at %s", t.plane.Name(), strings.Join(paths, ", "))
			t.add(e.Ref, problem, "make both the same, or rename one of them")
		}
	}
	return false, nil
}

// importOne imports an entry.
func (t *target) importOne(ctx context.Context, e *snapshot.Entry) error {
	k, err := t.kinds.At(e.Ref, e.APIVersion)
	if err != nil {
		return err
	}
	o, err := decode(e)
	if err != nil {
		return err
	}
	m := mark(t.id, e)
	annotate(o, snapshot.ImportAnnotation, &m)
	t.setOwners(e.Ref, o)

	// Create the object, or change the one that an earlier import has created.
	options := metav1.CreateOptions{FieldManager: Manager, FieldValidation: metav1.FieldValidationStrict}
	imported, err := t.plane.Create(ctx, k, o, options)
	if apierrors.IsAlreadyExists(err) {
		options := metav1.UpdateOptions{FieldManager: Manager, FieldValidation: metav1.FieldValidationStrict}
		imported, err = t.plane.Update(ctx, k, e.Ref, options, func(there *unstructured.Unstructured) error { return t.converge(e, o, there) })
	}
	if err != nil {
		return failed(t.plane, "importing", e.Ref, o, err)
	}

	// Its dependents need its UID.
	t.mu.Lock()
	defer t.mu.Unlock()
	t.uids[e.Ref] = imported.GetUID()
	return nil
}

// setOwners sets the UIDs of the owners of o.
func (t *target) setOwners(r plane.Ref, o *unstructured.Unstructured) {
	t.mu.Lock()
	defer t.mu.Unlock()
	owners := o.GetOwnerReferences()
	for i := range owners {
		owners[i].UID = t.uids[t.owner(r, owners[i])]
	}
	if len(owners) > 0 {
		o.SetOwnerReferences(owners)
	}
}

// converge changes an object that is there to match its entry.
func (t *target) converge(e *snapshot.Entry, want, there *unstructured.Unstructured) error {
	// Leave the object of another client, and report it.
	ours, err := t.checkAccepted(e, there)
	if err != nil {
		return err
	}
	if !ours {
		return plane.ErrUnchanged
	}

	// An activated object, without a mark, changes only its owners, if one was imported again.
	paths, _, err := differences(e, there)
	if err != nil {
		return err
	}
	m, _ := markOf(there)
	sameOwner := func(a, b metav1.OwnerReference) bool { return a.UID == b.UID }
	owned := slices.EqualFunc(there.GetOwnerReferences(), want.GetOwnerReferences(), sameOwner)
	same := len(paths) == 0 && m == mark(t.id, e)
	if owned && (m == "" || same) {
		return plane.ErrUnchanged
	}
	if m == "" {
		there.SetOwnerReferences(want.GetOwnerReferences())
		return nil
	}

	// Replace the content, and keep the identity and the status.
	o := want.DeepCopy()
	o.SetUID(there.GetUID())
	o.SetResourceVersion(there.GetResourceVersion())
	if status, ok := there.Object["status"]; ok {
		o.Object["status"] = status
	}
	there.Object = o.Object
	return nil
}

// errLeft ends a removal without a deletion.
var errLeft = errors.New("left")

// sweep deletes the objects with the mark of the pivot. It removes all finalizers first, so that the
// garbage collector finds no finalizer on any dependent.
func (t *target) sweep(ctx context.Context, marked []snapshot.Entry) error {
	// An object may have lost its mark, or got the mark of another pivot, since it was read.
	prepare := func(o *unstructured.Unstructured) error {
		if m, id := markOf(o); id != t.id && (m != "" || !t.activating) {
			return errLeft
		}
		if !release(o) {
			return plane.ErrUnchanged
		}
		return nil
	}
	options := metav1.UpdateOptions{FieldManager: Manager}

	// An object that is gone, or must be left, is no error.
	each := func(entries []snapshot.Entry, f func(context.Context, plane.Kind, plane.Ref) error) error {
		return t.plane.Each(ctx, len(entries), func(ctx context.Context, i int) error {
			e := &entries[i]
			k, err := t.kinds.At(e.Ref, e.APIVersion)
			if err != nil {
				return err
			}
			err = plane.IgnoreNotFound(f(ctx, k, e.Ref))
			if errors.Is(err, errLeft) {
				err = nil
			}
			return failed(t.plane, "deleting", e.Ref, nil, err)
		})
	}

	// Remove the finalizers of all, then delete the deepest first.
	err := each(marked, func(ctx context.Context, k plane.Kind, r plane.Ref) error {
		_, err := t.plane.Update(ctx, k, r, options, prepare)
		return err
	})
	for _, stage := range stages(marked) {
		if err != nil {
			return err
		}
		err = each(stage, func(ctx context.Context, k plane.Kind, r plane.Ref) error {
			return t.plane.Remove(ctx, k, r, options, prepare)
		})
	}
	return err
}
