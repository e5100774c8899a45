// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/draw"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

func (a commands) graphCommand() *cobra.Command {
	var flags command.ProjectFlags
	var format command.Choice
	var output string
	var specs []string
	cmd := &cobra.Command{
		Use:   "graph [PATH...|-]",
		Short: "Draw what comes before what",
		Long: `Draw the graph of a render: its waves, its objects, and the edges between them with
the reason for each. Objects are not checked against schemas here.

The formats dot and mermaid are for other tools; svg is a picture that any browser
shows. Without --format, the name of the file of -o says which: .svg, .dot, .gv, .mmd,
.mermaid, .json, .txt.
` + command.ProjectHelp + `

` + command.ExitCodes,
		Example: `  ropewalk graph shop
  ropewalk graph shop --spec api                 its objects, in the waves of the whole
  ropewalk graph shop -o shop.svg
  ropewalk graph shop --dialect flux --format mermaid
  ropewalk graph shop --format dot | dot -Tpng > shop.png
  ropewalk graph shop --format json | jq '.edges[] | select(.gating)'`,
		RunE: a.Run(func(ctx context.Context, args []string) error {
			flags.SkipSchemas = true
			return a.runGraph(ctx, &flags, specs, format.Value, output, args)
		}),
	}
	format = command.Choice{Words: []string{"text", "dot", "mermaid", "svg", "json"}}
	format.Add(cmd, "format", "how to draw it (default that of the name of -o, or text)")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write to; standard output where it is not given, or -")
	cmd.Flags().StringSliceVar(&specs, "spec", nil, "draw the objects of `NAME` alone, one of the specs; may be repeated")
	flags.Add(cmd)
	flags.AddLocalSources(cmd)
	a.CompleteSpecs(cmd, &flags)
	return cmd
}

func (a commands) runGraph(ctx context.Context, flags *command.ProjectFlags, specs []string, format, output string, paths []string) error {
	format, err := formatOf(output, format)
	if err != nil {
		return err
	}
	r, err := a.Render(ctx, flags, paths)
	if err != nil {
		return err
	}
	defer r.Close()
	a.Warn(r.Warnings)
	plan := r.Plan
	if len(specs) > 0 {
		if err := command.KnownSpecs(specs, r.SpecNames()); err != nil {
			return err
		}
		left := 0
		plan, left = r.Plan.Only(func(id object.ID) bool { return slices.Contains(specs, id.Spec()) })
		if left > 0 {
			a.Note("ropewalk: not drawn: %s to and from objects of other specs\n", command.Plural(left, "edge"))
		}
	}
	data, err := drawPlan(plan, format)
	if err != nil {
		return err
	}
	if output == "" || output == "-" {
		return a.Write(data)
	}
	return command.WriteFile(output, data)
}

// formatOf is the format of a file: the one that is given, or that of its name. A picture under
// the name of another format is a mistake.
func formatOf(output, given string) (string, error) {
	end := path.Ext(output)
	named := map[string]string{".svg": "svg", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid", ".json": "json", ".txt": "text"}[end]
	switch {
	case named == "" && given == "" && slices.Contains([]string{".png", ".pdf", ".jpg", ".jpeg"}, end):
		return "", command.Usagef("write .svg, or --format dot and run dot", "-o %s: %s is no format of a graph", output, end)
	case named != "" && given != "" && named != given:
		return "", command.Usagef("leave --format out, or change the name", "-o %s is the name of a file of the format %s, and --format is %s", output, named, given)
	}
	return cmp.Or(given, named, "text"), nil
}

func drawPlan(plan *order.Plan, format string) ([]byte, error) {
	switch format {
	case "dot":
		return draw.Dot(plan), nil
	case "mermaid":
		return draw.Mermaid(plan), nil
	case "svg":
		return draw.SVG(plan), nil
	case "json":
		return plan.Document().JSON()
	}
	return draw.Text(plan), nil
}
