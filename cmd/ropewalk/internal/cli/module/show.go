// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// showFlags are those of module show.
type showFlags struct {
	command.SourceFlags
	format command.Choice
}

func (a Commands) show() *cobra.Command {
	flags := showFlags{format: command.NewChoice("text", "json")}
	cmd := &cobra.Command{
		Use: "show [MODULE]", Short: "Show what a module takes",
		Long: `Show the inputs of a module: their paths, types, defaults and docs.
` + moduleHelp + "\n\n" + command.ExitCodes,
		Example: `  ropewalk module show
  ropewalk module show oci://ghcr.io/acme/modules/web:v1
  ropewalk module show embedded:webservice --format json`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			a.JSON = flags.format.Value == "json"
			m, err := a.open(ctx, &flags.SourceFlags, command.DefaultLimits(), argument(args))
			if err != nil {
				return err
			}
			defer m.Close()
			inputs, err := m.inputs(ctx)
			if err != nil {
				return err
			}
			out, rows := []input{}, [][]string{{"INPUT", "TYPE", "DEFAULT", "DESCRIPTION"}}
			for _, in := range inputs {
				one := shown(in)
				out = append(out, one)
				fallback := cmp.Or(one.Default, "-")
				if one.Required {
					fallback = "(required)"
				}
				rows = append(rows, []string{one.Path, cmp.Or(one.Type, "anything"), fallback, command.OneLine(strings.TrimSpace(one.Doc))})
			}
			return a.Outcome(flags.format.Value, out, command.Table(rows))
		}),
	}
	flags.format.Add(cmd, "format", "how to print it")
	flags.Add(cmd)
	return cmd
}

// input is an input of a module as data.
type input struct {
	Path     string `json:"path"`
	Type     string `json:"type,omitempty"`
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"`
	Doc      string `json:"doc,omitempty"`
}

func shown(in evaluate.Input) input {
	return input{Path: in.Path.String(), Type: in.Expected, Default: in.Default, Required: in.Required, Doc: in.Doc}
}

// inputs is what the module takes.
func (m opened) inputs(ctx context.Context) ([]evaluate.Input, error) {
	req := evaluate.Request{Spec: m.Request.Spec, Module: m.Request.Module, Describe: true, Limits: m.Request.Limits}
	result, err := m.Evaluator.Evaluate(ctx, req)
	return result.Inputs, err
}
