// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/object"
)

// Streams are the input and the outputs of a run.
type Streams struct {
	// In is read where a path is "-".
	In io.Reader
	// Out takes data.
	Out io.Writer
	// Err takes diagnostics.
	Err io.Writer
	// Width is the number of columns of the terminal that Err is; 0 means that
	// Err is no terminal, and that no progress is shown.
	Width int
	// Color allows colours on Err, and OutColor on Out.
	Color, OutColor bool
}

// App is one run of the command line.
type App struct {
	Streams
	Paint Paint
	// Started is set when a command begins its work: what fails before is a
	// mistake on the command line.
	Started bool
	// JSON asks for errors as data.
	JSON bool
	// Texts holds the documents that were read, for excerpts.
	Texts map[string][]byte
	// Quiet leaves out notes and progress; Verbose reports what was read, and how long it took.
	Quiet, Verbose bool
}

// New returns a run that reads from and writes to streams.
func New(streams Streams) *App {
	return &App{Streams: streams, Paint: Paint{On: streams.Color}}
}

// ErrReported marks errors that the command has written already, as data.
var ErrReported = errors.New("reported")

// Report writes to the stream of diagnostics.
func (a *App) Report() Report {
	return Report{out: a.Err, Paint: a.Paint, JSON: a.JSON, read: fileReader(a.Texts)}
}

// Findings writes mistakes as the data of a command.
func (a *App) Findings(out Report, found object.Errors) error {
	var b bytes.Buffer
	out.out = &b
	out.Mistakes(found)
	return a.Write(b.Bytes())
}

// Note writes to the stream of diagnostics. Each argument stays in its line. An error of the stream
// is ignored: there is no other place to report it.
func (a *App) Note(format string, args ...any) {
	a.Tell((*object.Secrets)(nil).Hide(printable.Linef(format, args...)))
}

// Tell writes lines to the stream of diagnostics, unless the run is quiet.
func (a *App) Tell(text string) {
	if !a.Quiet {
		_, _ = io.WriteString(a.Err, text)
	}
}

// noteTime writes how long a step took since it began, with --verbose.
func (a *App) noteTime(begin time.Time, format string, args ...any) {
	if a.Verbose {
		a.Note("%s in %s\n", fmt.Sprintf(format, args...), time.Since(begin).Round(time.Millisecond))
	}
}

// Warn writes the warnings among findings to the stream of diagnostics. Notes are for vet.
func (a *App) Warn(findings object.Errors) {
	if warnings := findings.Warnings(); len(warnings) > 0 {
		a.Report().Mistakes(warnings)
	}
}

// Run returns the function that cobra calls for a command, which does the work of do.
func (a *App) Run(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.Started = true
		switch {
		case a.Quiet && a.Verbose:
			return Usagef("give one of them", "--quiet and --verbose exclude each other")
		case a.Quiet:
			a.Width = 0 // No progress.
		}
		if err := checkOutput(cmd.Flags()); err != nil {
			return err
		}
		return do(cmd.Context(), args)
	}
}

// Print writes lines for people to standard output, escaped as [printable.Text] does.
func (a *App) Print(text string) error { return a.Write([]byte(printable.Text(text))) }

// Write writes data to standard output; a failure is one of the environment.
func (a *App) Write(data []byte) error {
	if _, err := a.Out.Write(data); err != nil {
		return &EnvironmentError{Err: fmt.Errorf("standard output cannot be written: %w", err)}
	}
	return nil
}

// Outcome prints the result of a command, as data or as text.
func (a *App) Outcome(format string, data any, text string) error {
	if format != "json" {
		return a.Print(text)
	}
	out, err := Encode(data)
	if err != nil {
		return err
	}
	return a.Write(out)
}

// NoteOthers prints which files beside the specs are not rendered, and which project is
// not applied.
func (a *App) NoteOthers(l host.Loaded) {
	if a.JSON {
		return
	}
	for _, name := range l.NotApplied {
		a.Note("not applied: %s (its environments, values and policies): pass its folder, or the file too\n", name)
	}
	a.noteNotRendered("file", "of plain manifests", l.NotRendered)
	a.noteNotRendered("project", "in folders below, which are rendered on their own", l.Nested)
}

// noteNotRendered prints the first of the files that are not rendered.
func (a *App) noteNotRendered(noun, what string, files []string) {
	const most = 5
	if len(files) == 0 {
		return
	}
	a.Note("not rendered: %s %s: %s\n", printable.Count(len(files), noun), what, printable.List(files, most))
}

// tellSources prints with --verbose which sources the render used, and how many specs and policies
// each source is for.
func (a *App) tellSources(sources []render.Source) {
	if !a.Verbose {
		return
	}
	uses := map[string]int{}
	for _, s := range sources {
		uses[s.Origin+" "+s.Digest]++
	}
	for _, name := range object.SortedKeys(uses) {
		a.Note("source %s, used %s\n", name, printable.Count(uses[name], "time"))
	}
}
