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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// New returns a server with the given custom kinds, and those of Kubernetes itself that plane has.
// UIDs begin with the name.
func New(name string, kinds ...plane.Kind) *Server {
	s := &Server{prefix: name, left: -1, User: "tester", kinds: map[schema.GroupResource]plane.Kind{}, objects: map[plane.Ref]*unstructured.Unstructured{}}
	builtin := []plane.Kind{
		plane.NamespaceKind, plane.SecretKind, plane.ConfigMapKind, plane.EventKind,
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Resource: "customresourcedefinitions", Version: "v1", Served: []string{"v1"}},
		{Group: "authorization.k8s.io", Kind: "SelfSubjectAccessReview", Resource: "selfsubjectaccessreviews", Version: "v1", Served: []string{"v1"}},
		{Group: "authentication.k8s.io", Kind: "SelfSubjectReview", Resource: "selfsubjectreviews", Version: "v1", Served: []string{"v1"}},
	}
	for _, k := range append(builtin, kinds...) {
		s.kinds[schema.GroupResource{Group: k.Group, Resource: k.Resource}] = k
	}
	s.Put(Object("v1", "Namespace", "", metav1.NamespaceSystem), Object("v1", "Namespace", "", metav1.NamespaceDefault))
	for _, k := range kinds {
		s.Put(Definition(k))
	}
	return s
}

// Put stores objects as if they had always been there. They get a UID and times if they have none,
// their namespace is made, and owner references without a UID get that of the owner of that name.
func (s *Server) Put(objects ...*unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range objects {
		o = o.DeepCopy()
		if ns := (plane.Ref{Kind: "Namespace", Name: o.GetNamespace()}); ns.Name != "" && s.objects[ns] == nil {
			s.add(Object("v1", "Namespace", "", ns.Name))
		}
		owners := o.GetOwnerReferences()
		for i, r := range owners {
			if r.UID == "" {
				if owner := s.owner(o, r); owner != nil {
					owners[i].UID = owner.GetUID()
				}
			}
		}
		if len(owners) > 0 {
			o.SetOwnerReferences(owners)
		}
		s.add(o)
	}
}

// owner returns the object that an owner reference of o names, or nil.
func (s *Server) owner(o *unstructured.Unstructured, r metav1.OwnerReference) *unstructured.Unstructured {
	gv, _ := schema.ParseGroupVersion(r.APIVersion)
	ref := plane.Ref{Group: gv.Group, Kind: r.Kind, Namespace: o.GetNamespace(), Name: r.Name}
	if s.objects[ref] == nil {
		ref.Namespace = ""
	}
	return s.objects[ref]
}

// Edit changes an object as another client does. It panics if there is none. All that is changed
// stays: also status, deletion time and managedFields.
func (s *Server) Edit(r plane.Ref, manager string, change func(*unstructured.Unstructured)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.objects[r]
	if old == nil {
		panic(fmt.Sprintf("%s is not on %s", r, s.prefix))
	}
	o := old.DeepCopy()
	change(o)
	s.store(old, o, manager, false)
}

// Object returns an object as it is stored, or nil.
func (s *Server) Object(r plane.Ref) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[r]; o != nil {
		return o.DeepCopy()
	}
	return nil
}

// Objects returns all objects, sorted, without definitions and namespaces.
func (s *Server) Objects() []*unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*unstructured.Unstructured
	for _, r := range slices.SortedFunc(maps.Keys(s.objects), plane.Ref.Compare) {
		if r.Kind != "CustomResourceDefinition" && r.Kind != "Namespace" {
			out = append(out, s.objects[r].DeepCopy())
		}
	}
	return out
}

// Remove removes objects, whatever their finalizers.
func (s *Server) Remove(refs ...plane.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range refs {
		delete(s.objects, r)
	}
}

// Terminate deletes a namespace and all that it holds: what has finalizers stays with a
// deletion time.
func (s *Server) Terminate(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r, o := range s.objects {
		switch {
		case r == plane.Ref{Kind: "Namespace", Name: namespace}:
			o.SetFinalizers([]string{"kubernetes"})
			s.remove(r)
		case r.Namespace == namespace:
			s.remove(r)
		}
	}
}

// Collect deletes each object whose owners are all gone, as the garbage collector does, until it
// finds no more. It returns what it deleted.
func (s *Server) Collect() []plane.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []plane.Ref
	for {
		found := len(out)
		for _, r := range slices.SortedFunc(maps.Keys(s.objects), plane.Ref.Compare) {
			o := s.objects[r]
			owners := o.GetOwnerReferences()
			left := slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool {
				owner := s.owner(o, r)
				return owner != nil && owner.GetUID() == r.UID
			})
			if len(owners) > 0 && !left && o.GetDeletionTimestamp() == nil {
				s.remove(r)
				out = append(out, r)
			}
		}
		if len(out) == found {
			return out
		}
	}
}

// Observe lets all controllers see what is written: each object that they reconcile gets the
// condition Paused that its Cluster asks for.
func (s *Server) Observe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, old := range s.objects {
		cluster := s.objects[plane.Ref{Group: Core, Kind: "Cluster", Namespace: ref.Namespace, Name: old.GetLabels()[ClusterName]}]
		if cluster == nil || !reconciled(old) {
			continue
		}
		status := "False"
		if paused, _, _ := unstructured.NestedBool(cluster.Object, "spec", "paused"); paused {
			status = "True"
		}
		o := old.DeepCopy()
		SetPaused(o, status, o.GetGeneration())
		s.store(old, o, "manager", false)
	}
}

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
