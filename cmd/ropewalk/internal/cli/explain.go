// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
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
	format = command.NewChoice("text", "json")
	format.Add(cmd, "format", "how to print it")
	cmd.Flags().StringVar(&path, "path", "", "field of the object to explain, such as spec.replicas")
	flags.Add(cmd)
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
	if path != "" {
		if e.Value, err = traceValue(ctx, r, node, path); err != nil {
			return err
		}
	}
	return a.Outcome(format, e, e.text())
}

// traceValue says where the part of n at path comes from.
func traceValue(ctx context.Context, r command.Rendered, n *object.Node, path string) (*valueOrigin, error) {
	at := object.ParsePath(path)
	value, ok := valueAt(n.Object, at)
	if !ok {
		return nil, command.Usagef("", "--path %s: %s has no such field", path, n.ID)
	}
	out := &valueOrigin{Path: at.String(), Value: value}
	origins, err := render.Renderer{Evaluator: r.Evaluator}.Trace(ctx, r.Request, []evaluate.Query{{Node: n.ID, Path: at}})
	if err != nil {
		return nil, err
	}
	out.Input, out.Module = origins[0].Input, origins[0].Module
	for _, s := range r.Request.Specs {
		// The input of a workload's module is none that its user knows.
		if s.Evaluate.Spec == n.ID.Spec() && out.Input.IsValid() && s.Workload == nil {
			out.InputPath = s.Evaluate.InputPath.Append(origins[0].InputPath...).String()
		}
	}
	return out, nil
}

// valueAt follows path into an object.
func valueAt(o object.Object, path object.Path) (any, bool) {
	var v any = map[string]any(o)
	for _, s := range path {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[s.Name]
			if !ok || s.IsIndex {
				return nil, false
			}
			v = next
		case []any:
			if !s.IsIndex || s.Index >= len(at) {
				return nil, false
			}
			v = at[s.Index]
		default:
			return nil, false
		}
	}
	return v, true
}
