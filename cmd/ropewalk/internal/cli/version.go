// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
)

func (a commands) versionCommand() *cobra.Command {
	format := command.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Print which build this is: its version, revision, Go and CUE.",
		Example: `  ropewalk version
  ropewalk version --format json`,
		Args: cobra.NoArgs,
		RunE: a.Run(func(_ context.Context, _ []string) error {
			return a.printRelease(process.CurrentRelease(), format.Value)
		}),
	}
	format.Add(cmd, "format", "how to print it")
	return cmd
}

func (a commands) printRelease(r process.Release, format string) error {
	text := fmt.Sprintf("ropewalk %s\n%s %s", r, r.Go, r.Platform)
	if r.CUE != "" {
		text += ", cue " + r.CUE
	}
	return a.Outcome(format, r, text+"\n")
}
