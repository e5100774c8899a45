// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload"
)

// shared returns the mistakes that concern all workloads, each once: the first in the order of specs
// stands for all.
func (c *compiler) shared(outcomes []outcome) Errors {
	var out Errors
	reported := map[string]bool{}
	reportOnce := func(what string, e *Error) {
		if !reported[what] {
			reported[what] = true
			out = append(out, e)
		}
	}
	routes := map[string]workload.Route{}
	for _, o := range outcomes {
		if o.compiled.Secret.IsValid() {
			reportOnce("store", noStore(o.compiled.Secret, c.req.Workloads.Config.Secrets))
		}
		if o.refused != nil {
			reportOnce("module", o.refused)
		}
		for _, r := range o.compiled.Routes {
			target := r.Host + r.Path
			if first, exists := routes[target]; exists {
				out = append(out, twoRoutes(first, r))
				continue
			}
			routes[target] = r
		}
	}
	return out
}

func noStore(pos object.Pos, secrets spec.Secrets) *Error {
	return &Error{
		Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: pos,
		Err: fmt.Errorf("secrets are read from the default %s %q, because no store is configured", secrets.StoreKind, secrets.StoreName),
		Hint: "set spec.workloads.secrets.store in " + spec.ProjectFile + ", for all environments or in each; " +
			"without a store, backend: kubernetes reads Secrets of the namespace",
	}
}

func twoRoutes(first, second workload.Route) *Error {
	return &Error{
		Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: second.Pos, Path: second.In,
		Err:   fmt.Errorf("two routes for %s%s: only one of them receives the requests", second.Host, second.Path),
		Hint:  "give them different hosts or paths",
		Notes: []object.Note{{Pos: first.Pos, Text: "the other route"}},
	}
}

// refused returns the mistake of a project whose module for workloads is made for something else:
// it rejects two or more fields that every workload has. Its other errors are then useless.
func (c *compiler) refused(s Spec, err error) *Error {
	module := c.req.Workloads.Config.Module
	isDefault := module.Type == spec.RefEmbedded && module.Ref == spec.DefaultWorkloadModule
	if err == nil || isDefault {
		return nil
	}
	var rejected Errors
	for _, e := range object.AsErrors(err, object.StageEvaluate) {
		if slices.Contains([]string{"kind", "containers", "serviceAccount"}, e.Path) {
			rejected = append(rejected, e)
		}
	}
	if len(rejected) < 2 {
		return nil
	}
	first := rejected.Sorted()[0]
	notes := []object.Note{{Pos: first.Pos, Text: fmt.Sprintf("%s: %s", first.Path, first.Err)}}
	return &Error{
		Stage: object.StageSpec, Pos: module.Pos, Path: "spec.workloads.module",
		Err:   fmt.Errorf("the module %q does not accept the input of a workload", s.Evaluate.Module.Label),
		Hint:  "start with a copy of the module " + spec.DefaultWorkloadModule + " and keep its #Input, or leave the field out",
		Notes: append(notes, first.Notes...),
	}
}

// unusedPatterns warns of patterns of allowSecrets that match no Secret of their spec.
func unusedPatterns(req Request, nodes []*object.Node, broken []string) (out Errors) {
	for _, s := range req.Specs {
		name := s.Evaluate.Spec
		patterns := req.AllowSecrets[name]
		if len(s.AllowSecretsPos) != len(patterns) || slices.Contains(broken, name) {
			continue
		}
		for i, pattern := range patterns {
			if !slices.ContainsFunc(nodes, func(n *object.Node) bool { return n.ID.Spec() == name && check.Allows(pattern, n.Object) }) {
				out = append(out, &Error{
					Stage: object.StageCheck, Severity: object.SeverityWarning, Pos: s.AllowSecretsPos[i],
					Err:  fmt.Errorf("allowSecrets: %q matches no Secret of the spec %q", pattern, name),
					Hint: "correct or remove it: a later Secret of such a name would be rendered with its data",
				})
			}
		}
	}
	return out
}
