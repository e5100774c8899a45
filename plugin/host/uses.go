// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// use is the module of a spec, or that of a policy.
type use struct {
	reference
	policy spec.Policy
}

// usesOf are the modules of a spec: its own first, where it is not a component, then its
// policies.
func (l *loading) usesOf(t spec.Transform) ([]use, bool) {
	at := t.RefPath()
	switch {
	case l.packages[t.Name]:
		at = nil
	case t.Instance != nil:
		at = t.Instance.Append(object.Field("module"))
	}
	policies, more := l.uses(t.Policies)
	if isComponent(t) {
		return append([]use{}, policies...), more
	}
	w, ok := l.modules.reference(t.CueRef, at)
	return append([]use{{reference: w}}, policies...), ok && more && t.Name != "" && !t.InputUnsure && !l.overlays.Incomplete
}

func (l *loading) uses(policies []spec.Policy) ([]use, bool) {
	var out []use
	ok := true
	for i, p := range policies {
		w, good := l.modules.reference(p.CueRef, object.Fields("spec", "policies").Append(object.Index(i), object.Field("cueRef")))
		ok = ok && good
		out = append(out, use{reference: w, policy: p})
	}
	return out, ok
}

// joined is a followed by b; most specs have no policies of their own, and share a.
func joined(a, b []evaluate.Policy) []evaluate.Policy {
	if len(b) == 0 {
		return slices.Clip(a)
	}
	return slices.Concat(a, b)
}

// evaluatePolicies returns policies in the form that evaluate takes.
func (l *loading) evaluatePolicies(uses []use) ([]evaluate.Policy, bool) {
	var out []evaluate.Policy
	ok := true
	for _, u := range uses {
		tree, good := l.modules.tree(u.reference)
		if ok = ok && good; !good {
			continue
		}
		out = append(out, evaluate.Policy{
			Name: u.policy.Name, Module: l.modules.module(u.reference, tree, nil), Input: u.policy.Input, Pos: u.policy.Pos,
		})
	}
	return out, ok
}
