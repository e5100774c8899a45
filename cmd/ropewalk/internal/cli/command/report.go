// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// Report writes mistakes, for people or as data.
type Report struct {
	out   io.Writer
	Paint Paint
	// JSON writes a JSON array in place of text.
	JSON bool
	// read returns a file for excerpts; an empty file if it cannot be read.
	read func(name string) *shownFile
}

// maxShown limits the mistakes that are written for people; the data has all of them.
const maxShown = 200

// Fail writes err: every mistake in it, or its one line.
func (r Report) Fail(err error) {
	if r.JSON {
		r.Mistakes(object.AsErrors(err, ""))
		return
	}
	var mistakes object.Errors
	var mistake *object.Error
	switch {
	case errors.As(err, &mistakes):
		isNote := func(e *object.Error) bool { return e.Severity == object.SeverityNote } // Those are for vet.
		r.Mistakes(slices.DeleteFunc(slices.Clone(mistakes), isNote))
	case errors.As(err, &mistake):
		r.Mistakes(object.Errors{mistake})
	default:
		r.printf("%s %s\n", r.Paint.Bad("ropewalk:"), Lines((*object.Secrets)(nil).Hide(err.Error()), "  "))
		r.writeHint(HintOf(err))
	}
}

// printf writes to the stream; if that is closed, an error cannot be reported.
func (r Report) printf(format string, args ...any) { _, _ = fmt.Fprintf(r.out, format, args...) }

// HintOf returns what to do about an error that is no mistake in a file.
func HintOf(err error) string {
	var usage *UsageError
	var environment *EnvironmentError
	switch {
	case errors.As(err, &usage):
		return usage.Hint
	case errors.As(err, &environment):
		return environment.Hint
	}
	return ""
}

// Mistakes writes every mistake and their number. Without mistakes, it writes nothing except an empty
// list as data.
func (r Report) Mistakes(es object.Errors) {
	if r.JSON {
		r.writeData(es)
		return
	}
	if len(es) == 0 {
		return
	}
	// Errors stand next to their number, where a terminal ends; of too many, notes and then
	// warnings are left out.
	errs := es.Failures()
	others := slices.Concat(es.Warnings(), es.Notes())
	errs = errs[:min(len(errs), maxShown)]
	others = others[:min(len(others), maxShown-len(errs))]
	shown := slices.Concat(others.Notes(), others.Warnings(), errs)
	for _, e := range shown {
		r.writeMistake(object.Shown(e))
	}
	if more := len(es) - len(shown); more > 0 {
		r.printf("… and %d more: ropewalk vet --format json lists all\n", more)
	}
	r.printf("%s\n", count(es))
}

// writeData writes mistakes as data.
func (r Report) writeData(es object.Errors) {
	shown := make(object.Errors, len(es))
	for i, e := range es {
		shown[i] = object.Shown(e)
	}
	// Mistakes are texts and numbers only: they always encode.
	data, _ := Encode(shown)
	_, _ = r.out.Write(data)
}

// writeMistake writes a mistake with its excerpts, its notes and its hint.
func (r Report) writeMistake(e *object.Error) {
	head := "ropewalk:"
	if e.Pos.IsValid() {
		head = printable.Line(e.Pos.String()) + ":"
	}
	severity := ""
	switch e.Severity {
	case object.SeverityError:
	case object.SeverityWarning:
		severity = r.Paint.Warn("warning:") + " "
	case object.SeverityNote:
		severity = r.Paint.Dim("note:") + " "
	}
	r.printf("%s %s%s\n", r.Paint.Bold(head), severity, Lines(e.Sentence(), "  "))
	r.writeExcerpt(e, e.Pos, "  | ")
	for _, n := range e.Notes {
		r.printf("  %s %s\n", r.Paint.Dim(printable.Line(n.Pos.String())+":"), Lines(n.Text, "    "))
		if n.Pos != e.Pos {
			r.writeExcerpt(e, n.Pos, "    | ")
		}
	}
	r.writeHint(e.Hint)
}

// writeHint writes what to do about a mistake.
func (r Report) writeHint(text string) {
	if text != "" {
		r.printf("  %s %s\n", r.Paint.Good("hint:"), Lines(text, "    "))
	}
}

// writeExcerpt writes the line at pos, unless it may not be shown.
func (r Report) writeExcerpt(e *object.Error, pos object.Pos, indent string) {
	if r.read == nil || e.Secret {
		return
	}
	for line := range strings.Lines(excerpt(r.read, pos, e.Secrets)) {
		r.printf("%s%s", r.Paint.Dim(indent), line)
	}
}

// Lines returns text that may go to a terminal, with its lines after the first indented. GitHub
// takes a line such as "  ::add-mask::x" for a command, also in the text of a stranger: a bar before
// it keeps it a text.
func Lines(text, indent string) string {
	lines := strings.Split(printable.Text(strings.TrimSpace(text)), "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "::") {
			lines[i] = "| " + line
		}
	}
	return strings.Join(lines, "\n"+indent)
}

// count returns how many mistakes there are, such as 2 errors, 1 warning.
func count(es object.Errors) string {
	var parts []string
	if n := len(es.Failures()); n > 0 {
		parts = append(parts, printable.Count(n, "error"))
	}
	if n := len(es.Warnings()); n > 0 {
		parts = append(parts, printable.Count(n, "warning"))
	}
	if n := len(es.Notes()); n > 0 {
		parts = append(parts, printable.Count(n, "note"))
	}
	return strings.Join(parts, ", ")
}

// BytesText returns a size as people read it.
func BytesText(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f KiB", float64(n)/unit)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/unit/unit)
}

// OneLine returns text as one line, such as a description.
func OneLine(text string) string {
	return printable.Line(printable.JoinLines(text))
}
