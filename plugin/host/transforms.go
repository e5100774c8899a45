// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"

	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// moduleFrontEnd makes the specs whose objects a module makes: Transforms, Gateways, pivot
// clusters, instances of bundles, and folders of CUE packages.
type moduleFrontEnd struct {
	docs  documents
	specs []moduleSpec
}

// moduleSpec is a spec with its module and its policies.
type moduleSpec struct {
	spec.Transform
	module   reference
	policies []use
}

// planModules takes the Transforms that are not components. Transforms with a mistake are left out,
// and mistakes are reported.
func planModules(p planning) frontEnd {
	out := moduleFrontEnd{docs: p.docs}
	for _, t := range p.docs.Transforms {
		if isComponent(t) {
			continue
		}
		field := t.RefPath()
		switch {
		case p.docs.Packages[t.Name]:
			field = nil
		case t.Instance != nil:
			field = t.Instance.Append(object.Field("module"))
		}
		policies, complete := usesOf(p.modules, t.Policies)
		module, isKnown := p.modules.reference(t.CueRef, field)
		isSure := t.Name != "" && !t.InputUnsure && !p.settings.overlays.Incomplete
		if isKnown && complete && isSure {
			out.specs = append(out.specs, moduleSpec{t, module, policies})
		}
	}
	return out
}

// references implements frontEnd.
func (m moduleFrontEnd) references() []reference {
	var out []reference
	for _, s := range m.specs {
		out = append(append(out, s.module), referencesOf(s.policies)...)
	}
	return out
}

// build implements frontEnd.
func (m moduleFrontEnd) build(ctx context.Context, b *builder) error {
	for _, s := range m.specs {
		built, ok := m.buildSpec(b, s)
		if !ok {
			continue
		}
		err := b.add(ctx, built, s.Transform)
		if err != nil {
			return err
		}
	}
	return nil
}

// buildSpec makes one spec. It returns false if the spec has mistakes.
func (m moduleFrontEnd) buildSpec(b *builder, s moduleSpec) (render.Spec, bool) {
	tree, fetched := b.modules.tree(s.module)
	policies, complete := evaluatePolicies(b.modules, s.policies)
	if !fetched || !complete {
		return render.Spec{}, false
	}

	// A required input of a spec without inputs is reported at the reference to the module.
	input := s.Input
	inputPath := s.InputPath()
	input.Pos = cmp.Or(input.Pos, s.CueRef.Pos, s.Pos)
	overlay := b.settings.inputs[s.Name].Value
	if overlay.Kind == object.KindMap {
		// A missing input is reported in the document, not in the environment.
		input.Kind = object.KindMap
		input = input.Merge(overlay)
	}
	switch {
	case m.docs.Packages[s.Name]:
		inputPath = nil
	case s.Instance != nil:
		inputPath = s.Instance.Append(object.Field("values"))
		checkVersion(b.found, s.Transform, tree)
	}

	// Timoni merges values files in a way of its own.
	var layers []object.Value
	if project.IsTimoni(tree.FS, tree.Dir) {
		input, layers = b.settings.overlays.ApplyTimoni(s.Name, input)
	} else {
		input = b.settings.overlays.Apply(s.Name, input)
	}

	// Attributes of the module get their values.
	module := b.modules.module(s.module, tree, b.runtime.overTags(s.Tags, tree))
	module.TagPos = s.TagPos
	var expressions []string
	if m.docs.Packages[s.Name] {
		expressions = b.opts.Expressions
	}
	return render.Spec{
		Evaluate: evaluate.Request{
			Spec: s.Name, Pos: s.Pos, Module: module, Input: input, Layers: layers, InputPath: inputPath,
			Context:  b.context(s.Name, s.Namespace, b.opts.Environment),
			Policies: joined(b.policies, policies),
			Limits:   b.opts.Limits, AllowEmpty: b.opts.AllowEmpty, Overlays: s.Overlays, Expressions: expressions,
		},
		DependsOn: s.DependsOn,
		Adopt:     s.Adopt,
		Gateway:   s.Kind == spec.KindGateway,
		Written:   s.Written,
		Source:    sourceOf(s.Name, "", tree),
		Policies:  b.policySources(s.Name, s.policies),
	}, true
}
