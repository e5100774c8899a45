// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload"
)

// Error is one mistake of one user at one place.
type Error = object.Error

// Errors is all mistakes of one run.
type Errors = object.Errors

// Request is all that a render depends on.
type Request struct {
	// Specs are evaluated on their own, in any order.
	Specs []Spec
	// Workloads is what those of Specs have in common that are workloads.
	Workloads Workloads
	Emit      emit.Options
	Check     check.Options
	// Strict turns warnings of the order and of the dialect into errors.
	Strict bool
	// Parallel is how many specs are evaluated at once; 1 where zero.
	Parallel int
	// Mistakes were found before, in specs that are not in Specs or in the
	// project. They fail the render, together with what it finds in the others.
	Mistakes Errors
	// Broken names the specs that mistakes hide, so that others may depend on
	// them without a second message.
	Broken []string
	// Progress, where set, is called after each spec with how many are done. It
	// may be called from several goroutines at once.
	Progress func(done, all int)
}

// Workloads is what the workloads of a project have in common.
type Workloads struct {
	// Config says how they are compiled. Its modules are for messages only: they
	// are fetched already.
	Config spec.Workloads
	// Provisioners are asked in this order.
	Provisioners []Provisioners
}

// Provisioners is a module of provisioners.
type Provisioners struct {
	// Name of the module, for messages.
	Name   string
	Module evaluate.Module
	// Pos is the place that names the module, not valid where it is ours.
	Pos object.Pos
}

// Spec is one spec of a request, with its module fetched.
type Spec struct {
	Evaluate evaluate.Request
	// Workload is set where the spec is a workload. The module of Evaluate then
	// makes its objects, and its input is what the workload compiles to: the input
	// of the request, which is the document, is only what tells two requests
	// apart.
	Workload  *workload.Source
	DependsOn []graph.SpecDependency
	// Adopt is the default of the nodes' apply.adopt; "" where not given.
	Adopt string
	// Source says where the module came from, for provenance, and Policies where
	// those of its policies and provisioners did.
	Source   Source
	Policies []Source

	// by is the name of the module of provisioners that made a node, for those that
	// one did.
	by map[object.ID]string
	// again compiles a workload once more, for who asks where its objects come
	// from: to keep what every workload compiled to costs a large project a third of
	// its memory, and nearly nobody asks.
	again func(ctx context.Context) (*compilation, error)
}

// Made is the provenance of the module that made a node of the spec, one of
// [Result.Specs]: its own, or one of provisioners.
func (s Spec) Made(id object.ID) Source {
	name, ok := s.by[id]
	for _, p := range s.Policies {
		if ok && p.Policy == "" && p.Provisioners == name {
			return p
		}
	}
	return s.Source
}

// Source is the provenance of a module.
type Source struct {
	Spec string `json:"spec"`
	// Policy is the name of the policy that the module is; "" for the module of
	// the spec.
	Policy string `json:"policy,omitempty"`
	// Provisioners is the name of the module of provisioners that it is; "" where
	// it is none.
	Provisioners string `json:"provisioners,omitempty"`
	Origin       string `json:"origin"`
	Revision     string `json:"revision,omitempty"`
	// Pinned is a reference that always leads to this revision, "" where there
	// is none.
	Pinned string `json:"pinned,omitempty"`
	// Digest is that of the tree, with the modules that it depends on.
	Digest string `json:"digest"`
}

// Result is a finished render.
type Result struct {
	Files []emit.File
	// Plan holds the graph and its waves.
	Plan *order.Plan
	// Specs are those of the request; they know where their objects come from.
	Specs  []Spec
	Layers []emit.Layer
	// Warnings are in the order of their positions.
	Warnings Errors
	// Sources has one entry for each spec, and one for each of its policies, sorted
	// by name.
	Sources []Source
}
