// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
)

func (a commands) vetCommand() *cobra.Command {
	var flags command.ProjectFlags
	var format command.Choice
	cmd := &cobra.Command{
		Use:   "vet [PATH...|-]",
		Short: "Check specs without writing manifests",
		Long: `Check specs as render does, and print what was found: every mistake in specs, values,
modules and rendered objects, with the line to change. A project is checked as it is
and in each of its environments, unless --env names one.

Findings are the data of this command, and so go to standard output.
` + command.ProjectHelp + `

` + command.ExitCodes,
		Example: `  ropewalk vet shop
  ropewalk vet shop --env prod --strict
  ropewalk vet shop --format json | jq -r '.[].message'`,
		RunE: a.Run(func(ctx context.Context, args []string) error {
			return a.runVet(ctx, &flags, format.Value, args)
		}),
	}
	format = command.NewChoice("text", "json")
	format.Add(cmd, "format", "how to print findings; json is a list")
	flags.Add(cmd)
	return cmd
}

func (a commands) runVet(ctx context.Context, flags *command.ProjectFlags, format string, paths []string) error {
	v := vetted{commands: a, flags: flags, paths: paths}
	found, good, err := v.all(ctx)
	if err != nil {
		return err
	}
	out := a.Report()
	// Colours are for the stream of diagnostics only.
	out.JSON, out.Paint = format == "json", command.Paint{}
	if err := a.Findings(out, found); err != nil {
		return err
	}
	if err := found.Err(); err != nil {
		return errors.Join(command.ErrReported, err)
	}
	if out.JSON {
		return nil
	}
	return a.Print(good + "\n")
}
