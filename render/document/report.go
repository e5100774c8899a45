// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

const (
	// maxErrors limits the errors of one document, and its warnings.
	maxErrors = 100
	// longest limits the bytes of a message, which may quote megabytes.
	longest = 4 << 10
	// maxShown limits the bytes of a text that a message repeats.
	maxShown = 80
	// maxStep limits the bytes of a name in a path. Every valid name fits.
	maxStep = 400
)

// Fail reports a mistake, unless a mistake of the same part or in it is known: an invalid part is
// not missing too.
func (d *Decoder) Fail(pos object.Pos, at object.Path, hint, format string, args ...any) {
	d.Failed++
	if !d.Known(at) {
		d.Report(Mistake(pos, at, hint, format, args...))
	}
}

// Warn reports text that is valid and probably a mistake.
func (d *Decoder) Warn(pos object.Pos, at object.Path, hint, format string, args ...any) {
	e := Mistake(pos, at, hint, format, args...)
	e.Severity = object.SeverityWarning
	d.Report(e)
}

// Report adds a mistake, unless another alias leads to the same mistake. The last error that fits is
// replaced by a message that there are more.
func (d *Decoder) Report(e *object.Error) {
	n := d.count(e.Severity)
	if n >= maxErrors || slices.ContainsFunc(d.Errs, e.Repeats) {
		return
	}
	if n == maxErrors-1 && e.Severity == object.SeverityError {
		e = Mistake(e.Pos, nil, "", "there are more mistakes than the %d that are shown", maxErrors-1)
	}
	d.Errs = append(d.Errs, e)
}

// Known reports whether a mistake of a part, or in it, is known.
func (d *Decoder) Known(at object.Path) bool {
	if len(d.Errs) == 0 {
		return false
	}
	path := pathText(at)
	return slices.ContainsFunc(d.Errs, func(e *object.Error) bool {
		return e.Severity == object.SeverityError && object.Within(e.Path, path)
	})
}

// full reports whether the limit of a severity is reached.
func (d *Decoder) full(s object.Severity) bool { return d.count(s) >= maxErrors }

// count returns the number of mistakes of a severity.
func (d *Decoder) count(s object.Severity) (n int) {
	for _, e := range d.Errs {
		if e.Severity == s {
			n++
		}
	}
	return n
}

// Mistake returns an error about the part of a document at pos and path.
func Mistake(pos object.Pos, path object.Path, hint, format string, args ...any) *object.Error {
	cut := func(text string) string { return printable.Cut(text, longest, "…") }
	err := fmt.Errorf(format, args...)
	if text := err.Error(); len(text) > longest || oneLine(text) != text {
		err = errors.New(oneLine(cut(text)))
	}
	return &object.Error{Stage: object.StageSpec, Pos: pos, Path: pathText(path), Err: err, Hint: oneLine(cut(hint))}
}

// pathText returns a path in the form of errors.
func pathText(path object.Path) string {
	for i, step := range path {
		if len(step.Name) > maxStep {
			path = path.Append()
			path[i].Name = printable.Cut(step.Name, maxStep, "…")
		}
	}
	return oneLine(path.String())
}

// oneLine returns text without control characters, which names of the author may hold.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Shown returns text in quotes for messages, cut if it is long.
func Shown(text string) string {
	if len(text) > maxShown {
		return fmt.Sprintf("%q (cut after %d of %d bytes)", printable.Cut(text, maxShown, ""), maxShown, len(text))
	}
	return strconv.Quote(text)
}

// plain returns the meaning of a field as a hint: without the form of a sentence.
func plain(doc string) string {
	doc = strings.TrimSuffix(doc, ".")
	if len(doc) > 1 && doc[1] >= 'a' && doc[1] <= 'z' {
		return strings.ToLower(doc[:1]) + doc[1:]
	}
	return doc
}

// Location is a step on the way to a part, so that a path costs nothing until a mistake is reported.
// Nil is the complete document.
type Location struct {
	parent *Location
	step   object.Step
}

// Path returns the path from the document to the part.
func (p *Location) Path() object.Path {
	if p == nil {
		return nil
	}
	return append(p.parent.Path(), p.step)
}

// To returns the location of the field at the end of names.
func (p *Location) To(names ...string) *Location {
	for _, name := range names {
		p = &Location{p, object.Field(name)}
	}
	return p
}

// Item returns the location of an item of a list.
func (p *Location) Item(i int) *Location { return &Location{p, object.Index(i)} }

func (d *Decoder) failAt(v object.Value, at *Location, hint, format string, args ...any) {
	d.Fail(v.Pos, at.Path(), hint, format, args...)
}
