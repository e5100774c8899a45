// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/cases"
	"github.com/ropewalk/ropewalk/plugin/host/images"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/render/object"
)

func (a Commands) images() *cobra.Command {
	var flags command.SourceFlags
	var limits command.LimitFlags
	format := command.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use: "images [MODULE]", Short: "List the images that a module runs, with their digests",
		Long: `List the container images that the cases of a module run, each with the digest that its
registry has for it now. Cases are those of "ropewalk module test", which all have to pass;
their golden files are not compared. --offline lists images without the digests that they
do not carry. Credentials are those of docker (docker login).
` + moduleHelp + "\n\n" + command.ExitCodes,
		Example: `  ropewalk module images
  ropewalk module images ./modules/web --offline
  ropewalk module images oci://ghcr.io/acme/modules/web:v1 --format json`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			return a.runImages(ctx, &flags, &limits, format.Value, named(args))
		}),
	}
	cmd.Flags().SortFlags = false
	format.Add(cmd, "format", "how to print it")
	limits.Add(cmd.Flags(), workersHelp)
	flags.Add(cmd)
	return cmd
}

// usedImage is an image in a list.
type usedImage struct {
	Image  string `json:"image"`
	Digest string `json:"digest,omitempty"`
}

func (a Commands) runImages(ctx context.Context, flags *command.SourceFlags, limits *command.LimitFlags, format, reference string) error {
	// Open the module with its cases.
	if err := limits.Check(); err != nil {
		return err
	}
	m, err := a.openWithCases(ctx, flags, limits, reference)
	if err != nil {
		return err
	}
	defer m.Close()
	if len(m.Cases) == 0 {
		return object.Errors{m.noCases(object.SeverityError)}
	}

	// Render the cases, which must pass.
	outcomes, err := cases.Run(ctx, m.Cases, m.Subject, limits.Parallel())
	if err == nil {
		err = tested{outcomes: outcomes}.failures().Err()
	}
	if err != nil {
		return err
	}

	// Look the digests up, unless no server may be asked.
	var registries *remote.Registries
	if !flags.Offline {
		registries, err = flags.Registries()
		if err != nil {
			return err
		}
	}
	resolved, err := imagesOf(outcomes).Resolve(ctx, registries)
	if err != nil {
		return command.WithOptions(err)
	}

	// Print images as data or as a table.
	list := []usedImage{}
	rows := [][]string{{"IMAGE", "DIGEST"}}
	for _, i := range resolved {
		list = append(list, usedImage(i))
		rows = append(rows, []string{i.Image, i.Digest})
	}
	return a.Outcome(format, list, command.Table(rows))
}

// imagesOf returns the images that cases run.
func imagesOf(outcomes []cases.Outcome) images.Used {
	used := images.Used{}
	for _, o := range outcomes {
		if o.Result.Plan != nil {
			used.Add("", o.Result.Plan.Graph.Nodes)
		}
	}
	return used
}
