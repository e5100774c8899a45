// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"context"

	"github.com/ropewalk/ropewalk/render/object"
)

// Operation is what a request asks of its module.
type Operation string

// The operations. Evaluate does the first two for a render; the functions of this file do the
// others, each with an input and a result of its own.
const (
	// OpRender makes the objects of a spec; of a module of provisioners it makes resources.
	OpRender Operation = ""
	// OpBuild builds Request.Component of the files of the module.
	OpBuild Operation = "build"
	// OpCatalog is [ListProvisioners].
	OpCatalog Operation = "catalog"
	// OpDescribe is [Describe].
	OpDescribe Operation = "describe"
	// OpInspect is [Inspect].
	OpInspect Operation = "inspect"
	// OpCompare is [Compare].
	OpCompare Operation = "compare"
	// OpValues is [ReadValues].
	OpValues Operation = "values"
	// OpBundle is [ReadBundle].
	OpBundle Operation = "bundle"
)

// Subject is a module that is asked something other than to render.
type Subject struct {
	// Spec and Pos are the name and the place of what uses the module, for messages.
	Spec   string
	Pos    object.Pos
	Module Module
	// Context is that of specs that use the module; a catalog may depend on it.
	Context object.Context
	Limits  Limits
}

// request returns the request of an operation on a subject.
func (s Subject) request(op Operation) Request {
	return Request{Operation: op, Spec: s.Spec, Pos: s.Pos, Module: s.Module, Context: s.Context, Limits: s.Limits}
}

// ListProvisioners returns what a module of provisioners can make, in the order of its list. Any
// other module is an error.
func ListProvisioners(ctx context.Context, e Evaluator, of Subject) ([]Provisioner, error) {
	out, err := e.Evaluate(ctx, of.request(OpCatalog))
	return out.Catalog, err
}

// Describe returns the inputs that a module of specs takes, sorted by path: 200 at most.
func Describe(ctx context.Context, e Evaluator, of Subject) ([]Input, error) {
	out, err := e.Evaluate(ctx, of.request(OpDescribe))
	return out.Inputs, err
}

// Inspect returns what is to say of how a module is written, and which of what it takes the
// inputs of cases set.
func Inspect(ctx context.Context, e Evaluator, of Subject, cases []object.Value) (*Inspection, error) {
	req := of.request(OpInspect)
	req.Cases = cases
	out, err := e.Evaluate(ctx, req)
	return out.Inspection, err
}

// Comparison is what changed for the users of a module between two versions.
type Comparison struct {
	// Changes are the gravest first, and sorted by path: an input that the older version took and
	// the newer one does not is major, one of which that cannot be told is undecided.
	Changes []Change
	// OlderKind and NewerKind are the kinds of the modules, "" for a module of specs.
	OlderKind, NewerKind string
}

// Compare returns what changed for the users of a module since an older version of it.
func Compare(ctx context.Context, e Evaluator, newer Subject, older Module) (Comparison, error) {
	req := newer.request(OpCompare)
	req.Older = &older
	out, err := e.Evaluate(ctx, req)
	return out.Comparison, err
}

// ReadValues returns the field values of the one file of a module, with positions in it: a
// values file in CUE, as Timoni has them.
func ReadValues(ctx context.Context, e Evaluator, of Subject) (object.Value, error) {
	out, err := e.Evaluate(ctx, of.request(OpValues))
	return out.Values, err
}

// ReadBundle reads a bundle of Timoni out of files of a module, whose folder is that of the
// bundle. What could be read is returned with an error.
func ReadBundle(ctx context.Context, e Evaluator, of Subject, files BundleFiles) (*Bundle, error) {
	req := of.request(OpBundle)
	req.Bundle = &files
	out, err := e.Evaluate(ctx, req)
	return out.Bundle, err
}
