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

// hintOnce leaves the hint of a rule of a policy with the first of its errors.
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

	// Ask where the values come from that the findings are about.
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
			out[i].Secret = true // Even a key may be a value in the wrong place.
			origins[i].InputPath = nil
		}
		// What is wrong with the schemas themselves belongs to no spec.
		if s, ok := specs[f.Node.Spec()]; ok {
			if !origins[i].Module.IsValid() {
				origins[i].Module = byID[f.Node].Pos
			}
			locate(out[i], s, origins[i])
			if written := origins[i].Written; written != "" && strings.HasPrefix(out[i].Hint, finding.QuoteIt) {
				out[i].Hint = finding.QuoteIt + strconv.Quote(written)
			}
			if c := s.Evaluate.Component; c != nil && c.Helm != nil && f.Rule == finding.RuleAPIVersion && isCustom(byID[f.Node].Object) {
				out[i].Hint += "; where the chart asks for the APIs of the cluster, add that one to helm.apiVersions"
			}
			out[i].Notes = append(out[i].Notes, patched(s, byID[f.Node].Object, f.Path)...)
		}
	}
	return oncePerInput(out, origins), nil
}

// secretIn returns the path of the first value that a Secret holds: the message about the Secret is
// there, and not where another part of it comes from.
func secretIn(o object.Object) object.Path {
	for _, list := range [...]string{"data", "stringData"} {
		values, _ := o[list].(map[string]any)
		for _, key := range object.SortedKeys(values) {
			if text, isText := values[key].(string); !isText || text != "" && !strings.HasPrefix(text, "ENC[") {
				return object.Fields(list, key)
			}
		}
	}
	return nil
}

// oncePerInput leaves out the findings that repeat one about the same part of an input: many
// objects have what the defaults of a project say.
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

// isCustom reports whether the group of an object is none of Kubernetes itself.
func isCustom(o object.Object) bool {
	return strings.Contains(o.Group(), ".") && !slices.ContainsFunc(schemas.Served(""), func(api string) bool { return strings.HasPrefix(api, o.Group()+"/") })
}

// patched returns notes of where the overlays of s patch the part of o at a path.
func patched(s Spec, o object.Object, at object.Path) (notes []object.Note) {
	if i := slices.IndexFunc(at, func(step object.Step) bool { return step.IsIndex }); i >= 0 {
		at = at[:i] // A patch has the items of a list in another order.
	}
	for _, overlay := range s.Evaluate.Overlays {
		if _, found := overlay.Patch.Lookup(at); found > 0 && overlay.Select.Matches(o) {
			notes = append(notes, object.Note{Pos: overlay.Patch.NearestPos(at), Text: "an overlay patches it here"})
		}
	}
	return notes
}

// Check checks nodes as a render of the request does. What it finds has no positions; the
// error is only that of a cancelled context.
func (r Renderer) Check(ctx context.Context, req Request, nodes []*object.Node) (Errors, error) {
	findings, err := r.checker(req).Check(ctx, nodes)
	out := make(Errors, len(findings))
	for i, f := range findings {
		out[i] = asError(f)
	}
	return out, err
}

// HasSchemas reports whether the schemas of a version of Kubernetes are known, and otherwise
// which are: 1.OLDEST to 1.NEWEST. Objects for another version are judged by the nearest.
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

// Trace resolves where parts of the objects of a request come from. Origins are in the order of the
// queries; one that is not known is zero. What can be traced is returned even with an error.
//
// A workload is compiled once more for it: to keep what every workload compiled to costs a large
// project a third of its memory, and few callers trace.
func (r Renderer) Trace(ctx context.Context, req Request, queries []evaluate.Query) ([]evaluate.Origin, error) {
	c, err := r.newCompiler(ctx, req)
	if err != nil {
		return make([]evaluate.Origin, len(queries)), err
	}
	return c.origins(ctx, queries)
}

// origins does what [Renderer.Trace] does, for the request of c.
func (c *compiler) origins(ctx context.Context, queries []evaluate.Query) ([]evaluate.Origin, error) {
	out := make([]evaluate.Origin, len(queries))
	bySpec := map[string][]int{}
	for i, q := range queries {
		bySpec[q.Node.Spec()] = append(bySpec[q.Node.Spec()], i)
	}
	var errs []error
	for _, s := range c.req.Specs {
		at := bySpec[s.Evaluate.Spec]
		own := make([]evaluate.Query, len(at))
		for i, q := range at {
			own[i] = queries[q]
		}
		origins, _, err := c.trace(ctx, s, own)
		errs = append(errs, err)
		for i, o := range origins {
			out[at[i]] = o
		}
	}
	return out, errors.Join(errs...)
}

// trace resolves where parts of the objects of s come from, and which input its module was
// given. There is one origin for each query, whatever the error: an origin only makes a
// message better.
func (c *compiler) trace(ctx context.Context, s Spec, queries []evaluate.Query) ([]evaluate.Origin, object.Value, error) {
	out := make([]evaluate.Origin, len(queries))
	own := provision{request: s.Evaluate}
	if len(queries) == 0 {
		return out, own.request.Input, nil
	}

	// Provisioners make some of the objects of a workload.
	provisions := []provision{own}
	if s.Workload != nil {
		compiled, err := c.compile(ctx, s)
		if err != nil {
			return out, own.request.Input, err
		}
		provisions[0].request.Input = compiled.Input
		provisions = append(provisions, compiled.provisions...)
	}

	// The last provision that made a node is its origin, the module of the spec where
	// none did.
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
		var at []int
		for i, q := range queries {
			if madeBy[q.Node] == p {
				group = append(group, q)
				at = append(at, i)
			}
		}
		if len(group) == 0 {
			continue
		}
		origins, err := c.Evaluator.Trace(ctx, provisions[p].request, group)
		errs = append(errs, err)
		if err == nil && len(origins) == len(group) {
			for i, o := range origins {
				out[at[i]] = o
			}
		}
		// A value that the provisioner alone decides is there because of the resource.
		for _, i := range at {
			if !out[i].Input.IsValid() {
				out[i].Input = provisions[p].nodes[queries[i].Node]
			}
		}
	}
	return out, provisions[0].request.Input, errors.Join(errs...)
}

// locateAll places mistakes in objects at the user's lines. The error is only that of a cancelled
// context.
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

// locate puts an error where it can be fixed: at the input that the value was computed
// from, else at the line of the user's own module, else at the spec that chose a module
// of others.
func locate(e *Error, s Spec, origin evaluate.Origin) {
	// How a Secret is allowed depends on how the spec is written.
	switch at := s.Evaluate.InputPath; {
	case len(at) > 2 && at[0].Name == "bundle" && at[1].Name == "instances":
		e.Hint = strings.Replace(e.Hint, "allow this Secret in allowSecrets", `write @ropewalk(allowSecrets="NAME") in the instance `+strconv.Quote(at[2].Name), 1)
	case s.Evaluate.Pos.Line != 0 || s.Workload != nil:
	case s.Evaluate.Component != nil:
		e.Hint = strings.Replace(e.Hint, "allow this Secret in allowSecrets", "write a Component of this folder with allowSecrets: [NAME] in its spec", 1)
	default:
		e.Hint = strings.Replace(e.Hint, "allow this Secret in allowSecrets", "write a Transform with cueRef: {type: path, ref: FOLDER} and allowSecrets: [NAME] in its spec", 1)
	}

	// The input comes first, then the user's own module, then the spec.
	own := origin.Module.IsValid() && !strings.HasPrefix(s.Evaluate.Module.Label, embedded)
	switch {
	case origin.Input.IsValid():
		e.Pos = origin.Input
	case !e.Pos.IsValid() && own:
		e.Pos = origin.Module
		if s.Evaluate.Pos.Line > 0 { // Else the spec is the folder of the module.
			e.Notes = append(e.Notes, object.Note{Pos: s.Evaluate.Pos, Text: "the spec that makes it is here"})
		}
		return
	case !e.Pos.IsValid():
		e.Pos = s.Evaluate.Pos
	}

	// The line of the module is worth a note, whatever the place is.
	if origin.Module.IsValid() {
		text := "the module writes it here"
		if len(origin.InputPath) > 0 && s.Workload == nil {
			path := s.Evaluate.InputPath.Append(origin.InputPath...)
			text = fmt.Sprintf("the module writes it here, from %s", path)
		}
		e.Notes = append(e.Notes, object.Note{Pos: origin.Module, Text: text})
	}
}
