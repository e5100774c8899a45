// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Loosen loosens policies of s, whose policies are known. An override of a policy that s does not
// have, or that is not overridable, is returned as a mistake. A policy that s loosens already stays
// unchanged: an override for all specs of a project does not replace the override of a spec.
func (s *Spec) Loosen(overrides []spec.PolicyOverride) (mistakes Errors) {
	names := make([]string, len(s.Evaluate.Policies))
	for i, p := range s.Evaluate.Policies {
		names[i] = p.Name
	}
	for _, o := range overrides {
		fail := func(hint, format string, args ...any) {
			mistakes = append(mistakes, document.Mistake(o.Pos, o.Path.Append(object.Field("policy")), hint, format, args...))
		}
		i := slices.Index(names, o.Policy)
		switch {
		case i < 0 && len(names) == 0:
			fail("remove the override", "there is no policy %q: the project has none", o.Policy)
		case i < 0:
			fail(object.Suggest(o.Policy, names), "there is no policy %q", o.Policy)
		case !s.Evaluate.Policies[i].Overridable:
			fail("only a policy of the project with overridable: true can be loosened", "the policy %q is not overridable", o.Policy)
			mistakes[len(mistakes)-1].Notes = []object.Note{{Pos: s.Evaluate.Policies[i].Pos, Text: "the policy is defined here"}}
		case !slices.ContainsFunc(s.Loosened, func(own spec.PolicyOverride) bool { return own.Policy == o.Policy }):
			s.Loosened = append(s.Loosened, o)
		}
	}
	return mistakes
}

// loosened returns the finding of a policy under the overrides of s: an error becomes a warning, or
// any finding becomes a note, which records that it is ignored. Findings that change are copied,
// because a cache of results may share them.
func (s Spec) loosened(e *Error, policy string) *Error {
	i := slices.IndexFunc(s.Loosened, func(o spec.PolicyOverride) bool { return o.Policy == policy })
	if i < 0 {
		return e
	}
	o := s.Loosened[i]
	severity := object.SeverityWarning
	if o.Action == spec.ActionIgnore {
		severity = object.SeverityNote
	}
	if e.Severity >= severity {
		return e
	}
	out := *e
	out.Severity, out.Hint, out.Reason = severity, "", o.Reason
	out.Notes = append(slices.Clone(e.Notes), object.Note{Pos: o.Pos, Text: "the policy is loosened here: " + o.Reason})
	return &out
}

// loosenedUndecided returns the mistakes of policies that could not reach a verdict on s, under its
// overrides.
func (s Spec) loosenedUndecided(undecided Errors) Errors {
	out := make(Errors, len(undecided))
	for i, e := range undecided {
		out[i] = s.loosened(e, e.Policy)
	}
	return out
}

// recordLoosened returns a note for each policy that a spec loosens, whether the policy has findings or not.
func recordLoosened(specs []Spec) (out Errors) {
	for _, s := range specs {
		for _, o := range s.Loosened {
			effect := "loosened to a warning"
			if o.Action == spec.ActionIgnore {
				effect = "ignored"
			}
			out = append(out, &Error{
				Stage: object.StageCheck, Severity: object.SeverityNote, Pos: o.Pos, Policy: o.Policy, Reason: o.Reason,
				Err: fmt.Errorf("%s for %s: %w", effect, s.Evaluate.Spec, errors.New(o.Reason)),
			})
		}
	}
	return out
}

// howToLoosen returns the end of a hint for an error of a policy that the spec may loosen, or "" if
// it may not.
func howToLoosen(policy string, policies []evaluate.Policy) string {
	if !slices.ContainsFunc(policies, func(p evaluate.Policy) bool { return p.Name == policy && p.Overridable }) {
		return ""
	}
	return fmt.Sprintf("policyOverrides: [{policy: %s, action: warning, reason: WHY}] in the spec makes it a warning there", policy)
}
