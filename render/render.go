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

// Errors holds all mistakes of one run.
type Errors = object.Errors

// Request holds everything that a render depends on. A render never changes it. Its encoding is the
// key of cached renders; tags exclude the fields that do not change the result.
type Request struct {
	// Specs are evaluated on their own, in any order.
	Specs []Spec
	// Workloads holds the settings that the workloads in Specs share.
	Workloads Workloads
	// Emit configures the output, and by its dialect the engine to order and check for.
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
	// are then contexts of the preview.
	Preview preview.Rules

	// Strict turns warnings of the order and of the dialect into errors.
	Strict bool
	// Parallel limits the specs that are evaluated at once; 0 means 1.
	Parallel int `cbor:"-"`
	// Mistakes were found before, in the project or in specs that are not in Specs.
	// They fail the render, together with its own mistakes.
	Mistakes Errors `cbor:"-"`
	// Broken names the specs that mistakes hide, so that others may depend on them
	// without a second message.
	Broken []string `cbor:"-"`
	// Secrets adds values that no message may show to the values that the render finds. It is
	// called for errors and warnings only; nil adds nothing.
	Secrets func(*object.Secrets) `cbor:"-"`
	// Progress, if set, is called after each spec with the number of finished specs. It may be
	// called from several goroutines at once.
	Progress func(done, all int) `cbor:"-"`
}

// Workloads holds the settings that the workloads of a project share.
type Workloads struct {
	// Config configures their compilation. Its modules are for messages only: they
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
	// Workload is set if the spec is a workload. The module of Evaluate then makes its objects
	// from the compiled workload; the Input of Evaluate is the document, which only
	// distinguishes two requests.
	Workload *workload.Source
	// Gateway is set if the Input of Evaluate is the spec of a Gateway: the module makes
	// its objects from the compiled Gateway.
	Gateway bool
	// Written maps errors on the Workload or the Gateway to the text of the author; nil
	// if the author wrote the document itself.
	Written   func(Errors) Errors `cbor:"-"`
	DependsOn []object.SpecDependency
	// StatesNamespace is set if the author gave the namespace of the context for the
	// objects of this spec: it is written into them in every dialect.
	StatesNamespace bool
	// Adopt is the default of the nodes' apply.adopt; "" if not given.
	Adopt string
	// AllowSecretsPos has the position of each of the patterns of Request.AllowSecrets. If it
	// is empty, patterns that match nothing are not reported.
	AllowSecretsPos []object.Pos
	// Loosened are the policies that are loosened for this spec: see [Spec.Loosen].
	Loosened []spec.PolicyOverride
	// Source is the provenance of the module, and Policies the provenance of its
	// policies and provisioners.
	Source   Source
	Policies []Source
}

// Source is the provenance of a module.
type Source struct {
	Spec string `json:"spec"`
	// Policy is the name of the policy if the module is a policy, or "".
	Policy string `json:"policy,omitempty"`
	// Provisioners is the name of the module if it is a module of provisioners, or
	// "".
	Provisioners string `json:"provisioners,omitempty"`
	// Part names a part of a component, such as its chart or a remote base, or is
	// "".
	Part     string `json:"part,omitempty"`
	Origin   string `json:"origin"`
	Revision string `json:"revision,omitempty"`
	// Pinned is a reference that always resolves to this revision, or "".
	Pinned string `json:"pinned,omitempty"`
	// Digest is the digest of the tree, with the modules that it depends on.
	Digest string `json:"digest"`
}

// Result is a finished render.
type Result struct {
	Files []emit.File
	// Plan holds the graph and its waves.
	Plan   *order.Plan
	Layers []emit.Layer
	// Warnings and notes are in the order of their positions. Notes record each policy that a
	// spec loosens, and each finding that is ignored for that.
	Warnings Errors
	// Sources has one entry for each spec, and one for each of its policies and
	// provisioners, sorted by name.
	Sources []Source
	// Provisioned maps the nodes that provisioners made to the names of their
	// modules.
	Provisioned map[object.ID]string
	// Existing are the things that workloads rely on and the render does not make, in the
	// order of the specs.
	Existing []workload.Existing
	// Calls are the calls between workloads, in the order of the specs that are called. They
	// do not affect the order of objects.
	Calls []Call
}

// Call is a workload that calls another workload. From is the name of a spec, or of a workload
// outside of the project.
type Call struct{ From, To string }

// Source returns the provenance of the module that made a node: the module of its spec, or a module
// of provisioners.
func (r Result) Source(id object.ID) Source {
	index := func(provisioners string) int {
		return slices.IndexFunc(r.Sources, func(s Source) bool {
			return s.Spec == id.Spec() && s.Policy == "" && s.Provisioners == provisioners && s.Part == ""
		})
	}
	for _, provisioners := range []string{r.Provisioned[id], ""} {
		if i := index(provisioners); i >= 0 {
			return r.Sources[i]
		}
	}
	return Source{}
}
