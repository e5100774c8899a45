// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package planetest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// tick returns a number that was not used before.
func (s *Server) tick() int { s.serial++; return s.serial }

// now returns a time that rises by a second with each change.
func (s *Server) now() metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(s.serial) * time.Second))
}

// add stores a new object.
func (s *Server) add(o *unstructured.Unstructured) {
	n := s.tick()
	if o.GetUID() == "" {
		o.SetUID(types.UID(fmt.Sprintf("%s-%d", s.prefix, n)))
	}
	if created := o.GetCreationTimestamp(); created.IsZero() {
		o.SetCreationTimestamp(s.now())
	}
	if o.GetGeneration() == 0 {
		o.SetGeneration(1)
	}
	o.SetResourceVersion(strconv.Itoa(n))
	s.objects[plane.RefOf(o)] = o
}

// store replaces old by o, whose fields are those that a client, or a controller, wrote.
func (s *Server) store(old, o *unstructured.Unstructured, manager string, dryRun bool) *unstructured.Unstructured {
	if reflect.DeepEqual(old.Object, o.Object) {
		return old
	}
	s.tick()
	subresource := ""
	switch {
	case !reflect.DeepEqual(content(old), content(o)):
		o.SetGeneration(old.GetGeneration() + 1)
	case !reflect.DeepEqual(old.Object["status"], o.Object["status"]):
		subresource = "status"
	}
	if manager != "" && adds(owned(old), owned(o)) {
		s.manage(o, manager, subresource)
	}
	o.SetResourceVersion(strconv.Itoa(s.serial))
	switch {
	case dryRun:
	case o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0:
		delete(s.objects, plane.RefOf(o))
	default:
		s.objects[plane.RefOf(o)] = o
	}
	return o
}

// manage notes that a manager wrote the object.
func (s *Server) manage(o *unstructured.Unstructured, manager, subresource string) {
	fields := slices.DeleteFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == manager && f.Operation == metav1.ManagedFieldsOperationUpdate && f.Subresource == subresource
	})
	now := s.now()
	o.SetManagedFields(append(fields, metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: o.GetAPIVersion(), Time: &now,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}"), Subresource: subresource,
	}))
}

// remove deletes an object, or marks it as being deleted if it has finalizers.
func (s *Server) remove(r plane.Ref) {
	o := s.objects[r]
	if len(o.GetFinalizers()) == 0 {
		delete(s.objects, r)
		return
	}
	if o.GetDeletionTimestamp() == nil {
		o = o.DeepCopy()
		s.tick()
		now := s.now()
		o.SetDeletionTimestamp(&now)
		o.SetGeneration(o.GetGeneration() + 1)
		o.SetResourceVersion(strconv.Itoa(s.serial))
		s.objects[r] = o
	}
}

// content returns an object without its metadata, version and status.
func content(o *unstructured.Unstructured) map[string]any {
	out := maps.Clone(o.Object)
	for _, k := range []string{"metadata", "apiVersion", "status"} {
		delete(out, k)
	}
	return out
}

// owned returns an object without what no manager owns.
func owned(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	for _, k := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		unstructured.RemoveNestedField(o.Object, "metadata", k)
	}
	delete(o.Object, "apiVersion")
	return o.Object
}

// adds reports whether a value has something that the old one has not: only that makes a
// manager of a field.
func adds(old, value any) bool {
	a, ok := old.(map[string]any)
	b, ok2 := value.(map[string]any)
	if !ok || !ok2 {
		return !reflect.DeepEqual(old, value)
	}
	for k, v := range b {
		if was, ok := a[k]; !ok || adds(was, v) {
			return true
		}
	}
	return false
}
