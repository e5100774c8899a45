// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"context"

	"github.com/ropewalk/ropewalk/render/object"
)

// Operation names what a request asks of its module.
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
	// Context is the context of specs that use the module; a catalog may depend on it.
	Context object.Context
	Limits  Limits
}

// request returns the request of an operation on a subject.
func (s Subject) request(op Operation) Request {
	return Request{Operation: op, Spec: s.Spec, Pos: s.Pos, Module: s.Module, Context: s.Context, Limits: s.Limits}
}

// ListProvisioners returns what a module of provisioners can make, in the order of its list. Any
// other module is an error.
func ListProvisioners(ctx context.Context, e Evaluator, subject Subject) ([]Provisioner, error) {
	result, err := e.Evaluate(ctx, subject.request(OpCatalog))
	return result.Catalog, err
}

// Describe returns the inputs that a module of specs takes, sorted by path: 200 at most.
func Describe(ctx context.Context, e Evaluator, subject Subject) ([]Input, error) {
	result, err := e.Evaluate(ctx, subject.request(OpDescribe))
	return result.Inputs, err
}

// Inspect returns the findings about how a module is written, and which of its inputs the cases
// set.
func Inspect(ctx context.Context, e Evaluator, subject Subject, cases []object.Value) (*Inspection, error) {
	req := subject.request(OpInspect)
	req.Cases = cases
	result, err := e.Evaluate(ctx, req)
	return result.Inspection, err
}

// Comparison lists what changed for the users of a module between two versions.
type Comparison struct {
	// Changes begin with the gravest, and are sorted by path. An input that only the older version
	// took is a major change; it is undecided if that cannot be told.
	Changes []Change
	// OlderKind and NewerKind are the kinds of the modules, "" for a module of specs.
	OlderKind, NewerKind string
}

// Compare returns what changed for the users of a module since an older version of it.
func Compare(ctx context.Context, e Evaluator, newer Subject, older Module) (Comparison, error) {
	req := newer.request(OpCompare)
	req.Older = &older
	result, err := e.Evaluate(ctx, req)
	return result.Comparison, err
}

// ReadValues returns the field values of the one file of a module, with positions in it: a
// values file in CUE, as Timoni has them.
func ReadValues(ctx context.Context, e Evaluator, subject Subject) (object.Value, error) {
	result, err := e.Evaluate(ctx, subject.request(OpValues))
	return result.Values, err
}

// ReadBundle reads a bundle of Timoni out of files of a module in the folder of the bundle. With an
// error, it returns what could be read.
func ReadBundle(ctx context.Context, e Evaluator, subject Subject, files BundleFiles) (*Bundle, error) {
	req := subject.request(OpBundle)
	req.Bundle = &files
	result, err := e.Evaluate(ctx, req)
	return result.Bundle, err
}
