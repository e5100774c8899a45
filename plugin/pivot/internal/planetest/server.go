// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package planetest

import (
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
