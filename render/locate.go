// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/check/schemas"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// placeViolations returns the violations of the policies of a spec as errors at the user's lines.
func (c *compiler) placeViolations(ctx context.Context, s Spec, violations []evaluate.Violation) (Errors, error) {
	var queries []evaluate.Query
	for _, v := range violations {
		queries = append(queries, evaluate.Query{Node: v.Node, Path: v.Path})
	}
	origins, input, err := c.trace(ctx, s, queries)
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	var out Errors
	for i, v := range violations {
		e := &Error{
			Stage: object.StageCheck, Severity: v.Severity, Policy: v.Policy,
			Node: v.Node, Path: v.Path.String(), Err: errors.New(v.Message),
		}
		if v.Node == "" {
			e.Pos = input.NearestPos(v.Path)
			e.Path = s.Evaluate.InputPath.Append(v.Path...).String()
		}
		locate(e, s, origins[i])
		if v.Severity == object.SeverityError {
			e.Hint = howToLoosen(v.By, s.Evaluate.Policies)
			if strings.HasPrefix(v.PolicyPos.File, policyModule+"/") {
				e.Hint = strings.TrimSuffix(softens(v.Policy, s.Evaluate.Policies)+"; "+e.Hint, "; ")
			}
		}
		if v.PolicyPos.IsValid() {
			e.Notes = append(e.Notes, object.Note{Pos: v.PolicyPos, Text: "the policy is defined here"})
		}
		out = append(out, s.loosened(e, v.By))
	}
	return out, nil
}

// policyModule is the label of the module of policies that comes with Ropewalk.
const policyModule = embedded + "policies"

// softens returns the hint that makes a warning of a rule of the module of policies.
func softens(rule string, policies []evaluate.Policy) string {
	name := ""
	for _, p := range policies {
		switch {
		case p.Module.Label != policyModule:
		case name != "":
			return fmt.Sprintf("input: {rules: {%s: warning}} of the policy makes it a warning", rule) // It is one of several.
		default:
			name = " " + strconv.Quote(p.Name)
		}
	}
	return fmt.Sprintf("input: {rules: {%s: warning}} of the policy%s makes it a warning", rule, name)
}

// hintOnce keeps the hint of a rule of a policy only in the first of its errors.
func hintOnce(errs Errors) {
	seen := map[string]bool{}
	for _, e := range errs.Sorted() {
		if e.Policy == "" || e.Hint == "" {
			continue
		}
		if seen[e.Hint] {
			e.Hint = ""
		}
		seen[e.Hint] = true
	}
}

// check checks the nodes and places every finding at the user's line.
func (c *compiler) check(ctx context.Context, nodes []*object.Node) (Errors, error) {
	findings, err := c.checker(c.req).Check(ctx, nodes)
	if err != nil || len(findings) == 0 {
		return nil, err
	}

	// Trace the values that the findings are about.
	byID := make(map[object.ID]*object.Node, len(nodes))
	for _, n := range nodes {
		byID[n.ID] = n
	}
	queries := make([]evaluate.Query, len(findings))
	for i, f := range findings {
		queries[i] = evaluate.Query{Node: f.Node, Path: f.Path}
		if f.Rule == finding.RuleSecret && len(f.Path) == 0 {
			queries[i].Path = secretIn(byID[f.Node].Object)
		}
	}
	origins, err := c.origins(ctx, queries)
	if errors.Is(err, context.Canceled) {
		return nil, err
	}

	// Place each finding at its origin.
	specs := map[string]Spec{}
	for _, s := range c.req.Specs {
		specs[s.Evaluate.Spec] = s
	}
	out := make(Errors, len(findings))
	for i, f := range findings {
		out[i] = asError(f)
		if len(queries[i].Path) > len(f.Path) {
			out[i].Secret = true // Even a key may be a misplaced value.
			origins[i].InputPath = nil
		}
		// Mistakes in the schemas themselves belong to no spec.
		if s, ok := specs[f.Node.Spec()]; ok {
			if !origins[i].Module.IsValid() {
				origins[i].Module = byID[f.Node].Pos
			}
			locate(out[i], s, origins[i])
			if written := origins[i].Written; written != "" && strings.HasPrefix(out[i].Hint, finding.QuoteIt) {
				out[i].Hint = finding.QuoteIt + strconv.Quote(written)
			}
			usesChart := s.Evaluate.Component != nil && s.Evaluate.Component.Helm != nil
			if usesChart && f.Rule == finding.RuleAPIVersion && isCustom(byID[f.Node].Object) {
				out[i].Hint += "; where the chart asks for the APIs of the cluster, add that one to helm.apiVersions"
			}
			out[i].Notes = append(out[i].Notes, patched(s, byID[f.Node].Object, f.Path)...)
		}
	}
	return oncePerInput(out, origins), nil
}

// secretIn returns the path of the first value in a Secret. The message about the Secret is placed
// there, and not at another part of it.
func secretIn(o object.Object) object.Path {
	for _, list := range [...]string{"data", "stringData"} {
		values, _ := o[list].(map[string]any)
		for _, key := range object.SortedKeys(values) {
			text, isText := values[key].(string)
			isPlain := text != "" && !strings.HasPrefix(text, "ENC[")
			if !isText || isPlain {
				return object.Fields(list, key)
			}
		}
	}
	return nil
}

// oncePerInput leaves out repeated findings about the same part of an input: many objects have values
// from the defaults of a project.
func oncePerInput(errs Errors, origins []evaluate.Origin) (out Errors) {
	type mistake struct {
		pos  object.Pos
		text string
	}
	seen := map[mistake]bool{}
	for i, e := range errs {
		m := mistake{e.Pos, e.Err.Error()}
		if origins[i].Input.IsValid() && seen[m] {
			continue
		}
		seen[m] = true
		out = append(out, e)
	}
	return out
}

// isCustom reports whether the group of an object does not belong to Kubernetes itself.
func isCustom(o object.Object) bool {
	inGroup := func(api string) bool { return strings.HasPrefix(api, o.Group()+"/") }
	return strings.Contains(o.Group(), ".") && !slices.ContainsFunc(schemas.Served(""), inGroup)
}

// patched returns notes with the positions at which overlays of s patch the part of o at a path.
func patched(s Spec, o object.Object, path object.Path) (notes []object.Note) {
	if i := slices.IndexFunc(path, func(step object.Step) bool { return step.IsIndex }); i >= 0 {
		path = path[:i] // A patch has the items of a list in another order.
	}
	for _, overlay := range s.Evaluate.Overlays {
		if _, found := overlay.Patch.Lookup(path); found > 0 && overlay.Select.Matches(o) {
			notes = append(notes, object.Note{Pos: overlay.Patch.NearestPos(path), Text: "an overlay patches it here"})
		}
	}
	return notes
}

// Check checks nodes as a render of the request does. The findings have no positions. It returns an
// error only if the context is cancelled.
func (r Renderer) Check(ctx context.Context, req Request, nodes []*object.Node) (Errors, error) {
	findings, err := r.checker(req).Check(ctx, nodes)
	out := make(Errors, len(findings))
	for i, f := range findings {
		out[i] = asError(f)
	}
	return out, err
}

// HasSchemas reports whether the schemas of a version of Kubernetes are known, and returns the known
// versions, 1.OLDEST to 1.NEWEST. Objects for another version are checked against the nearest.
func HasSchemas(version string) (ok bool, oldest, newest int) {
	oldest, newest = schemas.Known()
	minor := schemas.Minor(version)
	return oldest <= minor && minor <= newest, oldest, newest
}

func (r Renderer) checker(req Request) *check.Checker {
	return check.New(check.Options{
		CRDs: req.CRDs, KubeVersion: req.KubeVersion, AllowSecrets: req.AllowSecrets,
		Engine: string(req.Emit.Dialect), Schemas: r.Schemas, SkipSchemas: req.SkipSchemas,
	})
}

// asError returns f as an error that has no position yet.
func asError(f check.Finding) *Error {
	return &Error{
		Stage: object.StageCheck, Severity: f.Severity, Node: f.Node,
		Path: f.Path.String(), Err: errors.New(f.Message), Hint: f.Hint,
	}
}

// Trace finds the origins of parts of the objects of a request. Origins are in the order of the
// queries; an unknown origin is zero. The origins that were found are returned even with an error.
//
// A workload is compiled again for it: keeping the results of all compilations would cost a large
// project a third of its memory, and few callers trace.
func (r Renderer) Trace(ctx context.Context, req Request, queries []evaluate.Query) ([]evaluate.Origin, error) {
	c, err := r.newCompiler(ctx, req)
	if err != nil {
		return make([]evaluate.Origin, len(queries)), err
	}
	return c.origins(ctx, queries)
}

// origins works like [Renderer.Trace] for the request of c.
func (c *compiler) origins(ctx context.Context, queries []evaluate.Query) ([]evaluate.Origin, error) {
	out := make([]evaluate.Origin, len(queries))
	bySpec := map[string][]int{}
	for i, q := range queries {
		bySpec[q.Node.Spec()] = append(bySpec[q.Node.Spec()], i)
	}
	var errs []error
	for _, s := range c.req.Specs {
		indexes := bySpec[s.Evaluate.Spec]
		group := make([]evaluate.Query, len(indexes))
		for i, q := range indexes {
			group[i] = queries[q]
		}
		origins, _, err := c.trace(ctx, s, group)
		errs = append(errs, err)
		for i, o := range origins {
			out[indexes[i]] = o
		}
	}
	return out, errors.Join(errs...)
}

// trace finds the origins of parts of the objects of s, and returns the input of its module. It
// returns an origin for each query, even with an error: an origin only makes a message better.
func (c *compiler) trace(ctx context.Context, s Spec, queries []evaluate.Query) ([]evaluate.Origin, object.Value, error) {
	out := make([]evaluate.Origin, len(queries))
	ofSpec := provision{request: s.Evaluate}
	if len(queries) == 0 {
		return out, ofSpec.request.Input, nil
	}

	// Provisioners make some of the objects of a workload.
	provisions := []provision{ofSpec}
	if s.Workload != nil {
		compiled, err := c.compile(ctx, s)
		if err != nil {
			return out, ofSpec.request.Input, err
		}
		provisions[0].request.Input = compiled.Input
		provisions = append(provisions, compiled.provisions...)
	}

	// The origin of a node is the last provision that made it, or the module of the spec.
	madeBy := map[object.ID]int{}
	for p := range provisions {
		for id := range provisions[p].nodes {
			madeBy[id] = p
		}
	}
	var errs []error

	// Each module answers the queries about its own objects.
	for p := range provisions {
		var group []evaluate.Query
		var indexes []int
		for i, q := range queries {
			if madeBy[q.Node] == p {
				group = append(group, q)
				indexes = append(indexes, i)
			}
		}
		if len(group) == 0 {
			continue
		}
		origins, err := c.Evaluator.Trace(ctx, provisions[p].request, group)
		errs = append(errs, err)
		if err == nil && len(origins) == len(group) {
			for i, o := range origins {
				out[indexes[i]] = o
			}
		}
		// A value that only the provisioner decides has the resource as its origin.
		for _, i := range indexes {
			if !out[i].Input.IsValid() {
				out[i].Input = provisions[p].nodes[queries[i].Node]
			}
		}
	}
	return out, provisions[0].request.Input, errors.Join(errs...)
}

// locateAll places mistakes in objects at the user's lines. It returns an error only if the context is
// cancelled.
func (c *compiler) locateAll(ctx context.Context, errs Errors, nodes []*object.Node) error {
	queries := make([]evaluate.Query, len(errs))
	for i, e := range errs {
		queries[i] = evaluate.Query{Node: e.Node, Path: object.ParsePath(e.Path)}
	}
	origins, err := c.origins(ctx, queries)
	if errors.Is(err, context.Canceled) {
		return err
	}
	specs := map[string]Spec{}
	made := map[object.ID]object.Pos{}
	for _, s := range c.req.Specs {
		specs[s.Evaluate.Spec] = s
	}
	for _, n := range nodes {
		made[n.ID] = n.Pos
	}
	for i, e := range errs {
		if s, ok := specs[e.Node.Spec()]; ok {
			if !origins[i].Module.IsValid() {
				origins[i].Module = made[e.Node]
			}
			locate(e, s, origins[i])
		}
	}
	return nil
}

// embedded is the prefix of the labels of modules that come with Ropewalk.
const embedded = "embedded:"

// locate moves an error to the line that can fix it: the input that the value was computed
// from, else the line of the user's own module, else the spec that chose a foreign
// module.
func locate(e *Error, s Spec, origin evaluate.Origin) {
	// The way to allow a Secret depends on the form of the spec.
	const allow = "allow this Secret in allowSecrets"
	switch path := s.Evaluate.InputPath; {
	case len(path) > 2 && path[0].Name == "bundle" && path[1].Name == "instances":
		e.Hint = strings.Replace(e.Hint, allow, `write @ropewalk(allowSecrets="NAME") in the instance `+strconv.Quote(path[2].Name), 1)
	case s.Evaluate.Pos.Line != 0 || s.Workload != nil:
	case s.Evaluate.Component != nil:
		e.Hint = strings.Replace(e.Hint, allow, "write a Component of this folder with allowSecrets: [NAME] in its spec", 1)
	default:
		hint := "write a Transform with cueRef: {type: path, ref: FOLDER} and allowSecrets: [NAME] in its spec"
		e.Hint = strings.Replace(e.Hint, allow, hint, 1)
	}

	// The input comes first, then the user's own module, then the spec.
	isOwn := origin.Module.IsValid() && !strings.HasPrefix(s.Evaluate.Module.Label, embedded)
	switch {
	case origin.Input.IsValid():
		e.Pos = origin.Input
	case !e.Pos.IsValid() && isOwn:
		e.Pos = origin.Module
		if s.Evaluate.Pos.Line > 0 { // Without a line, the spec is the folder of the module.
			e.Notes = append(e.Notes, object.Note{Pos: s.Evaluate.Pos, Text: "the spec that makes it is here"})
		}
		return
	case !e.Pos.IsValid():
		e.Pos = s.Evaluate.Pos
	}

	// The line of the module is worth a note, too.
	if origin.Module.IsValid() {
		text := "the module writes it here"
		if len(origin.InputPath) > 0 && s.Workload == nil {
			path := s.Evaluate.InputPath.Append(origin.InputPath...)
			text = fmt.Sprintf("the module writes it here, from %s", path)
		}
		e.Notes = append(e.Notes, object.Note{Pos: origin.Module, Text: text})
	}
}
