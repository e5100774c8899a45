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
	"github.com/ropewalk/ropewalk/render/object"
)

// Streams are what a run reads from and writes to.
type Streams struct {
	// In is read where a path is "-".
	In io.Reader
	// Out takes data.
	Out io.Writer
	// Err takes diagnostics.
	Err io.Writer
	// Width is the number of columns of the terminal that Err is; 0 means that
	// it is none, and that no progress is shown.
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
	// Texts is what was read as documents, for excerpts.
	Texts map[string][]byte
	// Quiet leaves out notes and progress; Verbose says what was read, and how long it took.
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

// Note writes to the stream of diagnostics, with arguments of which each stays in its
// line; an error cannot be reported if the stream is closed.
func (a *App) Note(format string, args ...any) {
	a.Tell((*object.Secrets)(nil).Hide(printable.Linef(format, args...)))
}

// Tell writes lines to the stream of diagnostics, unless the run is quiet.
func (a *App) Tell(text string) {
	if !a.Quiet {
		_, _ = io.WriteString(a.Err, text)
	}
}

// took says how long something took since it began.
func (a *App) took(begin time.Time, format string, args ...any) {
	if a.Verbose {
		a.Note("%s in %s\n", fmt.Sprintf(format, args...), time.Since(begin).Round(time.Millisecond))
	}
}

// Warn writes warnings to the stream of diagnostics.
func (a *App) Warn(warnings object.Errors) {
	if len(warnings) > 0 {
		a.Report().Mistakes(warnings)
	}
}

// Run makes a command's work from do.
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

// Outcome prints what a command did: as data, or as text.
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
