// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// maxErrors bounds what is reported on one document. It is far above what authors read.
const maxErrors = 100

// Reading collects what is wrong with one document, warnings among it. The zero value is
// ready for use.
type Reading struct {
	Errs object.Errors
	// Failed is how many errors were reported, with those that Errs holds already.
	Failed int
	// Free is set where names that begin with x- are free.
	Free bool
	// Extension is the name among those that is read. It is free only where Only knows it,
	// and what is nearly called so is taken for it.
	Extension string
	// Sparse is set where lists are without the items that are null.
	Sparse bool
}

// Part is a part of a document with the way to it. The zero Value is one that was not
// given. The methods that read a value report one of the wrong kind.
type Part struct {
	*Reading
	object.Value
	Path object.Path
}

// Entry is a member of a map. Where it is null it has the position of its name.
type Entry struct {
	Part
	Name    string
	NamePos object.Pos
}

// Root is a complete document.
func (r *Reading) Root(v object.Value) Part { return Part{r, v, nil} }

// Given reports whether p is there, and not null.
func (p Part) Given() bool { return p.Kind != object.KindNone && p.Kind != object.KindNull }

// Fail adds an error at p; the hint, which may be "", is what to do.
func (p Part) Fail(hint, format string, args ...any) {
	p.report(object.SeverityError, hint, format, args...)
}

// Warn adds a warning at p.
func (p Part) Warn(hint, format string, args ...any) {
	p.report(object.SeverityWarning, hint, format, args...)
}

func (p Part) report(s object.Severity, hint, format string, args ...any) {
	if s == object.SeverityError {
		p.Failed++
	}
	e := &object.Error{Stage: object.StageSpec, Severity: s, Pos: p.Pos, Path: p.Path.String(), Err: fmt.Errorf(format, args...), Hint: hint}
	// What several aliases lead to is one mistake, and counts as one.
	if len(p.Errs) >= maxErrors || slices.ContainsFunc(p.Errs, e.Repeats) {
		return
	}
	if len(p.Errs) == maxErrors-1 {
		e.Severity, e.Hint, e.Err = object.SeverityError, "", fmt.Errorf("there are more mistakes than the %d that are shown", maxErrors-1)
	}
	p.Errs = append(p.Errs, e)
}

// Is reports whether p is of a kind, and adds an error where it is of another one.
func (p Part) Is(want object.Kind) bool {
	if p.Given() && p.Kind != want {
		p.Fail("", "expected a %s, got a %s", want, p.Kind)
	}
	return p.Kind == want
}

// At is the part at the end of a way. A field that is not given has the position of the
// map that lacks it.
func (p Part) At(names ...string) Part {
	for _, name := range names {
		v, ok := p.Get(name)
		if !ok {
			v.Pos = p.Pos
		}
		p = Part{p.Reading, v, p.Path.Append(object.Field(name))}
	}
	return p
}

// Has reports whether a map has a member, which may be null.
func (p Part) Has(name string) bool {
	_, ok := p.Get(name)
	return ok
}

// Only reports the members of a map that are not known.
func (p Part) Only(known ...string) {
	if !p.Is(object.KindMap) {
		return
	}
	for _, m := range p.Members {
		at := p.At(m.Name)
		at.Pos = m.Pos
		switch {
		case slices.Contains(known, m.Name), at.Misspelt(m.Name):
		case p.Free && m.Name == p.Extension:
			at.Fail("move it to where it is read", "%s is not read here", m.Name)
		case !p.Free || !strings.HasPrefix(m.Name, "x-"):
			at.Fail(object.Suggest(m.Name, known), "unknown field %q", m.Name)
		}
	}
}

// Misspelt reports whether the name of p is nearly the extension that is read, which it adds
// as an error: as a free name its value would vanish.
func (p Part) Misspelt(name string) bool {
	const letters = 2
	lower := strings.ToLower(name)
	if p.Extension == "" || name == p.Extension || len(name) > len(p.Extension)+letters || object.Distance(lower, p.Extension) > letters {
		return false
	}
	p.Fail(fmt.Sprintf("did you mean %q?", p.Extension), "unknown field %q", name)
	return true
}

// List is the items of a list.
func (p Part) List() []Part {
	if !p.Is(object.KindList) {
		return nil
	}
	out := make([]Part, 0, len(p.Items))
	for i, v := range p.Items {
		if v.Kind != object.KindNull || !p.Sparse {
			out = append(out, Part{p.Reading, v, p.Path.Append(object.Index(i))})
		}
	}
	return out
}

// Entries is the members of a map.
func (p Part) Entries() []Entry {
	if !p.Is(object.KindMap) {
		return nil
	}
	out := make([]Entry, len(p.Members))
	for i, m := range p.Members {
		v := m.Value
		if v.Kind == object.KindNull {
			v.Pos = m.Pos
		}
		out[i] = Entry{Part{p.Reading, v, p.Path.Append(object.Field(m.Name))}, m.Name, m.Pos}
	}
	return out
}

// Str is a string, "" where p is none.
func (p Part) Str() string {
	if !p.Is(object.KindString) {
		return ""
	}
	return p.Text
}

// Loose is a string, or what was written for a number or a bool, as variables make text of
// those.
func (p Part) Loose() string {
	if p.Kind == object.KindNumber {
		return p.Written()
	}
	if p.Kind != object.KindBool && !p.Is(object.KindString) {
		return ""
	}
	return p.Text
}

// Flag is a bool, false where p is none; "true" and "false" are read too.
func (p Part) Flag() bool {
	switch text := p.Loose(); {
	case text == "false", text == "" && p.Kind != object.KindString:
		return false
	case text == "true":
		return true
	}
	p.Fail("", "expected true or false")
	return false
}

// Integer is a whole number from least on; false where there is none.
func (p Part) Integer(least int) (int, bool) {
	if !p.Given() {
		return 0, false
	}
	n, err := strconv.Atoi(p.Loose())
	if err != nil || n < least || n > math.MaxInt32 {
		p.Fail("", "expected a whole number from %d on", least)
		return 0, false
	}
	return n, true
}
