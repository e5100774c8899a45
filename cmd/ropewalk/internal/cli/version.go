// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
)

func (a *app) versionCommand() *cobra.Command {
	format := newChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Print which build this is: its version, revision, Go and CUE.",
		Example: `  ropewalk version
  ropewalk version --format json`,
		Args: cobra.NoArgs,
		RunE: a.run(func(_ context.Context, _ []string) error {
			return a.printRelease(process.CurrentRelease(), format.value)
		}),
	}
	format.add(cmd, "format", "how to print it")
	return cmd
}

func (a *app) printRelease(r process.Release, format string) error {
	if format == "json" {
		data, err := encode(r)
		if err != nil {
			return err
		}
		return a.write(data)
	}
	text := fmt.Sprintf("ropewalk %s\n%s %s", r, r.Go, r.Platform)
	if r.CUE != "" {
		text += ", cue " + r.CUE
	}
	return a.print(text + "\n")
}

// print writes data to standard output; a failure is one of the environment.
func (a *app) print(text string) error { return a.write([]byte(text)) }

func (a *app) write(data []byte) error {
	if _, err := a.Out.Write(data); err != nil {
		return &environmentError{err: fmt.Errorf("standard output cannot be written: %w", err)}
	}
	return nil
}
