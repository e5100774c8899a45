// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package document

import "github.com/ropewalk/ropewalk/render/object"

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

// Given reports whether there is anything at p.
func (p Part) Given() bool { return p.Kind != object.KindNone }

// At is the part at the end of names. One that is not there has the position of the map that
// lacks it.
func (p Part) At(names ...string) Part {
	for _, name := range names {
		v, ok := p.Get(name)
		if !ok {
			v.Pos = p.Pos
		}
		p = Part{p.Decoder, v, p.Path.Append(object.Field(name))}
	}
	return p
}

// Field is a field as it was written; the zero Value where there is none.
func (p Part) Field(name string) object.Value {
	v, _ := p.Get(name)
	return v
}

// Flag is a field that is a bool, false where there is none.
func (p Part) Flag(name string) bool { return p.At(name).Text == "true" }

// List is the items of a list that are right.
func (p Part) List(name string) []Part {
	in := p.At(name)
	out := make([]Part, 0, len(in.Items))
	for i, v := range in.Items {
		if v.Kind != object.KindNone {
			out = append(out, Part{p.Decoder, v, in.Path.Append(object.Index(i))})
		}
	}
	return out
}

// Words are the texts of a list.
func (p Part) Words(name string) []string {
	var out []string
	for _, item := range p.List(name) {
		out = append(out, item.Text)
	}
	return out
}

// Texts are those of a map, as they are written; nil where there is none.
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
	if e := Mistake(p.Pos, p.Path, hint, format, args...); len(p.Errs) < maxErrors {
		e.Severity = object.SeverityWarning
		p.Errs = append(p.Errs, e)
	}
}
