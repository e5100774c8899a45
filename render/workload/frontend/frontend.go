// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package frontend lists the kinds of documents and files that become workloads, each with its table
// of fields and its compiler. render/spec recognizes them.
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

// FrontEnd turns documents of one kind into workloads: Compile turns a document into all of its
// workloads, Lower turns a document into one. A document of a kind without either is a workload.
type FrontEnd struct {
	// Kind is a kind of [spec.Document].
	Kind string
	// Table has the fields of documents of this kind. It is nil for formats of other tools.
	Table func() document.Document
	// Compile makes the specs of a document. It returns the parts that could be read together
	// with errors, which include warnings, in no particular order.
	Compile func(doc spec.Document, in Surroundings) (Made, object.Errors)
	// Lower makes a Workload of a document with its overlays, and Written maps errors on the
	// Workload to the text of the author. The Workload is decoded in any case.
	Lower   func(doc object.Value) (object.Value, object.Errors)
	Written func(object.Errors) object.Errors
	// Environments returns the environments that a document may have overrides for, by name,
	// with the default of spec.workloads of a project in each.
	Environments func(doc spec.Document) map[string]object.Value
}

// Made holds the workloads and Gateways of a document.
type Made struct {
	Workloads []spec.Document
	// Gateways lead requests to them.
	Gateways []spec.Transform
}

// Surroundings describe the place of the document and the environment that it is rendered for.
type Surroundings interface {
	compose.Project

	// Environment returns the environment of the render, or "", and Declared the environments
	// that the project declares.
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
		{Kind: spec.KindCompose, Table: kinds.Compose, Compile: compileCompose},
		{Kind: spec.KindApps, Table: kinds.Apps, Environments: apps.Overridden, Compile: compileApps},
	}
}

func compileCompose(doc spec.Document, in Surroundings) (Made, object.Errors) {
	workloads, errs := compose.Compile(doc, in)
	return Made{Workloads: workloads}, errs
}

func compileApps(doc spec.Document, in Surroundings) (Made, object.Errors) {
	workloads, gateways, errs := apps.Compile(doc, in.Environment(), in.Config(), in.Declared()...)
	return Made{Workloads: workloads, Gateways: gateways}, errs
}

// Of returns the front end of a kind, or the zero value if the kind is unknown.
func Of(kind string) FrontEnd {
	frontEnds := All()
	if i := slices.IndexFunc(frontEnds, func(f FrontEnd) bool { return f.Kind == kind }); i >= 0 {
		return frontEnds[i]
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
