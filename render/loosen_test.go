// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/resultcache"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// judged is a spec of which the policy baseline, which is overridable, finds an error and a
// warning.
func judged(t *testing.T, module evaluate.Module) render.Spec {
	t.Helper()
	s := transform(t, "api", "image: nginx\nreplicas: 1")
	s.Evaluate.Policies = []evaluate.Policy{
		{Name: "baseline", Module: module, Overridable: true},
		{Name: "strict", Module: module, Pos: object.Pos{File: "ropewalk.yaml", Line: 9, Column: 7}},
	}
	return s
}

func override(policy, action string) spec.PolicyOverride {
	return spec.PolicyOverride{Policy: policy, Action: action, Reason: "moved in May", Pos: object.Pos{File: "api.yaml", Line: 7, Column: 3}, Path: object.Fields("spec", "policyOverrides").Append(object.Index(0))}
}

func TestWhatAPolicyFindsIsAsTheSpecLoosensIt(t *testing.T) {
	for action, want := range map[string][]string{
		"":                 {"error one replica is none", "warning the image has no tag"},
		spec.ActionWarning: {"warning one replica is none", "warning the image has no tag", "note loosened to a warning for api: moved in May"},
		spec.ActionIgnore:  {"note one replica is none", "note the image has no tag", "note ignored for api: moved in May"},
	} {
		s := judged(t, module("policies", policy))
		s.Evaluate.Policies = s.Evaluate.Policies[:1]
		if action != "" {
			require.Empty(t, s.Loosen([]spec.PolicyOverride{override("baseline", action)}))
		}
		result, err := renderer().Render(t.Context(), render.Request{Specs: []render.Spec{s}})
		require.Equal(t, action == "", err != nil, action)
		found := result.Warnings
		if err != nil {
			found = object.AsErrors(err, object.StageCheck)
		}
		var got []string
		for _, e := range found {
			got = append(got, e.Severity.String()+" "+e.Err.Error())
			require.Equal(t, action != "" && e.Err.Error() != "the image has no tag" || action == spec.ActionIgnore, e.Reason != "", e)
		}
		require.ElementsMatch(t, want, got, action)

		// A strict render makes errors of warnings alone.
		_, err = renderer().Render(t.Context(), render.Request{Specs: []render.Spec{s}, Strict: true})
		require.Equal(t, action != spec.ActionIgnore, err != nil, action)
	}
}

func TestAPolicyThatCannotJudgeIsLoosenedToo(t *testing.T) {
	s := judged(t, module("policies", `package policy
ropewalk: {apiVersion: "v1alpha1", kind: "Policy"}
subject: {...}
violations: [for _, o in subject.objects if o.kind == "Deployment" && o.spec.replicas > "two" {message: "no"}]
`))
	s.Evaluate.Policies = s.Evaluate.Policies[:1]
	render1 := func() (render.Result, error) {
		return renderer().Render(t.Context(), render.Request{Specs: []render.Spec{s}})
	}
	_, err := render1()
	require.ErrorContains(t, err, "policy baseline")
	require.Empty(t, s.Loosen([]spec.PolicyOverride{override("baseline", spec.ActionIgnore)}))
	result, err := render1()
	require.NoError(t, err)
	require.Len(t, result.Warnings.Notes(), 2)
}

func TestTheOverrideOfOneSpecChangesNoOtherOne(t *testing.T) {
	r := renderer()
	r.Evaluator = resultcache.Evaluator{Next: r.Evaluator, Results: resultcache.New(1 << 20)}
	loose := judged(t, module("policies", policy))
	loose.Evaluate.Policies = loose.Evaluate.Policies[:1]
	plain := loose
	require.Empty(t, loose.Loosen([]spec.PolicyOverride{override("baseline", spec.ActionIgnore)}))
	for range 2 { // The second one is from the cache.
		_, err := r.Render(t.Context(), render.Request{Specs: []render.Spec{loose}})
		require.NoError(t, err)
		_, err = r.Render(t.Context(), render.Request{Specs: []render.Spec{plain}})
		require.ErrorContains(t, err, "one replica is none")
	}
}

func TestAnOverrideThatCannotHoldIsAMistake(t *testing.T) {
	s := judged(t, module("policies", policy))
	require.Empty(t, s.Loosen([]spec.PolicyOverride{override("baseline", spec.ActionWarning)}))
	mistakes := s.Loosen([]spec.PolicyOverride{override("baselin", spec.ActionIgnore), override("strict", spec.ActionIgnore), override("baseline", spec.ActionIgnore)})
	require.Equal(t, `api.yaml:7:3: spec: spec.policyOverrides[0].policy: there is no policy "baselin" (did you mean "baseline"?)
api.yaml:7:3: spec: spec.policyOverrides[0].policy: the policy "strict" is not overridable (only a policy of the project with overridable: true can be loosened)`, mistakes.Error())
	require.Equal(t, 9, mistakes[1].Notes[0].Pos.Line)
	require.Equal(t, []spec.PolicyOverride{override("baseline", spec.ActionWarning)}, s.Loosened, "that of the spec itself stays")

	s.Evaluate.Policies = nil
	require.ErrorContains(t, s.Loosen([]spec.PolicyOverride{override("baseline", spec.ActionIgnore)}), "the project has none")
}
