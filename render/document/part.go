// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"strconv"

	"github.com/ropewalk/ropewalk/render/object"
)

// Part is a part of a document that was held against its table: what is in it is right, and
// what is not there was not given or is reported. A Value of KindNone is one that is not there.
type Part struct {
	*Decoder
	object.Value

	// Path leads to it in the document.
	Path object.Path
}

// Hold returns what is right of v, which is at a path in its document.
func (d *Decoder) Hold(table Field, v object.Value, at object.Path) Part {
	good := object.Value{Pos: v.Pos}
	if v.Kind != object.KindNone && v.Kind != object.KindNull {
		if held, ok := d.Decode(table, v, at); ok {
			good = held
		}
	}
	return Part{d, good, at}
}

// Entry is a member of a map whose names are free. One that is null has the position of its
// name.
type Entry struct {
	Part

	Name    string
	NamePos object.Pos
}

// Given reports whether there is anything at p.
func (p Part) Given() bool { return p.Kind != object.KindNone && p.Kind != object.KindNull }

// At returns the part at the end of names. A part that is absent has the position of the map that
// lacks it.
func (p Part) At(names ...string) Part {
	path := append(make(object.Path, 0, len(p.Path)+len(names)), p.Path...)
	for _, name := range names {
		v, ok := p.Get(name)
		if !ok {
			v.Pos = p.Pos
		}
		path = append(path, object.Field(name))
		p = Part{p.Decoder, v, path}
	}
	return p
}

// Field returns a field as it was written, or the zero Value if there is none.
func (p Part) Field(name string) object.Value {
	v, _ := p.Get(name)
	return v
}

// Has reports whether a map has a member. The member may be null if its table allows that.
func (p Part) Has(name string) bool {
	_, ok := p.Get(name)
	return ok
}

// True reports whether p is a bool that is true.
func (p Part) True() bool { return p.Text == "true" }

// Flag returns a field that is a bool, or false if there is none.
func (p Part) Flag(name string) bool { return p.At(name).True() }

// Number returns p as a whole number, and false if it is none.
func (p Part) Number() (int, bool) {
	n, err := strconv.Atoi(p.Text)
	return n, err == nil
}

// Written returns a scalar as it was written, or "" if there is none.
func (p Part) Written() string {
	if !p.Given() {
		return ""
	}
	return p.Value.Written()
}

// Parts returns the items of a list that are right.
func (p Part) Parts() []Part {
	out := make([]Part, 0, len(p.Items))
	for i, v := range p.Items {
		if v.Kind != object.KindNone {
			out = append(out, Part{p.Decoder, v, p.Path.Append(object.Index(i))})
		}
	}
	return out
}

// List returns the items of the list in a field.
func (p Part) List(name string) []Part { return p.At(name).Parts() }

// Entries returns the members of a map, in the order of the document.
func (p Part) Entries() []Entry {
	out := make([]Entry, len(p.Members))
	for i, m := range p.Members {
		v := m.Value
		if v.Kind == object.KindNull {
			v.Pos = m.Pos
		}
		out[i] = Entry{Part{p.Decoder, v, p.Path.Append(object.Field(m.Name))}, m.Name, m.Pos}
	}
	return out
}

// Words returns the texts of the list in a field.
func (p Part) Words(name string) []string {
	var out []string
	for _, item := range p.List(name) {
		out = append(out, item.Text)
	}
	return out
}

// Texts returns the texts of the map in a field, as they are written, or nil if there is none.
func (p Part) Texts(name string) map[string]string {
	in := p.At(name)
	if !in.Given() {
		return nil
	}
	out := make(map[string]string, len(in.Members))
	for _, m := range in.Members {
		out[m.Name] = m.Value.Written()
	}
	return out
}

// Fail reports a mistake at p; the hint, which may be "", is what to do.
func (p Part) Fail(hint, format string, args ...any) {
	p.Decoder.Fail(p.Pos, p.Path, hint, format, args...)
}

// Warn adds a warning at p.
func (p Part) Warn(hint, format string, args ...any) {
	p.Decoder.Warn(p.Pos, p.Path, hint, format, args...)
}
