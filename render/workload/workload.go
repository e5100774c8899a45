// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Source is a workload with all that its compilation needs.
type Source struct {
	Spec score.Workload
	// Files holds the content of the source files by the path as written.
	Files map[string][]byte
	// Variables are the values of those that texts of the workload mention; see
	// [Mentioned]. Where they come from they may be passwords.
	Variables map[string]string
	// Context is that of the workload: its own name, and its own namespace where
	// it names one.
	Context object.Context
	// Otherwise is the namespace that Context has without a preview, by which others may call
	// the workload too.
	Otherwise string
	// Partial is set if a mistake in the document, which is reported already, may
	// hide part of Spec. The workload is looked at for what else is wrong, and
	// is never completed.
	Partial bool
	// Opened are the ports that Gateways of the project lead to.
	Opened []score.Port
}

// Request is a request for resources to one module of provisioners.
type Request struct {
	// Module is the index of the module in the project's list.
	Module int
	// Context is that of the workload that owns the resources: the one that is
	// compiled, or the first of those that share them. It is to be evaluated with
	// this one, and the ids of nodes begin with its name, so that what is shared
	// is the same for every workload.
	Context object.Context
	// Input is the input of the module (schema.#Requests). Its parts have the
	// positions of what the user wrote.
	Input object.Value
	// InputPath is where Input stands in the document of that workload.
	InputPath object.Path
	// Resources are the keys of Input.resources, sorted.
	Resources []string

	owner *member
}

// Compiled is a workload in the form that the module expects that makes its
// objects.
type Compiled struct {
	// Input of the module; its parts have the positions of what the user wrote.
	Input object.Value
	// Nodes are the objects of the resources that this workload owns.
	Nodes []*object.Node
	// Complete is set if every resource that the workload needs was made. Where it
	// was not, Input lacks the texts that need it.
	Complete bool
	// Secret is the position of a text that is read from the store of secrets, where
	// no store is configured; else it is not valid.
	Secret object.Pos
	// Routes are what the routes of the workload let in.
	Routes []Route
	// Existing are the resources that it owns and that no render makes.
	Existing []Existing
	// Callers are the other workloads whose calls reach this one, sorted by name; one that the
	// project does not have is among them where this one lets it in.
	Callers []string

	needs map[object.ID]object.Pos
}

// Route is what one resource of type route lets in.
type Route struct {
	Host, Path string
	// Pos and In are the position and the path of the resource.
	Pos object.Pos
	In  string
}

// Locate sets the positions of the dependencies of the nodes that the module made of Input to the
// line that asks for them: a resource, or an entry of dependsOn. The module has the dependencies
// from the input and knows only its own line, at which a user cannot fix a cycle.
func (c Compiled) Locate(nodes []*object.Node) {
	for _, n := range nodes {
		n.DependsOn = slices.Clone(n.DependsOn)
		for i, d := range n.DependsOn {
			if pos, ok := c.needs[d.ID]; ok && pos.IsValid() {
				n.DependsOn[i].Pos = pos
			}
		}
	}
}
