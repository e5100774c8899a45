// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// What the linker sets where sources are built without their .git, as in the
// Dockerfile; "" elsewhere. The toolchain knows no other way into a program.
var linkedVersion, linkedRevision string //nolint:gochecknoglobals // the linker writes them, and nobody else

// dirty ends a revision of sources that were modified, as git describe has it.
const dirty = "-dirty"

// release says which build this is.
type release struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	CUE      string `json:"cue,omitempty"`
	// module says that Version is that of a Go module, which never changes.
	module bool
}

// currentRelease reads what the Go toolchain wrote into the program, and what its
// linker was told.
func currentRelease() release {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return releaseOf(info, linkedVersion, linkedRevision)
}

// releaseOf is the release of a program; what the toolchain saw of the sources goes
// over the revision that somebody told.
func releaseOf(info *debug.BuildInfo, version, revision string) release {
	r := release{Version: cmp.Or(version, info.Main.Version, "(devel)"), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	r.module = version == "" && r.Version != "(devel)"
	r.Revision, r.Modified = strings.CutSuffix(revision, dirty)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			r.Revision = s.Value
		case "vcs.time":
			r.Time = s.Value
		case "vcs.modified":
			r.Modified = r.Modified || s.Value == "true"
		}
	}
	for _, d := range info.Deps {
		if d.Path == "cuelang.org/go" {
			r.CUE = d.Version
		}
	}
	return r
}

// identity tells this build from every other one; "" where nothing does. The version
// that an image was given is no identity, because it may be that of a branch.
func (r release) identity() string {
	if r.Modified || r.Revision == "" && !r.module {
		return ""
	}
	return r.Version + " " + r.Revision
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
