// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/ci"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/units"
	"github.com/ropewalk/ropewalk/render/object"
)

func (a commands) vetCommand() *cobra.Command {
	var flags command.ProjectFlags
	var format command.Choice
	var recursive command.Recursive
	cmd := &cobra.Command{
		Use:   "vet [PATH...|-]",
		Short: "Check specs without writing manifests",
		Long: `Check specs as render does, and print what was found: every mistake in specs, values,
modules and rendered objects, with the line to change. A project is checked as it is
and in each of its environments, unless --env names one.

With --recursive also what Argo CD or Flux apply of a repository is checked. What a unit
needs of the cluster alone, or of a plugin, is a warning; --strict makes it an error.

Findings are the data of this command, and so go to standard output.
` + command.ProjectHelp + `

` + command.ExitCodes,
		Example: `  ropewalk vet shop
  ropewalk vet shop --env prod --strict
  ropewalk vet -r .                    every project and unit of a repository
  ropewalk vet shop --format json | jq -r '.[].message'
  ropewalk vet shop --format sarif > vet.sarif`,
		RunE: a.Run(func(ctx context.Context, args []string) error {
			return a.runVet(ctx, &flags, format.Value, recursive, args)
		}),
	}
	format = command.NewChoice("text", "json", "github", "junit", "sarif")
	format.Add(cmd, "format", "how to print findings: json is a list, github annotates the lines of a\nchange, junit is for CI systems, sarif for code scanning")
	recursive.Add(cmd, "check each project, and each unit of Argo CD or Flux, at and below PATH on its own")
	flags.Add(cmd)
	flags.AddLocalSources(cmd)
	flags.AddUnits(cmd)
	return cmd
}

func (a commands) runVet(ctx context.Context, flags *command.ProjectFlags, format string, recursive command.Recursive, paths []string) error {
	// Find the projects and units.
	found, err := units.Find(ctx, a.App, flags, recursive, paths)
	if err != nil {
		return err
	}
	defer found.Close()

	// Check each project, or all paths at once.
	findings := object.Errors{}
	var results []ci.Result
	var good []string
	check := func(item command.Below, paths []string) error {
		v := vetted{commands: a, flags: item.Flags(*flags), paths: paths, optional: item.Optional, unit: item.Unit != nil}
		mistakes, summary, err := v.checkAll(ctx)
		nothing := summary == "" && len(mistakes) == 0
		if err != nil || nothing {
			return err
		}
		findings = append(findings, mistakes...)
		results = append(results, resultsOf(mistakes, item, paths)...)
		if item.Path != "" {
			summary = item.Path + ": " + summary
		}
		good = append(good, summary)
		return nil
	}
	if err := a.Each(found.Below, paths, check); err != nil {
		return err
	}
	missing := found.Warnings
	if flags.Strict {
		missing = command.Raised(missing)
	}
	findings = append(findings, missing...).Sorted()
	results = append(results, ci.Of(missing, "")...)

	// Print the findings as data.
	if err := a.printFindings(format, findings, results, strings.Join(good, "; ")); err != nil {
		return err
	}
	text := found.Summary()
	mistakes := findings.Err()
	if mistakes == nil {
		text = strings.Join(good, "\n") + "\n" + text
	} else {
		mistakes = errors.Join(command.ErrReported, mistakes)
	}
	if format != "text" {
		return mistakes
	}
	return errors.Join(a.Print(text), mistakes)
}

// resultsOf returns the findings of a project, or of paths.
func resultsOf(findings object.Errors, item command.Below, paths []string) []ci.Result {
	folder := item.Folder()
	if folder == "" && len(paths) > 0 {
		folder = paths[0]
	}
	return ci.Of(findings, folder)
}

// printFindings writes findings in a format.
func (a commands) printFindings(format string, findings object.Errors, results []ci.Result, good string) error {
	if format == "text" || format == "json" {
		out := a.Report()
		// Colours are for the stream of diagnostics only.
		out.JSON = format == "json"
		out.Paint = command.Paint{}
		return a.Findings(out, findings)
	}
	var data []byte
	var err error
	switch format {
	case "github":
		data = ci.GitHub(results)
	case "junit":
		data, err = ci.JUnit("ropewalk vet", good, results)
	default:
		data, err = ci.SARIF(process.CurrentRelease().Version, results, ci.Describe)
	}
	if err != nil {
		return err
	}
	return a.Write(data)
}
