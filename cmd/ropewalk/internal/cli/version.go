// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release says which build this is.
type release struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	CUE      string `json:"cue,omitempty"`
}

// currentRelease reads what the Go toolchain wrote into the program.
func currentRelease() release {
	r := release{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return r
	}
	if info.Main.Version != "" {
		r.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			r.Revision = s.Value
		case "vcs.time":
			r.Time = s.Value
		case "vcs.modified":
			r.Modified = s.Value == "true"
		}
	}
	for _, d := range info.Deps {
		if d.Path == "cuelang.org/go" {
			r.CUE = d.Version
		}
	}
	return r
}

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
			return a.printRelease(currentRelease(), format.value)
		}),
	}
	format.add(cmd, "format", "how to print it")
	return cmd
}

func (a *app) printRelease(r release, format string) error {
	if format == "json" {
		data, err := encode(r)
		if err != nil {
			return err
		}
		return a.write(data)
	}
	text := "ropewalk " + r.Version
	if r.Revision != "" {
		text += " " + r.Revision
	}
	if r.Modified {
		text += " (modified)"
	}
	text += fmt.Sprintf("\n%s %s", r.Go, r.Platform)
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
