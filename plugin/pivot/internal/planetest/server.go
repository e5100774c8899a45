// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package planetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// ErrKilled is the answer to all requests of a client that is dead. It is never repeated.
var ErrKilled = errors.New("killed")

// Request is what a client asks for.
type Request struct {
	// Verb is "get", "list", "create", "update" or "delete".
	Verb string
	// Ref has no name in a list.
	Ref plane.Ref
	// Version is the one of the request.
	Version string
	// Object is what is created, or written.
	Object *unstructured.Unstructured
	// Manager is the field manager.
	Manager string
	// Validation is the fieldValidation.
	Validation string
	DryRun     bool
	// Selector is that of the labels of a list.
	Selector string
	// UID and ResourceVersion are the preconditions of a deletion.
	UID, ResourceVersion string
}

// Write reports whether the request changes something.
func (r Request) Write() bool {
	return !r.DryRun && (r.Verb == "create" || r.Verb == "update" || r.Verb == "delete") && r.Ref.Group != "authorization.k8s.io" && r.Ref.Group != "authentication.k8s.io"
}

// Server is one API server.
type Server struct {
	// Before is called with each request; an error is the answer, and nothing is done.
	Before func(Request) error
	// After is called with each request that was handled; an error is the answer instead.
	After func(Request) error
	// Denied are the rights that reviews deny.
	Denied map[plane.Right]bool
	// User is the name in reviews of the client.
	User string
	// Undiscovered are errors of the discovery of what is served, by path.
	Undiscovered map[string]error

	mu       sync.Mutex
	kinds    map[schema.GroupResource]plane.Kind
	objects  map[plane.Ref]*unstructured.Unstructured
	prefix   string
	serial   int
	left     int // writes until the client is dead; negative where it lives on
	killed   bool
	requests []Request
}

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

// Plane returns a plane of the server whose client does not wait between its attempts, and gives
// up after a minute of such pauses.
func (s *Server) Plane() *plane.Plane {
	return plane.New(s.Client(), s.Options(plane.Options{
		Name: s.prefix, Server: "https://" + s.prefix, Patience: time.Minute,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}))
}

// Kill lets n more writes through; after them all requests are answered with ErrKilled.
func (s *Server) Kill(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.killed = n, false
}

// Die kills the client now.
func (s *Server) Die() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = true
}

// Killed reports whether the client is dead.
func (s *Server) Killed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.killed
}

// Revive ends what Kill began, and reports whether a client was killed.
func (s *Server) Revive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.killed
	s.left, s.killed = -1, false
	return was
}

// Requests returns all requests, in their order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
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
