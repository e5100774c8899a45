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
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

func (a commands) graphCommand() *cobra.Command {
	var flags command.ProjectFlags
	var format command.Choice
	var output, focus string
	var specs []string
	cmd := &cobra.Command{
		Use:   "graph [PATH...|-]",
		Short: "Draw what comes before what",
		Long: `Draw the graph of a render: its waves, its objects, and the edges between them with
the reason for each. Objects are not checked against schemas here.

The formats dot and mermaid are for other tools; svg is a picture that any browser
shows, and html a page of its own with a search. Pictures of more than 60 objects have a
box for each spec, or for specs that begin alike, which the page unfolds; --spec and
--focus draw the objects. Without --format, the name of the file of -o says which: .svg,
.html, .dot, .gv, .mmd, .mermaid, .json, .txt.

--focus draws one object, what it waits for and what waits for it. It takes the OBJECT of
"ropewalk explain": api/deployment, Deployment/api.
` + command.ProjectHelp + `

` + command.ExitCodes,
		Example: `  ropewalk graph shop
  ropewalk graph shop --spec api                 its objects, in the waves of the whole
  ropewalk graph shop --focus Deployment/api     and what it has to do with it
  ropewalk graph shop -o shop.svg
  ropewalk graph shop -o shop.html
  ropewalk graph shop --dialect flux --format mermaid
  ropewalk graph shop --format dot | dot -Tpng > shop.png
  ropewalk graph shop --format json | jq '.edges[] | select(.gating)'`,
		RunE: a.Run(func(ctx context.Context, args []string) error {
			flags.SkipSchemas = true
			return a.runGraph(ctx, &flags, choice{specs, focus}, format.Value, output, args)
		}),
	}
	format = command.Choice{Words: []string{"text", "dot", "mermaid", "svg", "html", "json"}}
	format.Add(cmd, "format", "how to draw it (default that of the name of -o, or text)")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write to; standard output where it is not given, or -")
	cmd.Flags().StringSliceVar(&specs, "spec", nil, "draw the objects of `NAME` alone, one of the specs; may be repeated")
	cmd.Flags().StringVar(&focus, "focus", "", "draw `OBJECT`, what it waits for and what waits for it, as \"ropewalk explain\" takes it")
	cmd.MarkFlagsMutuallyExclusive("spec", "focus")
	flags.Add(cmd)
	flags.AddLocalSources(cmd)
	a.CompleteSpecs(cmd, &flags)
	return cmd
}

// choice is which objects are drawn; all where it is empty.
type choice struct {
	specs []string
	focus string
}

func (a commands) runGraph(ctx context.Context, flags *command.ProjectFlags, chosen choice, format, output string, paths []string) error {
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
	picture := draw.Picture{Plan: r.Plan, Title: titleOf(r, flags.Environment), Calls: r.Calls}
	if err := a.choose(&picture, r, chosen); err != nil {
		return err
	}
	data, err := drawPlan(picture, format)
	if err != nil {
		return err
	}
	if output == "" || output == "-" {
		return a.Write(data)
	}
	return command.WriteFile(output, data)
}

// choose makes a picture one of the chosen part of its plan.
func (a commands) choose(picture *draw.Picture, r command.Rendered, chosen choice) error {
	left := 0
	switch {
	case len(chosen.specs) > 0:
		if err := command.KnownSpecs(chosen.specs, r.SpecNames()); err != nil {
			return err
		}
		picture.Unfolded = true
		picture.Plan, left = r.Plan.Only(func(id object.ID) bool { return slices.Contains(chosen.specs, id.Spec()) })
		if left > 0 {
			a.Note("ropewalk: not drawn: %s to and from objects of other specs\n", printable.Count(left, "edge"))
		}
	case chosen.focus != "":
		node, err := findNode(r.Plan.Graph.Nodes, chosen.focus)
		if err != nil {
			return err
		}
		near, related := draw.Around(r.Plan, node.ID, draw.MaxBoxes)
		picture.Plan, _ = r.Plan.Only(func(id object.ID) bool { return near[id] })
		picture.Focus = node.ID
		picture.Title += ": " + string(node.ID)
		if related > draw.MaxBoxes {
			a.Note("ropewalk: drawn: the neighbours of %s alone, of %d objects that it waits for or that wait for it\n", node.ID, related-1)
		}
	}
	return nil
}

// titleOf returns the title of a picture.
func titleOf(r command.Rendered, environment string) string {
	title := r.Name
	if environment != "" {
		title += ", " + environment
	}
	return title + ", " + r.Plan.Dialect.Title
}

// formatOf returns the format of a file: the given one, or that of its name. A picture under the
// name of another format is a mistake.
func formatOf(output, given string) (string, error) {
	end := path.Ext(output)
	named := map[string]string{".svg": "svg", ".html": "html", ".htm": "html", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid", ".json": "json", ".txt": "text"}[end]
	switch {
	case named == "" && given == "" && slices.Contains([]string{".png", ".pdf", ".jpg", ".jpeg"}, end):
		return "", command.Usagef("write .svg, or --format dot and run dot", "-o %s: %s is no format of a graph", output, end)
	case named != "" && given != "" && named != given:
		return "", command.Usagef("leave --format out, or change the name", "-o %s is the name of a file of the format %s, and --format is %s", output, named, given)
	}
	return cmp.Or(given, named, "text"), nil
}

func drawPlan(p draw.Picture, format string) ([]byte, error) {
	switch format {
	case "dot":
		return p.Dot(), nil
	case "mermaid":
		return p.Mermaid(), nil
	case "svg":
		return p.SVG(), nil
	case "html":
		return p.HTML(), nil
	case "json":
		return p.Plan.Document().JSON()
	}
	return draw.Text(p.Plan), nil
}
