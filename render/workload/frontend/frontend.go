// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package frontend is the one list of what becomes workloads: what each kind of document or
// file is made of, and how. render/spec says how they are recognized.
//
// A new input format is a package below this one with its table of fields and its function,
// an entry of [All], and one of the formats of render/spec.
package frontend

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/frontend/apps"
	"github.com/ropewalk/ropewalk/render/workload/frontend/compose"
	"github.com/ropewalk/ropewalk/render/workload/frontend/function"
)

// FrontEnd turns documents of one kind into workloads: all that is in one at once (Compile),
// or one into one (Lower). A kind without either is one of workloads.
type FrontEnd struct {
	// Kind is that of [spec.Document].
	Kind string
	// Table has the fields of documents of this kind. It is nil for formats of other tools.
	Table func() document.Document
	// Compile makes the specs of a document. What could be read is returned with errors, which
	// hold warnings too, in no order that means anything.
	Compile func(doc spec.Document, in Surroundings) (Made, object.Errors)
	// Lower makes a Workload of a document with its overlays, and Written leads errors on that
	// to what its author wrote. The Workload is decoded in any case.
	Lower   func(doc object.Value) (object.Value, object.Errors)
	Written func(object.Errors) object.Errors
	// Environments returns those that a document may have overrides for, by their names, with what
	// they have as spec.workloads of a project where the project says nothing else.
	Environments func(doc spec.Document) map[string]object.Value
}

// Made is what a document becomes.
type Made struct {
	Workloads []spec.Document
	// Gateways lead requests to them.
	Gateways []spec.Transform
}

// Surroundings is where the document lies, and what it is made for.
type Surroundings interface {
	compose.Project

	// Environment returns the environment of the render, or "" for none, and Declared those that
	// the project declares.
	Environment() string
	Declared() []string
	// Config returns spec.workloads.config of the project in that environment.
	Config() object.Value
}

// All returns the front ends, in the order in which they are tried.
func All() []FrontEnd {
	return []FrontEnd{
		{Kind: spec.KindWorkload, Table: kinds.Workload},
		{Kind: spec.KindFunction, Table: kinds.Function, Lower: function.Lower, Written: function.Written},
		{Kind: spec.KindFuncYAML, Compile: func(doc spec.Document, _ Surroundings) (Made, object.Errors) {
			workloads, errs := function.Compile(doc)
			return Made{Workloads: workloads}, errs
		}},
		{Kind: spec.KindCompose, Table: kinds.Compose, Compile: func(doc spec.Document, in Surroundings) (Made, object.Errors) {
			workloads, errs := compose.Compile(doc, in)
			return Made{Workloads: workloads}, errs
		}},
		{Kind: spec.KindApps, Table: kinds.Apps, Environments: apps.Overridden, Compile: func(doc spec.Document, in Surroundings) (Made, object.Errors) {
			workloads, gateways, errs := apps.Compile(doc, in.Environment(), in.Config(), in.Declared()...)
			return Made{Workloads: workloads, Gateways: gateways}, errs
		}},
	}
}

// Of returns the front end of a kind, or the zero value if the kind is unknown.
func Of(kind string) FrontEnd {
	all := All()
	if i := slices.IndexFunc(all, func(f FrontEnd) bool { return f.Kind == kind }); i >= 0 {
		return all[i]
	}
	return FrontEnd{}
}

// Tables returns the tables of all kinds of documents that Ropewalk itself defines.
func Tables() []document.Document {
	var out []document.Document
	for _, f := range All() {
		if f.Table != nil {
			out = append(out, f.Table())
		}
	}
	return out
}
