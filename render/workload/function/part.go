// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ropewalk/ropewalk/render/object"
)

// maxErrors bounds what is reported on one document.
const maxErrors = 100

// reading collects what is wrong with one document.
type reading struct{ errs object.Errors }

// part is a part of a document with the way to it. The zero Value is one that was not
// given.
type part struct {
	*reading
	object.Value
	path object.Path
}

func (p part) given() bool { return p.Kind != object.KindNone && p.Kind != object.KindNull }

func (p part) fail(hint, format string, args ...any) {
	p.report(object.SeverityError, hint, format, args...)
}

func (p part) warn(hint, format string, args ...any) {
	p.report(object.SeverityWarning, hint, format, args...)
}

func (p part) report(s object.Severity, hint, format string, args ...any) {
	if len(p.errs) < maxErrors {
		p.errs = append(p.errs, &object.Error{
			Stage: object.StageSpec, Severity: s, Pos: p.Pos, Path: p.path.String(), Err: fmt.Errorf(format, args...), Hint: hint,
		})
	}
}

// is reports whether p is of a kind, and adds an error where it is of another one.
func (p part) is(want object.Kind) bool {
	if p.given() && p.Kind != want {
		p.fail("", "expected a %s, got a %s", want, p.Kind)
	}
	return p.Kind == want
}

// get is a field, which has the position of p where it is not given.
func (p part) get(name string) part {
	v, ok := p.Get(name)
	if !ok {
		v.Pos = p.Pos
	}
	return part{p.reading, v, p.path.Append(object.Field(name))}
}

func (p part) at(names ...string) part {
	for _, name := range names {
		p = p.get(name)
	}
	return p
}

// only reports the members of a map that are not known.
func (p part) only(known ...string) {
	if !p.is(object.KindMap) {
		return
	}
	for _, m := range p.Members {
		if !slices.Contains(known, m.Name) {
			at := p.get(m.Name)
			at.Pos = m.Pos
			at.fail(object.Suggest(m.Name, known), "unknown field %q", m.Name)
		}
	}
}

func (p part) items() []part {
	if !p.is(object.KindList) {
		return nil
	}
	out := make([]part, len(p.Items))
	for i, v := range p.Items {
		out[i] = part{p.reading, v, p.path.Append(object.Index(i))}
	}
	return out
}

// text is a string, "" where p is none.
func (p part) text() string {
	if !p.is(object.KindString) {
		return ""
	}
	return p.Text
}

// fields is a map in the making.
type fields []object.Member

// put adds a field, and nothing where the value is nothing.
func (f *fields) put(name string, v object.Value) {
	if v.Kind != object.KindNone && v.Kind != object.KindNull {
		*f = append(*f, field(name, v))
	}
}

// add adds the field of that name of another map, where it has one.
func (f *fields) add(of object.Value, name string) {
	if m := member(of, name); m.Value.Kind != object.KindNone {
		*f = append(*f, m)
	}
}

// value is the map, nothing where it has no fields.
func (f fields) value(pos object.Pos) object.Value {
	if len(f) == 0 {
		return object.Value{}
	}
	return object.Value{Kind: object.KindMap, Pos: pos, Members: f}
}

// pairs is a map of the members that have a value, nothing where none has.
func pairs(pos object.Pos, members ...object.Member) object.Value {
	var f fields
	for _, m := range members {
		f.put(m.Name, m.Value)
	}
	return f.value(pos)
}

func field(name string, v object.Value) object.Member {
	return object.Member{Name: name, Pos: v.Pos, Value: v}
}

// member is the field of that name with the position of its name.
func member(of object.Value, name string) object.Member {
	for _, m := range of.Members {
		if m.Name == name {
			return m
		}
	}
	return object.Member{Name: name}
}

func text(s string, pos object.Pos) object.Value {
	return object.Value{Kind: object.KindString, Pos: pos, Text: s}
}

func number(n int, pos object.Pos) object.Value {
	return object.Value{Kind: object.KindNumber, Pos: pos, Text: strconv.Itoa(n)}
}
