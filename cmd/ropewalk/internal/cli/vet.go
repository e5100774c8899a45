// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) vetCommand() *cobra.Command {
	var flags projectFlags
	var format choice
	cmd := &cobra.Command{
		Use:   "vet [PATH...|-]",
		Short: "Check specs without writing manifests",
		Long: `Check specs as render does, and print what was found: every mistake in specs, values,
modules and rendered objects, with the line to change.

Findings are the data of this command, and so go to standard output.
` + projectHelp + `

` + exitCodes,
		Example: `  ropewalk vet shop
  ropewalk vet shop --env prod --strict
  ropewalk vet shop --format json | jq -r '.[].message'`,
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.runVet(ctx, &flags, format.value, args)
		}),
	}
	format = newChoice("text", "json")
	format.add(cmd, "format", "how to print findings; json is a list")
	flags.add(cmd)
	return cmd
}

func (a *app) runVet(ctx context.Context, flags *projectFlags, format string, paths []string) error {
	r, err := a.render(ctx, flags, paths)
	out := a.report()
	// Colours are for the stream of diagnostics only.
	out.json, out.paint = format == "json", paint{}
	if err != nil {
		found, ok := isFindings(err)
		if !ok || ctx.Err() != nil {
			return err
		}
		if err := a.findings(out, found); err != nil {
			return err
		}
		return errors.Join(errReported, err)
	}
	defer r.close()
	if err := a.findings(out, r.Warnings); err != nil || out.json {
		return err
	}
	return a.print(fmt.Sprintf("good: %s, %s, %s\n", plural(len(r.Request.Specs), "spec"),
		plural(len(r.Plan.Graph.Nodes), "object"), plural(len(r.Plan.Waves), "wave")))
}
