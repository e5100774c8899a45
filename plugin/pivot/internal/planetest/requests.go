// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package planetest

import (
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/testing"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// Client returns a client that talks to the server.
func (s *Server) Client() dynamic.Interface {
	lists := map[schema.GroupVersionResource]string{}
	for gr, k := range s.kinds {
		for _, v := range k.Served {
			lists[gr.WithVersion(v)] = k.Kind + "List"
		}
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	client.PrependReactor("*", "*", s.react)
	return client
}

// react answers a request. The fake client makes one at a time.
func (s *Server) react(action testing.Action) (bool, runtime.Object, error) {
	gvr := action.GetResource()
	k, ok := s.kinds[gvr.GroupResource()]
	if !ok || !slices.Contains(k.Served, gvr.Version) {
		return true, nil, apierrors.NewNotFound(gvr.GroupResource(), "")
	}
	r := request(action, k)
	if err := s.admit(r); err != nil {
		return true, nil, err
	}
	if s.Before != nil {
		if err := s.Before(r); err != nil {
			return true, nil, err
		}
	}
	out, err := s.handle(action, r)
	if err == nil && s.After != nil {
		err = s.After(r)
	}
	if err != nil {
		return true, nil, err
	}
	return true, out, nil
}

// request returns what an action asks for.
func request(action testing.Action, k plane.Kind) Request {
	r := Request{Verb: action.GetVerb(), Version: action.GetResource().Version, Ref: plane.Ref{Group: k.Group, Kind: k.Kind, Namespace: action.GetNamespace()}}
	switch a := action.(type) {
	case testing.GetActionImpl:
		r.Ref.Name = a.Name
	case testing.ListActionImpl:
		r.Selector = a.ListOptions.LabelSelector
	case testing.CreateActionImpl:
		r.Object = body(a.Object)
		r.Manager = a.CreateOptions.FieldManager
		r.Validation = a.CreateOptions.FieldValidation
		r.DryRun = len(a.CreateOptions.DryRun) > 0
		r.Ref.Name = r.Object.GetName()
	case testing.UpdateActionImpl:
		r.Object = body(a.Object)
		r.Manager = a.UpdateOptions.FieldManager
		r.Validation = a.UpdateOptions.FieldValidation
		r.DryRun = len(a.UpdateOptions.DryRun) > 0
		r.Ref.Name = r.Object.GetName()
	case testing.DeleteActionImpl:
		r.Ref.Name = a.Name
		r.DryRun = len(a.DeleteOptions.DryRun) > 0
		if p := a.DeleteOptions.Preconditions; p != nil && p.UID != nil {
			r.UID = string(*p.UID)
		}
		if p := a.DeleteOptions.Preconditions; p != nil && p.ResourceVersion != nil {
			r.ResourceVersion = *p.ResourceVersion
		}
	}
	if r.Manager == "" {
		r.Manager = "planetest"
	}
	return r
}

func body(o runtime.Object) *unstructured.Unstructured {
	u, _ := o.(*unstructured.Unstructured)
	return u.DeepCopy()
}

// admit notes a request, and refuses those of a client that is dead.
func (s *Server) admit(r Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 && r.Write() {
		s.killed = true
	}
	if s.killed {
		return ErrKilled
	}
	if s.left > 0 && r.Write() {
		s.left--
	}
	s.requests = append(s.requests, r)
	return nil
}

func (s *Server) handle(action testing.Action, r Request) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gr := action.GetResource().GroupResource()
	old := s.objects[r.Ref]
	if old == nil && (r.Verb == "get" || r.Verb == "update" || r.Verb == "delete") {
		return nil, apierrors.NewNotFound(gr, r.Ref.Name)
	}
	switch r.Verb {
	case "get":
		return served(old, r), nil
	case "list":
		list, _ := action.(testing.ListActionImpl)
		return s.list(r, list.ListOptions)
	case "create":
		return s.create(gr, r)
	case "update":
		return s.update(gr, r, old)
	case "delete":
		if r.UID != "" && r.UID != string(old.GetUID()) || r.ResourceVersion != "" && r.ResourceVersion != old.GetResourceVersion() {
			return nil, apierrors.NewConflict(gr, r.Ref.Name, errPrecondition)
		}
		if !r.DryRun {
			s.remove(r.Ref)
		}
		return &metav1.Status{Status: metav1.StatusSuccess}, nil
	}
	return nil, apierrors.NewMethodNotSupported(gr, r.Verb)
}

// served returns a copy of an object in the version of a request.
func served(o *unstructured.Unstructured, r Request) *unstructured.Unstructured {
	o = o.DeepCopy()
	o.SetAPIVersion(schema.GroupVersion{Group: r.Ref.Group, Version: r.Version}.String())
	return o
}

func (s *Server) list(r Request, options metav1.ListOptions) (runtime.Object, error) {
	selector, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	var found []*unstructured.Unstructured
	for ref, o := range s.objects {
		if ref.GroupKind() == r.Ref.GroupKind() && (r.Ref.Namespace == "" || r.Ref.Namespace == ref.Namespace) && selector.Matches(labels.Set(o.GetLabels())) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int { return plane.RefOf(a).Compare(plane.RefOf(b)) })
	from, _ := strconv.Atoi(options.Continue)
	end := len(found)
	out := &unstructured.UnstructuredList{}
	out.SetAPIVersion(schema.GroupVersion{Group: r.Ref.Group, Version: r.Version}.String())
	out.SetKind(r.Ref.Kind + "List")
	if options.Limit > 0 && from+int(options.Limit) < end {
		end = from + int(options.Limit)
		out.SetContinue(strconv.Itoa(end))
	}
	for _, o := range found[min(from, end):end] {
		out.Items = append(out.Items, *served(o, r))
	}
	return out, nil
}

func (s *Server) create(gr schema.GroupResource, r Request) (runtime.Object, error) {
	o := r.Object.DeepCopy()
	if r.Ref.Group == "authorization.k8s.io" || r.Ref.Group == "authentication.k8s.io" {
		return s.review(o), nil
	}
	if ns := r.Ref.Namespace; ns != "" {
		namespace := s.objects[plane.Ref{Kind: "Namespace", Name: ns}]
		if namespace == nil {
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, ns)
		}
		if namespace.GetDeletionTimestamp() != nil {
			return nil, apierrors.NewForbidden(gr, r.Ref.Name, errTerminating)
		}
	}
	if s.objects[r.Ref] != nil {
		return nil, apierrors.NewAlreadyExists(gr, r.Ref.Name)
	}
	for _, k := range []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", k)
	}
	s.manage(o, r.Manager, "")
	s.add(o)
	if r.DryRun {
		delete(s.objects, r.Ref)
	}
	return served(o, r), nil
}

func (s *Server) update(gr schema.GroupResource, r Request, old *unstructured.Unstructured) (runtime.Object, error) {
	o := r.Object.DeepCopy()
	if o.GetResourceVersion() == "" {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: gr.Group, Kind: r.Ref.Kind}, r.Ref.Name,
			field.ErrorList{field.Required(field.NewPath("metadata", "resourceVersion"), "must be specified for an update")})
	}
	if o.GetResourceVersion() != old.GetResourceVersion() || o.GetUID() != "" && o.GetUID() != old.GetUID() {
		return nil, apierrors.NewConflict(gr, r.Ref.Name, errPrecondition)
	}
	// What belongs to the server is not taken from a client; managedFields are, where they
	// are given.
	keep := [][]string{{"metadata", "uid"}, {"metadata", "creationTimestamp"}, {"metadata", "deletionTimestamp"}, {"metadata", "generation"}, {"apiVersion"}}
	if r.Ref.Group != "" {
		keep = append(keep, []string{"status"})
	}
	if o.GetManagedFields() == nil {
		keep = append(keep, []string{"metadata", "managedFields"})
	}
	for _, path := range keep {
		unstructured.RemoveNestedField(o.Object, path...)
		if v, ok, _ := unstructured.NestedFieldCopy(old.Object, path...); ok {
			_ = unstructured.SetNestedField(o.Object, v, path...)
		}
	}
	return served(s.store(old, o, r.Manager, r.DryRun), r), nil
}

// review answers a question about the client.
func (s *Server) review(o *unstructured.Unstructured) *unstructured.Unstructured {
	get := func(k string) string {
		v, _, _ := unstructured.NestedString(o.Object, "spec", "resourceAttributes", k)
		return v
	}
	status := map[string]any{"userInfo": map[string]any{"username": s.User}}
	if o.GetKind() == "SelfSubjectAccessReview" {
		right := plane.Right{Verb: get("verb"), Group: get("group"), Resource: get("resource"), Namespace: get("namespace")}
		status = map[string]any{"allowed": !s.Denied[right]}
	}
	o.Object["status"] = status
	return o
}
