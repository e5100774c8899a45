// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"strconv"

	"github.com/ropewalk/ropewalk/render/object"
)

// Part is a part of a document that was checked against its table: it holds only valid fields, and a
// field that is missing was not given or is reported. A Value of KindNone is absent.
type Part struct {
	*Decoder
	object.Value

	// Path is its path in the document.
	Path object.Path
}

// Hold returns the valid parts of v, which is at a path in its document.
func (d *Decoder) Hold(table Field, v object.Value, at object.Path) Part {
	valid := object.Value{Pos: v.Pos}
	if v.Kind != object.KindNone && v.Kind != object.KindNull {
		if decoded, ok := d.Decode(table, v, at); ok {
			valid = decoded
		}
	}
	return Part{d, valid, at}
}

// Entry is a member of a map with free names. A null has the position of its name.
type Entry struct {
	Part

	Name    string
	NamePos object.Pos
}

// Given reports whether the document has the part.
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

// Field returns a field as it was written, or the zero Value.
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

// Flag returns a field that is a bool, false by default.
func (p Part) Flag(name string) bool { return p.At(name).True() }

// Number returns p as a whole number, or false if it is not a number.
func (p Part) Number() (int, bool) {
	n, err := strconv.Atoi(p.Text)
	return n, err == nil
}

// Written returns a scalar as it was written, or "".
func (p Part) Written() string {
	if !p.Given() {
		return ""
	}
	return p.Value.Written()
}

// Parts returns the valid items of a list.
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

// Texts returns the texts of the map in a field, as they are written, or nil if it is not given.
func (p Part) Texts(name string) map[string]string {
	field := p.At(name)
	if !field.Given() {
		return nil
	}
	out := make(map[string]string, len(field.Members))
	for _, m := range field.Members {
		out[m.Name] = m.Value.Written()
	}
	return out
}

// Fail reports a mistake at p. The hint, which may be "", tells the user what to do.
func (p Part) Fail(hint, format string, args ...any) {
	p.Decoder.Fail(p.Pos, p.Path, hint, format, args...)
}

// Warn adds a warning at p.
func (p Part) Warn(hint, format string, args ...any) {
	p.Decoder.Warn(p.Pos, p.Path, hint, format, args...)
}
