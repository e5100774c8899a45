// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

func (a commands) explainCommand() *cobra.Command {
	var flags command.ProjectFlags
	var format command.Choice
	var path string
	cmd := &cobra.Command{
		Use:   "explain OBJECT [PATH...|-]",
		Short: "Say why an object is here, and why in that wave",
		Long: `Say of one object which line of which spec and which line of which module made it, what
it needs and what needs it, in which wave it is and which of its edges put it there.
With --path, say where a value in it comes from.

OBJECT is the id of a node (api/deployment), the part of it after the slash, or an
object: Deployment/api, Deployment.apps/api or Deployment/shop/api with a namespace.
` + command.ProjectHelp + `

` + command.ExitCodes,
		Example: `  ropewalk explain api/deployment shop
  ropewalk explain Deployment/api shop --dialect argocd
  ropewalk explain Deployment/api shop --path spec.replicas
  ropewalk explain api/deployment shop --format json | jq '.needs[].id'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name an object, such as web/deployment; \"ropewalk graph\" lists all of them")
			}
			return nil
		},
		RunE: a.Run(func(ctx context.Context, args []string) error {
			flags.SkipSchemas = true
			return a.runExplain(ctx, &flags, format.Value, path, args)
		}),
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		var ids []cobra.Completion
		for _, n := range a.ObjectsHere(cmd.Context(), &flags, nil) {
			ids = append(ids, cobra.CompletionWithDesc(string(n.ID), n.Object.Kind()+" "+n.Object.Name()))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
	format = command.NewChoice("text", "json")
	format.Add(cmd, "format", "how to print it")
	cmd.Flags().StringVar(&path, "path", "", "field of the object to explain, such as spec.replicas, or the end of its path:\ncontainers.0.image, containers.api.image")
	flags.Add(cmd)
	flags.AddLocalSources(cmd)
	return cmd
}

func (a commands) runExplain(ctx context.Context, flags *command.ProjectFlags, format, path string, args []string) error {
	r, err := a.Render(ctx, flags, args[1:])
	if err != nil {
		return err
	}
	defer r.Close()
	node, err := findNode(r.Plan.Graph.Nodes, args[0])
	if err != nil {
		return err
	}
	e := explain(r.Plan, node)
	module := r.Source(node.ID)
	e.Origin, e.Digest = module.Origin, module.Digest
	for _, s := range r.Request.Specs {
		for _, o := range s.Loosened {
			if s.Evaluate.Spec == node.ID.Spec() {
				e.Loosened = append(e.Loosened, loosened{Policy: o.Policy, Action: o.Action, Reason: (*object.Secrets)(nil).Hide(o.Reason), Pos: r.Place(o.Pos)})
			}
		}
	}
	if path != "" {
		e.Value, err = traceValue(ctx, r, node, path)
		if err != nil {
			return err
		}
	}
	return a.Outcome(format, e, e.text())
}

// traceValue returns where the part of n at path comes from.
func traceValue(ctx context.Context, r command.Rendered, n *object.Node, path string) (*valueOrigin, error) {
	at, value, err := findValue(n, path)
	if err != nil {
		return nil, err
	}
	out := &valueOrigin{Path: at.String(), Value: value}
	origins, err := render.Renderer{Evaluator: r.Evaluator}.Trace(ctx, r.Request, []evaluate.Query{{Node: n.ID, Path: at}})
	if err != nil {
		return nil, err
	}
	out.Input, out.Module = r.Place(origins[0].Input), r.Place(origins[0].Module)
	for _, s := range r.Request.Specs {
		if s.Evaluate.Spec == n.ID.Spec() {
			out.From, out.Values = madeBy(s.Evaluate.Component)
		}
		// The input of a workload's module is none that its user knows.
		if s.Evaluate.Spec == n.ID.Spec() && out.Input.IsValid() && s.Workload == nil {
			out.InputPath = s.Evaluate.InputPath.Append(origins[0].InputPath...).String()
		}
	}
	return out, nil
}

// madeBy returns what makes the objects of a component, and the positions of values of its chart.
// Which of them a template reads is known to Helm alone.
func madeBy(c *spec.Component) (from string, values []object.Pos) {
	switch {
	case c == nil:
		return "", nil
	case c.Kustomize != nil:
		return "kustomization", nil
	case c.Helm == nil:
		return "manifests", nil
	}
	for _, file := range c.Helm.ValuesFiles {
		values = append(values, object.Pos{File: file.Text})
	}
	for _, m := range c.Helm.Values.Members { // Overlays are merged: the first line of each file.
		if !slices.ContainsFunc(values, func(p object.Pos) bool { return p.File == m.Pos.File }) {
			values = append(values, m.Pos)
		}
	}
	for _, set := range c.Helm.Sets {
		values = append(values, set.Pos)
	}
	return "chart", values
}

// findValue returns the field that text means: its path, or the end of its path if only one field
// ends so. An item of a list has its number, as [0] or .0, or its name.
func findValue(n *object.Node, text string) (object.Path, any, error) {
	asked := object.ParsePath(text)
	root := map[string]any(n.Object)
	if at, value, ok := valueAt(root, asked); ok {
		return at, value, nil
	}
	var found []object.Path
	eachField(root, nil, func(at object.Path, v any) {
		if rest, _, ok := valueAt(v, asked); ok {
			found = append(found, slices.Concat(at, rest))
		}
	})
	switch len(found) {
	case 1:
		at, value, _ := valueAt(root, found[0])
		return at, value, nil
	case 0:
		return nil, nil, command.Usagef(fieldsBeside(root, asked), "--path %s: %s has no such field", text, n.ID)
	}
	const most = 5
	names := make([]string, 0, most)
	for _, at := range found[:min(most, len(found))] {
		names = append(names, at.String())
	}
	return nil, nil, command.Usagef("write one of them whole: "+strings.Join(names, ", "), "--path %s: %s has %d such fields", text, n.ID, len(found))
}

// eachField calls do with each map and list below v, in the order of their paths.
func eachField(v any, at object.Path, do func(object.Path, any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range object.SortedKeys(v) {
			if below := at.Append(object.Field(name)); isBranch(v[name]) {
				do(below, v[name])
				eachField(v[name], below, do)
			}
		}
	case []any:
		for i, item := range v {
			if below := at.Append(object.Index(i)); isBranch(item) {
				do(below, item)
				eachField(item, below, do)
			}
		}
	}
}

func isBranch(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// fieldsBeside names the fields where a path leads nowhere any more.
func fieldsBeside(root map[string]any, path object.Path) string {
	for n := len(path) - 1; n >= 0; n-- {
		at, v, ok := valueAt(root, path[:n])
		if fields, isMap := v.(map[string]any); ok && isMap {
			hint := object.Suggest(path[n].Name, object.SortedKeys(fields))
			if n > 0 {
				hint += " (of " + at.String() + ")"
			}
			return hint
		}
	}
	return ""
}

// valueAt follows path into a value. The path that it returns has numbers in place of the names of
// items. The last result is false if the path leads nowhere.
func valueAt(v any, path object.Path) (object.Path, any, bool) {
	var out object.Path
	for _, s := range path {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[s.Name]
			if !ok || s.IsIndex {
				return nil, nil, false
			}
			v = next
			out = append(out, s)
		case []any:
			i := itemOf(at, s)
			if i < 0 || i >= len(at) {
				return nil, nil, false
			}
			v = at[i]
			out = append(out, object.Index(i))
		default:
			return nil, nil, false
		}
	}
	return out, v, true
}

// itemOf returns the number of the item of a list that a step means, or -1 if there is none.
func itemOf(list []any, s object.Step) int {
	if s.IsIndex {
		return s.Index
	}
	if i, err := strconv.Atoi(s.Name); err == nil {
		return i
	}
	return slices.IndexFunc(list, func(item any) bool {
		fields, ok := item.(map[string]any)
		return ok && fields["name"] == s.Name
	})
}
