// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// report writes mistakes, for people or as data.
type report struct {
	out   io.Writer
	paint paint
	// json writes a JSON array in place of text.
	json bool
	// read gives the text of a file for excerpts, nil where there is none.
	read func(name string) []byte
}

// fail writes err: every mistake in it, or its one line.
func (r report) fail(err error) {
	if r.json {
		r.mistakes(object.AsErrors(err, ""))
		return
	}
	var mistakes object.Errors
	var mistake *object.Error
	switch {
	case errors.As(err, &mistakes):
		r.mistakes(mistakes)
	case errors.As(err, &mistake):
		r.mistakes(object.Errors{mistake})
	default:
		r.printf("%s %s\n", r.paint.bad("ropewalk:"), lines(err.Error(), "  "))
		r.hint(hintOf(err))
	}
}

// printf writes to the stream; where that is closed there is nobody to tell.
func (r report) printf(format string, args ...any) { _, _ = fmt.Fprintf(r.out, format, args...) }

// hintOf is what to do about an error that is no mistake in a file.
func hintOf(err error) string {
	var usage *usageError
	var environment *environmentError
	switch {
	case errors.As(err, &usage):
		return usage.hint
	case errors.As(err, &environment):
		return environment.hint
	}
	return ""
}

// mistakes writes every mistake and how many there are. Nothing is written
// where there are none, except as data.
func (r report) mistakes(es object.Errors) {
	if r.json {
		r.data(es)
		return
	}
	if len(es) == 0 {
		return
	}
	for _, e := range es {
		r.mistake(e)
	}
	r.printf("%s\n", count(es))
}

func (r report) data(es object.Errors) {
	if es == nil {
		es = object.Errors{}
	}
	// Mistakes are texts and numbers only: they always encode.
	data, _ := encode(es)
	_, _ = r.out.Write(data)
}

func (r report) mistake(e *object.Error) {
	head := "ropewalk:"
	if e.Pos.IsValid() {
		head = printable(e.Pos.String()) + ":"
	}
	severity := ""
	if e.Severity == object.SeverityWarning {
		severity = r.paint.warn("warning:") + " "
	}
	r.printf("%s %s%s\n", r.paint.bold(head), severity, lines(e.Sentence(), "  "))
	r.excerpt(e.Pos, "  | ")
	for _, n := range e.Notes {
		r.printf("  %s %s\n", r.paint.dim(printable(n.Pos.String())+":"), lines(n.Text, "    "))
		if n.Pos != e.Pos {
			r.excerpt(n.Pos, "    | ")
		}
	}
	r.hint(e.Hint)
}

func (r report) hint(text string) {
	if text != "" {
		r.printf("  %s %s\n", r.paint.good("hint:"), lines(text, "    "))
	}
}

func (r report) excerpt(pos object.Pos, indent string) {
	if r.read == nil {
		return
	}
	for line := range strings.Lines(excerpt(r.read, pos)) {
		r.printf("%s%s", r.paint.dim(indent), line)
	}
}

// lines is text that may go to a terminal, with its lines after the first
// indented.
func lines(text, indent string) string {
	parts := strings.Split(strings.TrimSpace(text), "\n")
	for i, p := range parts {
		parts[i] = printable(p)
	}
	return strings.Join(parts, "\n"+indent)
}

// count is how many mistakes there are, such as 2 errors, 1 warning.
func count(es object.Errors) string {
	var parts []string
	if n := len(es.Failures()); n > 0 {
		parts = append(parts, plural(n, "error"))
	}
	if n := len(es.Warnings()); n > 0 {
		parts = append(parts, plural(n, "warning"))
	}
	return strings.Join(parts, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
