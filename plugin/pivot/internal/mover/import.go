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

// fenceEvery is how many objects are written between two calls of a fence.
const fenceEvery = 32

// runInParts calls f for 0 to n-1, several at once, and the fence before each 32 of them.
func runInParts(ctx context.Context, p *plane.Plane, n int, fence func(context.Context) error, f func(ctx context.Context, i int) error) error {
	for from := 0; from < n; from += fenceEvery {
		if err := fence(ctx); err != nil {
			return err
		}
		err := p.Each(ctx, min(fenceEvery, n-from), func(ctx context.Context, i int) error { return f(ctx, from+i) })
		if err != nil {
			return err
		}
	}
	return nil
}

// target imports into a plane.
type target struct {
	findings
	plane *plane.Plane
	kinds plane.Kinds
	id    string
	uids  map[plane.Ref]types.UID // of what is imported, guarded by mu
	// activating: what has no mark is of this pivot too, as its activation has removed it.
	activating bool
}

// Import brings the target to the entries, paused and marked, with owner references to the UIDs of
// the target. It removes what an earlier import of the same pivot made of another snapshot. An
// object that is there already, and was not imported by this pivot, is a finding, and is not
// altered; but an entry that stays may be there as it is in the snapshot. Nothing is written
// before all entries are known to be importable. The fence is called before each depth, and every
// 32 objects; its error ends the import.
func Import(ctx context.Context, p *plane.Plane, kinds plane.Kinds, entries []snapshot.Entry, id string, fence func(context.Context) error) error {
	return (&target{plane: p, kinds: kinds, id: id, uids: map[plane.Ref]types.UID{}}).importEntries(ctx, entries, fence)
}

func (t *target) importEntries(ctx context.Context, entries []snapshot.Entry, fence func(context.Context) error) error {
	if err := t.check(entries); err != nil {
		return err
	}
	c, err := t.compare(ctx, entries)
	if err := errors.Join(t.err(), err); err != nil {
		return err
	}
	if len(c.orphans) > 0 {
		if err := fence(ctx); err != nil {
			return err
		}
		if err := t.sweep(ctx, c.orphans); err != nil {
			return err
		}
	}
	for _, depth := range slices.Backward(stages(entries)) {
		err := runInParts(ctx, t.plane, len(depth), fence, func(ctx context.Context, i int) error { return t.importOne(ctx, &depth[i]) })
		if err := errors.Join(t.err(), err); err != nil {
			return err
		}
	}
	if len(c.stale) == 0 {
		return nil
	}
	if err := fence(ctx); err != nil {
		return err
	}
	return t.sweep(ctx, c.stale)
}

// check returns findings for what makes entries unfit for an import. It makes no request.
func (t *target) check(entries []snapshot.Entry) error {
	at := index(entries)
	clusters := 0
	for i := range entries {
		e := &entries[i]
		if _, err := t.kinds.At(e.Ref, e.APIVersion); err != nil {
			t.add(e.Ref, fmt.Sprintf("version %q of its kind is not served by the %s plane", e.APIVersion, t.plane.Name()), "install its provider, or upgrade it")
			continue
		}

		// Owners must be imported before what they own.
		var o struct {
			Metadata struct{ OwnerReferences []metav1.OwnerReference }
			Spec     struct{ Paused any }
		}
		if err := json.Unmarshal(e.Object, &o); err != nil {
			return fmt.Errorf("%s: %w: its snapshot is no object", e.Ref, snapshot.ErrCorrupt)
		}
		for _, r := range o.Metadata.OwnerReferences {
			owner := t.owner(e.Ref, r)
			if j, ok := at[owner]; !ok || entries[j].Depth >= e.Depth {
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
func (t *target) owner(of plane.Ref, r metav1.OwnerReference) plane.Ref {
	gv, _ := schema.ParseGroupVersion(r.APIVersion)
	owner := plane.Ref{Group: gv.Group, Kind: r.Kind, Name: r.Name}
	if t.kinds[owner.GroupKind()].Namespaced {
		owner.Namespace = of.Namespace
	}
	return owner
}

// comparison is what is on the target already.
type comparison struct {
	// stale is what this pivot imported that is not in the entries.
	stale []snapshot.Entry
	// orphans are objects of this pivot that the garbage collector deletes, as their owners are all
	// lost, with all that they own.
	orphans []snapshot.Entry
	// missing counts entries that are not there.
	missing int
	// active: the Cluster is there, and has no mark.
	active bool
}

// compare returns what is on the target already. It adds findings for what stands in the way.
func (t *target) compare(ctx context.Context, entries []snapshot.Entry) (comparison, error) {
	// Sort the objects into those of this pivot, those that are stale, and those of others.
	at := index(entries)
	c := comparison{missing: len(entries)}
	there := map[types.UID]bool{}
	ours := map[plane.Ref]*metav1.ObjectMeta{}
	err := survey(ctx, t.plane, t.kinds, entries, func(o *unstructured.Unstructured) error {
		m, id := markOf(o)
		i, ok := at[plane.RefOf(o)]
		if !ok {
			if m != "" && id == t.id {
				c.stale = append(c.stale, entry(o))
			}
			return nil
		}
		e := &entries[i]
		c.missing--
		c.active = c.active || isCluster(e.Ref) && !e.Stays && m == ""
		there[o.GetUID()] = true
		if m != "" && id == t.id || m == "" && t.activating && !e.Stays {
			ours[e.Ref] = &metav1.ObjectMeta{UID: o.GetUID(), OwnerReferences: o.GetOwnerReferences(), DeletionTimestamp: o.GetDeletionTimestamp()}
			return nil
		}
		_, err := t.checkAccepted(e, o)
		return err
	})

	// Objects whose owners are all gone are deleted by the garbage collector, and with them what
	// they own: repeat until no more are found.
	swept := map[types.UID]bool{}
	for found := -1; found < len(c.orphans); {
		found = len(c.orphans)
		for r, o := range ours {
			owned := func(by map[types.UID]bool) bool {
				return slices.ContainsFunc(o.OwnerReferences, func(r metav1.OwnerReference) bool { return by[r.UID] })
			}
			if !owned(there) && (owned(swept) || len(o.OwnerReferences) > 0 && o.DeletionTimestamp != nil) {
				c.orphans = append(c.orphans, entries[at[r]])
				swept[o.UID] = true
				delete(there, o.UID)
				delete(ours, r)
			}
		}
	}

	// What is left and is being deleted is for the user.
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
// finding, unless the object is one that stays and is as it should be.
func (t *target) checkAccepted(e *snapshot.Entry, o *unstructured.Unstructured) (ours bool, err error) {
	m, id := markOf(o)
	switch {
	case m != "" && id != t.id:
		t.add(e.Ref, fmt.Sprintf("is being imported to the %s plane by pivot %q", t.plane.Name(), id), "let that pivot end, or abort it")
	case o.GetDeletionTimestamp() != nil:
		t.add(e.Ref, fmt.Sprintf("is being deleted from the %s plane", t.plane.Name()), "wait until it is gone; where it is not, see which of its finalizers are left")
	case m != "" || t.activating && !e.Stays:
		return true, nil
	case !e.Stays:
		t.add(e.Ref, fmt.Sprintf("is on the %s plane already, and not from this pivot", t.plane.Name()), "delete it there if it is not needed, or choose another target")
	default:
		paths, _, err := differences(e, o)
		if err != nil {
			return false, err
		}
		if len(paths) > 0 {
			t.add(e.Ref, fmt.Sprintf("is on the %s plane already, and differs at %s", t.plane.Name(), strings.Join(paths, ", ")), "make both the same, or rename one of them")
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
	made, err := t.plane.Create(ctx, k, o, metav1.CreateOptions{FieldManager: Manager, FieldValidation: metav1.FieldValidationStrict})
	if apierrors.IsAlreadyExists(err) {
		made, err = t.plane.Update(ctx, k, e.Ref, metav1.UpdateOptions{FieldManager: Manager, FieldValidation: metav1.FieldValidationStrict},
			func(there *unstructured.Unstructured) error { return t.converge(e, o, there) })
	}
	if err != nil {
		return failed(t.plane, "importing", e.Ref, o, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.uids[e.Ref] = made.GetUID()
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

// converge changes an object that is there to what it should be.
func (t *target) converge(e *snapshot.Entry, want, there *unstructured.Unstructured) error {
	ours, err := t.checkAccepted(e, there)
	if err != nil {
		return err
	}
	if !ours {
		return plane.ErrUnchanged
	}
	paths, _, err := differences(e, there)
	if err != nil {
		return err
	}
	m, _ := markOf(there)
	owned := slices.EqualFunc(there.GetOwnerReferences(), want.GetOwnerReferences(), func(a, b metav1.OwnerReference) bool { return a.UID == b.UID })
	switch {
	case owned && (m == "" || len(paths) == 0 && m == mark(t.id, e)):
		return plane.ErrUnchanged
	case m == "": // It is activated already, and an owner of it was imported again.
		there.SetOwnerReferences(want.GetOwnerReferences())
		return nil
	}
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

// sweep deletes what carries the mark of the pivot. It removes all finalizers first, so that the
// garbage collector finds none, whatever owns what.
func (t *target) sweep(ctx context.Context, marked []snapshot.Entry) error {
	// An object may have lost its mark, or got that of another pivot, since it was read.
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

	// What is gone, or must be left, is no error.
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
