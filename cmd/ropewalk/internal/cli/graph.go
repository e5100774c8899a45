// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/units"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/draw"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

func (a commands) graphCommand() *cobra.Command {
	var flags command.ProjectFlags
	var format command.Choice
	var output, focus string
	var specs []string
	var recursive command.Recursive
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

With --recursive the nodes are what Argo CD or Flux apply of a repository: each unit waits for
those in its dependsOn, and comes after the one that makes it. --unit draws the objects of one.
` + command.ProjectHelp + `

` + command.ExitCodes,
		Example: `  ropewalk graph shop
  ropewalk graph shop --spec api                 its objects, in the waves of the whole
  ropewalk graph shop --focus Deployment/api     and what it has to do with it
  ropewalk graph -r . --env production           the units of a cluster
  ropewalk graph shop -o shop.svg
  ropewalk graph shop -o shop.html
  ropewalk graph shop --dialect flux --format mermaid
  ropewalk graph shop --format dot | dot -Tpng > shop.png
  ropewalk graph shop --format json | jq '.edges[] | select(.gating)'`,
		RunE: a.Run(func(ctx context.Context, args []string) error {
			flags.SkipSchemas = true
			return a.runGraphs(ctx, &flags, recursive, choice{specs, focus}, format.Value, output, args)
		}),
	}
	format = command.Choice{Words: []string{"text", "dot", "mermaid", "svg", "html", "json"}}
	format.Add(cmd, "format", "how to draw it (default that of the name of -o, or text)")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write to; standard output where it is not given, or -")
	cmd.Flags().StringSliceVar(&specs, "spec", nil, "draw the objects of `NAME` alone, one of the specs; may be repeated")
	cmd.Flags().StringVar(&focus, "focus", "", "draw `OBJECT`, what it waits for and what waits for it, as \"ropewalk explain\" takes it")
	cmd.MarkFlagsMutuallyExclusive("spec", "focus")
	recursive.Add(cmd, "draw the units of Argo CD or Flux at and below PATH, in place of objects")
	flags.Add(cmd)
	flags.AddLocalSources(cmd)
	flags.AddUnits(cmd)
	a.CompleteSpecs(cmd, &flags)
	return cmd
}

// choice selects the objects that are drawn; the zero value selects all of them.
type choice struct {
	specs []string
	focus string
}

// runGraphs draws the render of a project or a unit, or all units of a repository.
func (a commands) runGraphs(
	ctx context.Context, flags *command.ProjectFlags, recursive command.Recursive, chosen choice, format, output string, paths []string,
) error {
	// Find the units, if the flags ask for units.
	drawsUnits := bool(recursive) && flags.UnitName == ""
	if drawsUnits && (len(chosen.specs) > 0 || chosen.focus != "") {
		return command.Usagef("add --unit KIND/NAMESPACE/NAME", "--spec and --focus choose objects, and --recursive draws units")
	}
	found, err := units.Find(ctx, a.App, flags, recursive, paths)
	if err != nil {
		return err
	}
	defer found.Close()

	// Draw all units, a project, or the objects of one unit.
	switch {
	case drawsUnits:
		return a.drawUnits(flags, found, format, output)
	case found.Below == nil:
		return a.runGraph(ctx, flags, chosen, format, output, paths)
	case len(found.Below) > 1:
		return command.Usagef("name one with --env", "--unit %s is there in several clusters, and one is drawn", flags.UnitName)
	}
	for _, unit := range found.Below {
		err = a.runGraph(ctx, unit.Flags(*flags), chosen, format, output, []string{unit.Path})
	}
	return found.Finish(a.App, flags, err)
}

// drawUnits draws units, and reports their mistakes as errors.
func (a commands) drawUnits(flags *command.ProjectFlags, found *units.Found, format, output string) error {
	format, err := formatOf(output, format)
	if err != nil {
		return err
	}
	if len(found.Units) == 0 {
		hint := "leave out -r to draw the objects of a project"
		return command.Usagef(hint, "--recursive draws what Argo CD or Flux apply, and there is nothing of theirs")
	}
	plan, warnings, err := found.Plan()
	if err != nil {
		return err
	}
	found.Warnings = append(found.Warnings, warnings...)
	data, err := drawPlan(draw.Picture{Plan: plan, Title: plan.Dialect.Title}, format)
	if err == nil {
		err = a.writeGraph(output, data)
	}
	return found.Finish(a.App, flags, errors.Join(err, found.Problems().Err()))
}

// writeGraph writes a picture.
func (a commands) writeGraph(output string, data []byte) error {
	if output == "" || output == "-" {
		return a.Write(data)
	}
	return command.WriteFile(output, data)
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
	return a.writeGraph(output, data)
}

// choose reduces a picture to the chosen part of its plan.
func (a commands) choose(picture *draw.Picture, r command.Rendered, chosen choice) error {
	omitted := 0
	switch {
	case len(chosen.specs) > 0:
		if err := command.KnownSpecs(chosen.specs, r.SpecNames()); err != nil {
			return err
		}
		picture.Unfolded = true
		picture.Plan, omitted = r.Plan.Only(func(id object.ID) bool { return slices.Contains(chosen.specs, id.Spec()) })
		if omitted > 0 {
			a.Note("ropewalk: not drawn: %s to and from objects of other specs\n", printable.Count(omitted, "edge"))
		}
	case chosen.focus != "":
		node, err := findNode(r.Plan.Graph.Nodes, chosen.focus)
		if err != nil {
			return err
		}
		shown, related := draw.Around(r.Plan, node.ID, draw.MaxBoxes)
		picture.Plan, _ = r.Plan.Only(func(id object.ID) bool { return shown[id] })
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

// formatOf returns the format of a file: the format of --format, or the format that the name of the
// file ends with. A picture under the name of another format is a mistake.
func formatOf(output, format string) (string, error) {
	// Find the format that the name stands for.
	end := path.Ext(output)
	named := map[string]string{
		".svg": "svg", ".html": "html", ".htm": "html", ".json": "json", ".txt": "text",
		".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid",
	}[end]

	// Refuse a name and a format that do not fit.
	unsupported := slices.Contains([]string{".png", ".pdf", ".jpg", ".jpeg"}, end)
	bothGiven := named != "" && format != ""
	switch {
	case format == "" && unsupported:
		return "", command.Usagef("write .svg, or --format dot and run dot", "-o %s: %s is no format of a graph", output, end)
	case bothGiven && named != format:
		err := fmt.Errorf("-o %s is the name of a file of the format %s, and --format is %s", output, named, format)
		return "", command.Usagef("leave --format out, or change the name", "%w", err)
	}
	return cmp.Or(format, named, "text"), nil
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
