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

// frontEnd makes the specs of one form of documents. Mistakes are added to the mistakes of the load.
type frontEnd interface {
	// references returns the modules and files that are to be fetched before its specs are built.
	references() []reference
	// build adds the specs without mistakes to the request. The error ends the load: it comes from
	// ctx or from a limit.
	build(ctx context.Context, b *builder) error
}

// planning holds the facts by which front ends choose and decode their documents.
type planning struct {
	found
	docs      documents
	settings  settings
	variables *variables
}

// builder adds planned specs to a request, once their modules are fetched.
type builder struct {
	planning
	// shared are the policies of the project, and policies the same for evaluation.
	shared   []use
	policies []evaluate.Policy

	request render.Request
	// read are the files that components read, by their names in positions.
	read map[string]bool
	// unplaced are the specs without a namespace, unless the project or the caller sets it.
	unplaced []string
}

// build fetches what the front ends need, and builds their specs. The argument complete is true if
// the policies of the project are known. It returns the references to servers.
func (b *builder) build(ctx context.Context, fronts []frontEnd, complete bool) ([]Reference, error) {
	references := referencesOf(b.shared)
	for _, f := range fronts {
		if complete {
			references = append(references, f.references()...)
		}
	}
	err := b.modules.fetch(ctx, references)
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
	return b.modules.references(references), nil
}

// add adds the spec of a Transform to the request, and charges for it.
func (b *builder) add(ctx context.Context, s render.Spec, t spec.Transform) error {
	err := b.opts.charge(ctx, sizeOf(s))
	if err != nil {
		return err
	}
	s.AllowSecretsPos = t.AllowSecretsPos
	b.loosen(&s, t.PolicyOverrides)
	b.request.Specs = append(b.request.Specs, s)
	b.request.AllowSecrets[t.Name] = t.AllowSecrets
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
		const format = "no project is rendered, and so there is no policy %q to loosen"
		e := document.Mistake(o.Pos, o.Path, "render the folder of its "+spec.ProjectFile, format, o.Policy)
		e.Severity = object.SeverityWarning
		b.Errs = append(b.Errs, e)
	}
}

// context returns the context of a spec. The argument namespace is "" if the spec has no namespace.
// In a preview, the namespace of the preview replaces it, and the request records both.
func (b *builder) context(name, namespace, environment string) object.Context {
	if namespace == "" && !b.settings.placed {
		b.unplaced = append(b.unplaced, name)
	}
	out := b.settings.context(name, namespace, environment)
	if b.request.Preview.ID == "" {
		return out
	}
	previewed, err := b.request.Preview.Enter(out.Namespace)
	if err != nil {
		b.Errs = append(b.Errs, object.AsErrors(err, object.StageSpec)...)
		return out
	}
	out.Namespace = previewed
	return out
}

// policySources returns the provenance of the policies of a spec: of the policies of the project,
// then of its own.
func (b *builder) policySources(name string, policies []use) (out []render.Source) {
	for _, u := range slices.Concat(b.shared, policies) {
		if tree, ok := b.modules.trees[u.key]; ok {
			out = append(out, sourceOf(name, u.policy.Name, tree))
		}
	}
	return out
}

// isComponent reports whether t is built without a module.
func isComponent(t spec.Transform) bool { return t.Component.Kind != object.KindNone }

// sizeOf returns the bytes that a spec adds to a request and to its encoding, roughly. An input has
// each alias as often as it is used, and each spec has all policies.
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

// usesOf returns the modules of policies. It returns false if a policy does not refer to a module,
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

// evaluatePolicies returns policies in the form that evaluate takes. It returns false if a policy
// could not be fetched, which is reported.
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
