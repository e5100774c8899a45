// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

const (
	// Manager is the field manager of all writes.
	Manager = "ropewalk-pivot"
	// blockAnnotation is set by a controller whose object must not be moved yet.
	blockAnnotation = "clusterctl.cluster.x-k8s.io/block-move"
	// deleteAnnotation lets the webhooks of providers know that a deletion is part of a move.
	deleteAnnotation = "clusterctl.cluster.x-k8s.io/delete-for-move"
)

// isCluster reports whether an object is a Cluster of Cluster API.
func isCluster(r plane.Ref) bool { return r.Group == inventory.ClusterGroup && r.Kind == "Cluster" }

// isPaused reports whether a Cluster is paused by its spec.
func isPaused(o *unstructured.Unstructured) bool {
	paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
	return paused
}

// mark returns the value of the annotation of an imported object.
func mark(id string, e *snapshot.Entry) string { return id + "/" + e.UID }

// markOf returns the mark of an object, and the pivot that set it; both are "" without a mark.
func markOf(o *unstructured.Unstructured) (mark, id string) {
	mark = o.GetAnnotations()[snapshot.ImportAnnotation]
	if slash := strings.LastIndexByte(mark, '/'); slash >= 0 {
		return mark, mark[:slash]
	}
	return mark, mark
}

// annotate sets an annotation, or removes it if the value is nil.
func annotate(o *unstructured.Unstructured, key string, value *string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	if value == nil {
		delete(annotations, key)
	} else {
		annotations[key] = *value
	}
	o.SetAnnotations(annotations)
}

// decode returns the object of an entry.
func decode(e *snapshot.Entry) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(e.Object); err != nil {
		// The error of the decoder may show the object.
		return nil, fmt.Errorf("%s: %w: its snapshot is no object", e.Ref, snapshot.ErrCorrupt)
	}
	if plane.RefOf(o) != e.Ref || o.GetAPIVersion() != e.APIVersion {
		const format = "%s: %w: its snapshot is of %s in %s, expected %s"
		return nil, fmt.Errorf(format, e.Ref, snapshot.ErrCorrupt, plane.RefOf(o), o.GetAPIVersion(), e.APIVersion)
	}
	return o, nil
}

// differences returns the paths at which an object differs from its entry, and the digest of its
// canonical form.
func differences(e *snapshot.Entry, o *unstructured.Unstructured) (paths []string, digest string, err error) {
	got, err := snapshot.Canonical(o)
	if err != nil {
		return nil, "", err
	}
	paths, err = snapshot.Differences(e.Object, got)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", e.Ref, err)
	}
	if len(paths) == 0 {
		return nil, e.Digest, nil
	}
	return paths, snapshot.Sum(got), nil
}

// LastWriter returns the field manager that wrote last, apart from status and from this package,
// such as ` by "kubectl" at 2026-01-02T15:04:05Z`; "" if it is not known.
func LastWriter(o *unstructured.Unstructured) string {
	var last metav1.ManagedFieldsEntry
	for _, f := range o.GetManagedFields() {
		counts := f.Subresource == "" && f.Manager != Manager && f.Time != nil
		if counts && (last.Time == nil || !f.Time.Before(last.Time)) {
			last = f
		}
	}
	if last.Time == nil {
		return ""
	}
	return fmt.Sprintf(" by %q at %s", last.Manager, last.Time.UTC().Format("2006-01-02T15:04:05Z"))
}

// findings collects findings from several goroutines.
type findings struct {
	mu   sync.Mutex
	list inventory.Findings
}

// add adds a finding about an object.
func (f *findings) add(r plane.Ref, problem, advice string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, inventory.Finding{Ref: r, Problem: problem, Advice: advice})
}

// err returns the findings, sorted; nil if there are none.
func (f *findings) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return f.list.Sorted()
}

// survey calls f with each object on the plane in the kinds and namespaces of entries, one at a
// time. Staged chunks are left out.
func survey(ctx context.Context, p *plane.Plane, kinds plane.Kinds, entries []snapshot.Entry, f func(*unstructured.Unstructured) error) error {
	// A place is the kind and the namespace of an object.
	places := map[plane.Ref]plane.Kind{}
	for i := range entries {
		e := &entries[i]
		k, err := kinds.At(e.Ref, e.APIVersion)
		if err != nil {
			return fmt.Errorf("%s plane: %w", p.Name(), err)
		}
		places[plane.Ref{Group: e.Ref.Group, Kind: e.Ref.Kind, Namespace: e.Ref.Namespace}] = k
	}

	// List the places at the same time, and call f for one object at a time.
	var mu sync.Mutex
	order := slices.SortedFunc(maps.Keys(places), plane.Ref.Compare)
	return p.Each(ctx, len(order), func(ctx context.Context, i int) error {
		place := order[i]
		return p.Select(ctx, places[place], place.Namespace, "!"+inventory.ChunkLabel, 0, func(o *unstructured.Unstructured) error {
			mu.Lock()
			defer mu.Unlock()
			return f(o)
		})
	})
}

// index returns the index of each object in entries.
func index(entries []snapshot.Entry) map[plane.Ref]int {
	out := make(map[plane.Ref]int, len(entries))
	for i := range entries {
		out[entries[i].Ref] = i
	}
	return out
}

// stages returns entries in the order of a deletion: the deepest first, and the Cluster after all
// others of its depth, because controllers leave alone the objects that it pauses.
func stages(entries []snapshot.Entry) [][]snapshot.Entry {
	rank := func(e snapshot.Entry) int {
		if isCluster(e.Ref) {
			return 1
		}
		return 0
	}

	// Sort, and begin a stage wherever the order changes.
	order := slices.Clone(entries)
	slices.SortFunc(order, func(a, b snapshot.Entry) int {
		return cmp.Or(cmp.Compare(b.Depth, a.Depth), cmp.Compare(rank(a), rank(b)), a.Ref.Compare(b.Ref))
	})
	var out [][]snapshot.Entry
	for i, e := range order {
		if i == 0 || order[i-1].Depth != e.Depth || rank(order[i-1]) != rank(e) {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], e)
	}
	return out
}

// release removes the finalizers, and marks the object as deleted by a move, with the names of
// the finalizers so that its content can still be compared. It reports whether it changed
// something.
func release(o *unstructured.Unstructured) bool {
	finalizers := o.GetFinalizers()
	names, marked := released(o)
	if marked && len(finalizers) == 0 {
		return false
	}
	if !marked {
		names = finalizers // Finalizers that are added later are not the object's own.
	}

	// Without the names, a process that is killed before the deletion leaves an object that is
	// taken for a changed one. So they are dropped only if there is no room.
	value := releasedBy + strings.Join(names, ",")
	size := len(deleteAnnotation) + len(value)
	for k, v := range o.GetAnnotations() {
		size += len(k) + len(v)
	}
	if size < maxAnnotations {
		annotate(o, deleteAnnotation, &value)
	}
	o.SetFinalizers(nil)
	return size < maxAnnotations || len(finalizers) > 0
}

const (
	// releasedBy begins the value of the annotation, before the names of the finalizers.
	releasedBy = "ropewalk:"
	// maxAnnotations bounds the annotations of an object that an API server accepts, in bytes.
	maxAnnotations = 256 << 10
)

// released returns the finalizers that release has removed.
func released(o *unstructured.Unstructured) (names []string, ok bool) {
	value, ok := strings.CutPrefix(o.GetAnnotations()[deleteAnnotation], releasedBy)
	if !ok || value == "" {
		return nil, ok
	}
	return strings.Split(value, ","), true
}

// unreleased returns an object as it was before release, and before a deletion that waits for
// dependents added a finalizer.
func unreleased(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	if names, ok := released(o); ok {
		o.SetFinalizers(names)
	} else if o.GetDeletionTimestamp() != nil {
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool {
			return f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents
		}))
	}
	return o
}

// managedFields returns the managedFields of an imported object, with the entries of the
// server-side applies on the source in place of the entry of the import.
func managedFields(o *unstructured.Unstructured, applies json.RawMessage) ([]metav1.ManagedFieldsEntry, error) {
	var restored []metav1.ManagedFieldsEntry
	if err := json.Unmarshal(applies, &restored); err != nil {
		return nil, fmt.Errorf("%s: %w: its managedFields: %w", plane.RefOf(o), snapshot.ErrCorrupt, err)
	}
	others := slices.DeleteFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == Manager && f.Subresource == ""
	})
	return append(others, restored...), nil
}
