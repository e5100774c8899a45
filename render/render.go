// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
	"github.com/ropewalk/ropewalk/render/preview"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload"
)

// Error is one mistake of a user, with its position.
type Error = object.Error

// Errors is all mistakes of one run.
type Errors = object.Errors

// Request is all that a render depends on. It is never changed by one. Its encoding is the
// key of cached renders, from which tags exclude how it is run.
type Request struct {
	// Specs are evaluated on their own, in any order.
	Specs []Spec
	// Workloads is what those of Specs share that are workloads.
	Workloads Workloads
	// Emit defines how to write, and by its dialect for which engine to order and check.
	Emit emit.Options

	// CRDs are CustomResourceDefinitions to check against, besides those of the render
	// itself and the built-in set; they win over the built-in ones.
	CRDs []object.Object
	// KubeVersion is the version of the target cluster, such as 1.36.
	KubeVersion string
	// AllowSecrets names, for each spec, the Secrets that may hold data, by patterns of
	// path.Match.
	AllowSecrets map[string][]string
	// SkipSchemas leaves out the schema check; secrets are checked all the same.
	SkipSchemas bool

	// Preview moves the render into a preview; the zero value does not. The contexts of Specs
	// are those of the preview.
	Preview preview.Rules

	// Strict turns warnings of the order and of the dialect into errors.
	Strict bool
	// Parallel is how many specs are evaluated at once; 1 where zero.
	Parallel int `cbor:"-"`
	// Mistakes were found before, in specs that are not in Specs or in the project.
	// They fail the render, with what it finds in the others.
	Mistakes Errors `cbor:"-"`
	// Broken names the specs that mistakes hide, so that others may depend on them
	// without a second message.
	Broken []string `cbor:"-"`
	// Secrets adds what no message may show, besides what the render finds. It is called for
	// errors and warnings only; nil adds nothing.
	Secrets func(*object.Secrets) `cbor:"-"`
	// Progress, where set, is called after each spec with how many are done. It may be
	// called from several goroutines at once.
	Progress func(done, all int) `cbor:"-"`
}

// Workloads is what the workloads of a project share.
type Workloads struct {
	// Config defines how they are compiled. Its modules are for messages only: they
	// are fetched already.
	Config spec.Workloads
	// Provisioners are tried in this order.
	Provisioners []Provisioners
}

// Provisioners is a module of provisioners.
type Provisioners struct {
	// Name of the module, for messages.
	Name   string
	Module evaluate.Module
	// Pos is the line that names the module, not valid if it is embedded.
	Pos object.Pos
}

// Spec is one spec of a request, with its module fetched.
type Spec struct {
	Evaluate evaluate.Request
	// Workload is set if the spec is a workload. The module of Evaluate then
	// makes its objects from what the workload compiles to; its Input is the document,
	// which only distinguishes two requests.
	Workload *workload.Source
	// Gateway is set if the Input of Evaluate is the spec of a Gateway: the module makes
	// its objects from what that compiles to.
	Gateway bool
	// Written leads errors on the Workload or the Gateway to what its author wrote; nil
	// where that is the document itself.
	Written   func(Errors) Errors `cbor:"-"`
	DependsOn []object.SpecDependency
	// StatesNamespace is set if the author gave the namespace of the context for the
	// objects of this spec: it is written into them in every dialect.
	StatesNamespace bool
	// Adopt is the default of the nodes' apply.adopt; "" if not given.
	Adopt string
	// AllowSecretsPos is where each of the patterns of Request.AllowSecrets is written;
	// those that match nothing are not reported if it is empty.
	AllowSecretsPos []object.Pos
	// Loosened are the policies that hold less for this spec: see [Spec.Loosen].
	Loosened []spec.PolicyOverride
	// Source is where the module came from, for provenance, and Policies where
	// those of its policies and provisioners did.
	Source   Source
	Policies []Source
}

// Source is the provenance of a module.
type Source struct {
	Spec string `json:"spec"`
	// Policy is the name of the policy that the module is; "" for the module of
	// the spec.
	Policy string `json:"policy,omitempty"`
	// Provisioners is the name of the module of provisioners that it is; "" if
	// it is none.
	Provisioners string `json:"provisioners,omitempty"`
	// Part says which part of a component it is, such as its chart or a remote base; ""
	// for what is no part.
	Part     string `json:"part,omitempty"`
	Origin   string `json:"origin"`
	Revision string `json:"revision,omitempty"`
	// Pinned is a reference that always resolves to this revision, "" if there is
	// none.
	Pinned string `json:"pinned,omitempty"`
	// Digest is that of the tree, with the modules that it depends on.
	Digest string `json:"digest"`
}

// Result is a finished render.
type Result struct {
	Files []emit.File
	// Plan holds the graph and its waves.
	Plan   *order.Plan
	Layers []emit.Layer
	// Warnings and notes are in the order of their positions. Each policy that a spec loosens is a
	// note, and so is what is ignored by that.
	Warnings Errors
	// Sources has one entry for each spec, and one for each of its policies and
	// provisioners, sorted by name.
	Sources []Source
	// Provisioned is the name of the module of provisioners for each node that one
	// made.
	Provisioned map[object.ID]string
	// Existing is what workloads rely on and the render does not make, in the order of
	// the specs.
	Existing []workload.Existing
	// Calls are which workloads call which, in the order of the specs that are called. They
	// bind no order.
	Calls []Call
}

// Call is one workload that calls another one. From is the name of a spec, or of a workload
// that the project does not have.
type Call struct{ From, To string }

// Source returns the provenance of the module that made a node: that of its spec, or one of
// provisioners.
func (r Result) Source(id object.ID) Source {
	of := func(provisioners string) int {
		return slices.IndexFunc(r.Sources, func(s Source) bool {
			return s.Spec == id.Spec() && s.Policy == "" && s.Provisioners == provisioners && s.Part == ""
		})
	}
	for _, provisioners := range []string{r.Provisioned[id], ""} {
		if i := of(provisioners); i >= 0 {
			return r.Sources[i]
		}
	}
	return Source{}
}
