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
	// blockAnnotation is how a controller asks that an object is not moved yet.
	blockAnnotation = "clusterctl.cluster.x-k8s.io/block-move"
	// deleteAnnotation lets the webhooks of providers know that a deletion is part of a move.
	deleteAnnotation = "clusterctl.cluster.x-k8s.io/delete-for-move"
)

func isCluster(r plane.Ref) bool { return r.Group == inventory.ClusterGroup && r.Kind == "Cluster" }

func isPaused(o *unstructured.Unstructured) bool {
	paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
	return paused
}

// mark returns the value of the annotation of an imported object.
func mark(id string, e *snapshot.Entry) string { return id + "/" + e.UID }

// markOf returns the mark of an object, and the pivot that set it; both are "" without a mark.
func markOf(o *unstructured.Unstructured) (mark, id string) {
	mark = o.GetAnnotations()[snapshot.ImportAnnotation]
	if at := strings.LastIndexByte(mark, '/'); at >= 0 {
		return mark, mark[:at]
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
		return nil, fmt.Errorf("%s: %w: its snapshot is of %s in %s, expected %s", e.Ref, snapshot.ErrCorrupt, plane.RefOf(o), o.GetAPIVersion(), e.APIVersion)
	}
	return o, nil
}

// differences returns the paths at which an object is not what its entry says, and the digest of
// its canonical form.
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
		if f.Subresource == "" && f.Manager != Manager && f.Time != nil && (last.Time == nil || !f.Time.Before(last.Time)) {
			last = f
		}
	}
	if last.Time == nil {
		return ""
	}
	return fmt.Sprintf(" by %q at %s", last.Manager, last.Time.UTC().Format("2006-01-02T15:04:05Z"))
}

// findings are collected by several goroutines.
type findings struct {
	mu   sync.Mutex
	list inventory.Findings
}

func (f *findings) add(r plane.Ref, problem, advice string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, inventory.Finding{Ref: r, Problem: problem, Advice: advice})
}

func (f *findings) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return f.list.Sorted()
}

// survey calls f with each object on the plane that is of a kind and namespace of entries, one
// at a time. What the pivot staged is left out.
func survey(ctx context.Context, p *plane.Plane, kinds plane.Kinds, entries []snapshot.Entry, f func(*unstructured.Unstructured) error) error {
	places := map[plane.Ref]plane.Kind{}
	for i := range entries {
		e := &entries[i]
		k, err := kinds.At(e.Ref, e.APIVersion)
		if err != nil {
			return fmt.Errorf("%s plane: %w", p.Name(), err)
		}
		places[plane.Ref{Group: e.Ref.Group, Kind: e.Ref.Kind, Namespace: e.Ref.Namespace}] = k
	}
	var mu sync.Mutex
	order := slices.SortedFunc(maps.Keys(places), plane.Ref.Compare)
	return p.Each(ctx, len(order), func(ctx context.Context, i int) error {
		return p.Select(ctx, places[order[i]], order[i].Namespace, "!"+inventory.ChunkLabel, 0, func(o *unstructured.Unstructured) error {
			mu.Lock()
			defer mu.Unlock()
			return f(o)
		})
	})
}

// index returns where each object is in entries.
func index(entries []snapshot.Entry) map[plane.Ref]int {
	out := make(map[plane.Ref]int, len(entries))
	for i := range entries {
		out[entries[i].Ref] = i
	}
	return out
}

// stages returns entries in the order of a deletion: the deepest first, and the Cluster after all
// others of its depth, because controllers leave alone what it pauses.
func stages(entries []snapshot.Entry) [][]snapshot.Entry {
	first := func(e snapshot.Entry) int {
		if isCluster(e.Ref) {
			return 1
		}
		return 0
	}
	order := slices.Clone(entries)
	slices.SortFunc(order, func(a, b snapshot.Entry) int {
		return cmp.Or(cmp.Compare(b.Depth, a.Depth), cmp.Compare(first(a), first(b)), a.Ref.Compare(b.Ref))
	})
	var out [][]snapshot.Entry
	for i, e := range order {
		if i == 0 || order[i-1].Depth != e.Depth || first(order[i-1]) != first(e) {
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
		names = finalizers // Those that are added after it are none of the object's own.
	}
	value := releasedBy + strings.Join(names, ",")
	size := len(deleteAnnotation) + len(value)
	for k, v := range o.GetAnnotations() {
		size += len(k) + len(v)
	}
	// Without the names, a process that is killed before the deletion leaves an object that is
	// taken for a changed one.
	if size < maxAnnotations {
		annotate(o, deleteAnnotation, &value)
	}
	o.SetFinalizers(nil)
	return size < maxAnnotations || len(finalizers) > 0
}

const (
	// releasedBy begins the value of the annotation, before the names of the finalizers.
	releasedBy = "ropewalk:"
	// maxAnnotations is what an API server takes of the annotations of an object, in bytes.
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

// managedFields returns those that an object has on the target after an import. Those of the
// server-side applies on the source replace those of the import.
func managedFields(o *unstructured.Unstructured, applies json.RawMessage) ([]metav1.ManagedFieldsEntry, error) {
	var restored []metav1.ManagedFieldsEntry
	if err := json.Unmarshal(applies, &restored); err != nil {
		return nil, fmt.Errorf("%s: %w: its managedFields: %w", plane.RefOf(o), snapshot.ErrCorrupt, err)
	}
	others := slices.DeleteFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return f.Manager == Manager && f.Subresource == "" })
	return append(others, restored...), nil
}
