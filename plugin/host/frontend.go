// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// frontEnd makes the specs of one form of documents. Mistakes are added to those of the load.
type frontEnd interface {
	// references are the modules and files that are to be fetched before its specs are built.
	references() []reference
	// build adds the specs without mistakes to the request. The error ends the load: it is that of
	// ctx or of a limit.
	build(ctx context.Context, b *builder) error
}

// planning is what front ends choose and decode their documents by.
type planning struct {
	found
	docs      documents
	settings  settings
	variables *variables
}

// builder adds specs to a request, of what was planned and fetched.
type builder struct {
	planning
	// shared are the policies of the project, and policies the same for evaluation.
	shared   []use
	policies []evaluate.Policy

	request render.Request
	// read are the files that components read, by their names in positions.
	read map[string]bool
	// unplaced are the specs without a namespace, unless the project or the caller names one.
	unplaced []string
}

// build fetches what the front ends need, and builds their specs. The argument complete is true if
// the policies of the project are known. It returns the references to servers.
func (b *builder) build(ctx context.Context, fronts []frontEnd, complete bool) ([]Reference, error) {
	all := referencesOf(b.shared)
	for _, f := range fronts {
		if complete {
			all = append(all, f.references()...)
		}
	}
	err := b.modules.fetch(ctx, all)
	if err != nil {
		return nil, err
	}

	// No spec is evaluated without a policy of its project.
	policies, known := evaluatePolicies(b.modules, b.shared)
	b.policies = policies
	for _, f := range fronts {
		if !complete || !known {
			break
		}
		err := f.build(ctx, b)
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(b.request.Specs, func(a, b render.Spec) int {
		return strings.Compare(a.Evaluate.Spec, b.Evaluate.Spec)
	})
	return b.modules.references(all), nil
}

// add adds the spec of a Transform to the request, and charges for it.
func (b *builder) add(ctx context.Context, s render.Spec, of spec.Transform) error {
	err := b.opts.charge(ctx, sizeOf(s))
	if err != nil {
		return err
	}
	s.AllowSecretsPos = of.AllowSecretsPos
	b.loosen(&s, of.PolicyOverrides)
	b.request.Specs = append(b.request.Specs, s)
	b.request.AllowSecrets[of.Name] = of.AllowSecrets
	return nil
}

// loosen loosens the policies of a spec that is complete otherwise. Without a project there is
// nothing to loosen.
func (b *builder) loosen(s *render.Spec, overrides []spec.PolicyOverride) {
	if b.settings.project.Pos.IsValid() {
		b.Errs = append(b.Errs, s.Loosen(overrides)...)
		return
	}
	for _, o := range overrides {
		e := document.Mistake(o.Pos, o.Path, "render the folder of its "+spec.ProjectFile, "no project is rendered, and so there is no policy %q to loosen", o.Policy)
		e.Severity = object.SeverityWarning
		b.Errs = append(b.Errs, e)
	}
}

// context returns the context of a spec. The argument namespace is "" if it names none. In a
// preview, the namespace is that of the preview, and the request keeps the one in whose place it is.
func (b *builder) context(name, namespace, environment string) object.Context {
	if namespace == "" && !b.settings.placed {
		b.unplaced = append(b.unplaced, name)
	}
	out := b.settings.context(name, namespace, environment)
	if b.request.Preview.ID == "" {
		return out
	}
	own, err := b.request.Preview.Enter(out.Namespace)
	if err != nil {
		b.Errs = append(b.Errs, object.AsErrors(err, object.StageSpec)...)
		return out
	}
	out.Namespace = own
	return out
}

// policySources returns the provenance of the policies of a spec: those of the project, then its
// own.
func (b *builder) policySources(name string, own []use) (out []render.Source) {
	for _, u := range slices.Concat(b.shared, own) {
		if tree, ok := b.modules.trees[u.key]; ok {
			out = append(out, sourceOf(name, u.policy.Name, tree))
		}
	}
	return out
}

// isComponent reports whether t is built without a module.
func isComponent(t spec.Transform) bool { return t.Component.Kind != object.KindNone }

// sizeOf returns how many bytes a spec adds to a request and to its encoding, roughly. An input
// has each alias as often as it is used, and each spec has all policies.
func sizeOf(s render.Spec) int64 {
	const use = 600
	size := use + s.Evaluate.Input.Size()
	for _, p := range s.Evaluate.Policies {
		size += use + p.Input.Size()
	}
	for name := range s.Evaluate.Module.Tags {
		size += int64(len(name) + len(s.Evaluate.Module.Tags[name]))
	}
	return size
}

// use is the module of a policy, or of provisioners; the policy of the latter has their name.
type use struct {
	reference
	policy spec.Policy
}

// usesOf returns the modules of policies. It returns false if one is no reference to a module,
// which has been reported.
func usesOf(m *modules, policies []spec.Policy) ([]use, bool) {
	var out []use
	complete := true
	for i, p := range policies {
		w, ok := m.reference(p.CueRef, object.Fields("spec", "policies").Append(object.Index(i), object.Field("cueRef")))
		complete = complete && ok
		out = append(out, use{reference: w, policy: p})
	}
	return out, complete
}

// referencesOf returns the references of uses.
func referencesOf(uses []use) []reference {
	out := make([]reference, len(uses))
	for i, u := range uses {
		out[i] = u.reference
	}
	return out
}

// joined returns a followed by b. Most specs have no policies of their own, and share a.
func joined(a, b []evaluate.Policy) []evaluate.Policy {
	if len(b) == 0 {
		return slices.Clip(a)
	}
	return slices.Concat(a, b)
}

// evaluatePolicies returns policies in the form that evaluate takes. It returns false if one could
// not be fetched, which is reported.
func evaluatePolicies(m *modules, uses []use) ([]evaluate.Policy, bool) {
	var out []evaluate.Policy
	complete := true
	for _, u := range uses {
		tree, ok := m.tree(u.reference)
		if !ok {
			complete = false
			continue
		}
		out = append(out, evaluate.Policy{
			Name: u.policy.Name, Module: m.module(u.reference, tree, nil), Input: u.policy.Input, Pos: u.policy.Pos,
			Overridable: u.policy.Overridable,
		})
	}
	return out, complete
}
