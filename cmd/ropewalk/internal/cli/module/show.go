// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/cases"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/datasheet"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// formatValues is the format of show values.
const formatValues = "values"

// Show returns the command show, which is also module show.
func (a Commands) Show() *cobra.Command {
	var flags command.SourceFlags
	format := command.NewChoice("text", "json", "markdown", "html", "schema")
	var values bool
	cmd := &cobra.Command{
		Use: "show [MODULE]", Short: "Show what a module takes and makes",
		Long: `Show what a module takes: its inputs with their types, limits, defaults and docs, and the
types of resources of a module of provisioners. And what it makes: the objects by wave, of
its defaults, or of the first of its cases (test/*.yaml) where inputs are required.

  markdown  a page of documentation, with the graph as Mermaid
  html      a page in one file, with the picture
  schema    the JSON Schema of the input, for editors
  --values  a file of values to start from, as show values MODULE (a folder called values is
            ./values)
` + moduleHelp + "\n\n" + command.ExitCodes,
		Example: `  ropewalk show webservice
  ropewalk show values webservice > values.yaml
  ropewalk show provisioners
  ropewalk show ./modules/web --format html > web.html
  ropewalk show oci://ghcr.io/acme/modules/web:v1 --format schema`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			switch {
			case values && format.Value != "text":
				return command.Usagef("give one of them", "--values and --format %s exclude each other", format.Value)
			case values:
				return a.runShow(ctx, &flags, named(args), formatValues)
			}
			return a.runShow(ctx, &flags, named(args), format.Value)
		}),
	}
	format.Add(cmd, "format", "how to print it")
	cmd.Flags().BoolVar(&values, "values", false, "print a file of values to start from")
	flags.Add(cmd)
	cmd.AddCommand(a.showValues())
	return cmd
}

func (a Commands) showValues() *cobra.Command {
	var flags command.SourceFlags
	cmd := &cobra.Command{
		Use: "values [MODULE]", Short: "Print a file of values to start from",
		Long: `Print a file of the inputs of a module to start from, in YAML: those that have a default with
it, the others as comments, all with their types and docs.
` + moduleHelp + "\n\n" + command.ExitCodes,
		Example: `  ropewalk show values webservice > values.yaml
  ropewalk show values ./modules/web > values.yaml && ropewalk render ./modules/web --values values.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			return a.runShow(ctx, &flags, named(args), formatValues)
		}),
	}
	flags.Add(cmd)
	return cmd
}

func (a Commands) runShow(ctx context.Context, flags *command.SourceFlags, reference, format string) error {
	// Read the inputs of the module.
	a.JSON = format == "json"
	limits := command.DefaultLimits()
	m, err := a.openModule(ctx, flags, &limits, reference)
	if err != nil {
		return err
	}
	defer m.Close()
	inspection, err := m.inspect(ctx, nil)
	if err != nil {
		return err
	}
	m.Subject.Kind = inspection.Mark.Kind
	sheet := &datasheet.Sheet{Module: reference, What: kindInWords(inspection), Inputs: []datasheet.Input{}}
	sheet.Add(inspection.Inputs)

	// These formats show inputs alone.
	switch {
	case format == formatValues && m.Subject.Kind == evaluate.KindProvisioners:
		hint := "ropewalk show lists its types with their params"
		return command.Usagef(hint, "%s is a module of provisioners: workloads give params, and it takes no values", reference)
	case format == formatValues:
		return a.Print(sheet.Values())
	case format == "schema" && len(inspection.Schema) == 0:
		hint := "ropewalk show lists its inputs"
		return command.Usagef(hint, "%s has no JSON Schema: it takes no input, or one that is too large", reference)
	case format == "schema":
		var b bytes.Buffer
		if err := json.Indent(&b, inspection.Schema, "", "  "); err != nil {
			return err
		}
		return a.Write(b.Bytes())
	}

	// The other formats show the objects too.
	if err := a.fill(ctx, sheet, m); err != nil {
		return err
	}
	switch format {
	case "markdown":
		return a.Print(sheet.Markdown())
	case "html":
		data, err := sheet.HTML()
		if err != nil {
			return err
		}
		return a.Write(data)
	}
	return a.Outcome(format, sheet, sheet.Text())
}

// kindInWords describes the kind of a module.
func kindInWords(i *evaluate.Inspection) string {
	switch {
	case i.Mark.Kind == evaluate.KindProvisioners:
		return "a module of provisioners, which make the resources of workloads"
	case i.Mark.Kind == evaluate.KindPolicy:
		return "a policy, whose inputs are its parameters"
	case i.Flavour == evaluate.FlavourTimoni:
		return "a Timoni module, whose inputs are its values"
	case i.Flavour == evaluate.FlavourPlain:
		return "a plain CUE package, whose inputs are its fields that are not fixed"
	}
	return "a module of objects"
}

// fill adds the objects of the module, or a note with the reason why they are missing.
func (a Commands) fill(ctx context.Context, sheet *datasheet.Sheet, m underTest) error {
	// Provisioners make resources by their types.
	if m.Subject.Kind == evaluate.KindProvisioners {
		entries, err := evaluate.ListProvisioners(ctx, m.Evaluator, m.subject())
		if err != nil {
			return err
		}
		sheet.AddResources(entries)
		return nil
	}

	// The inputs are there already, and a policy makes no objects.
	if len(sheet.Inputs) == 0 {
		sheet.Notes = append(sheet.Notes, "There is nothing to set: the module takes no input.")
	}
	if m.Subject.Kind == evaluate.KindPolicy {
		return nil
	}

	// Render the defaults, or the first case if inputs are required.
	if err := a.readCases(&m); err != nil {
		return err
	}
	origin := "its defaults"
	subject := cases.Case{}
	if needed := sheet.Needed(); len(needed) > 0 {
		i := slices.IndexFunc(m.Cases, func(c cases.Case) bool { return len(c.Expect.Errors) == 0 })
		if i < 0 {
			note := "What it makes is not shown: %s must be set, and the module has no case (test/*.yaml) that sets it."
			sheet.Notes = append(sheet.Notes, fmt.Sprintf(note, strings.Join(needed, ", ")))
			return nil
		}
		origin = fmt.Sprintf("its case %q", m.Cases[i].Name)
		subject = m.Cases[i]
	}

	// A render that fails is a note.
	result, err := subject.Render(ctx, m.Subject)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		why := (*object.Secrets)(nil).Hide(reason(err))
		sheet.Notes = append(sheet.Notes, fmt.Sprintf("What it makes is not shown: with %s it does not render: %s.", origin, why))
		return nil
	}
	sheet.Render(origin, result.Plan)
	return nil
}
