// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// decoder collects the mistakes of one document.
type decoder struct {
	errs   object.Errors
	blocks map[object.Pos]Block
	// stray is set if a field near the root is not known, which may be a known
	// one misspelt.
	stray bool
}

func (d *decoder) fail(pos object.Pos, path object.Path, hint, format string, args ...any) {
	if len(d.errs) >= maxErrors {
		return
	}
	d.errs = append(d.errs, mistake(pos, path, hint, format, args...))
}

// mistake is what is wrong with the part of a document at pos and path.
func mistake(pos object.Pos, path object.Path, hint, format string, args ...any) *object.Error {
	return &object.Error{Stage: object.StageSpec, Pos: pos, Path: path.String(), Err: fmt.Errorf(format, args...), Hint: hint}
}

// kind reports whether v is of the kind want, and adds an error where it
// is not.
func (d *decoder) kind(v object.Value, path object.Path, want object.Kind) bool {
	if v.Kind == want {
		return true
	}
	hint := ""
	if want == object.KindString && (v.Kind == object.KindNumber || v.Kind == object.KindBool) {
		hint = "write \"" + v.Text + "\""
	}
	d.fail(v.Pos, path, hint, "expected a %s, got a %s", want, v.Kind)
	return false
}

// fields is a map that is being decoded. Each field that is read is
// known; [fields.done] reports the others.
type fields struct {
	*decoder
	value object.Value
	path  object.Path
	known []string
}

// fields begins to decode a map; where v is none, no field is found in it and
// none is missed, because the wrong type is reported already.
func (d *decoder) fields(v object.Value, path object.Path) *fields {
	if !d.kind(v, path, object.KindMap) {
		return &fields{decoder: d, value: object.Value{Kind: object.KindNone, Pos: v.Pos}, path: path}
	}
	return &fields{decoder: d, value: v, path: path}
}

// get is a field with its path; null counts as not given.
func (f *fields) get(name string) (v object.Value, path object.Path, ok bool) {
	f.known = append(f.known, name)
	v, ok = f.value.Get(name)
	return v, f.path.Append(object.Field(name)), ok && v.Kind != object.KindNull
}

// need is get for a field that must be there.
func (f *fields) need(name string) (v object.Value, path object.Path, ok bool) {
	v, path, ok = f.get(name)
	if !ok && f.value.Kind == object.KindMap {
		f.fail(f.value.Pos, path, "", "is missing")
	}
	return v, path, ok
}

// text is an optional string.
func (f *fields) text(name string) (string, object.Pos) {
	v, path, ok := f.get(name)
	if !ok || !f.kind(v, path, object.KindString) {
		return "", v.Pos
	}
	return v.Text, v.Pos
}

// needText is a string that must be there and must not be empty.
func (f *fields) needText(name string) object.Value {
	v, path, ok := f.need(name)
	if !ok || !f.kind(v, path, object.KindString) {
		return object.Value{}
	}
	if v.Text == "" {
		f.fail(v.Pos, path, "", "must not be empty")
	}
	return v
}

// label is an optional name in the form of a DNS label.
func (f *fields) label(name string) string {
	v, path, ok := f.get(name)
	if !ok || !f.kind(v, path, object.KindString) {
		return ""
	}
	if bad := badLabel(v.Text); bad != "" {
		f.fail(v.Pos, path, "", "%q %s", v.Text, bad)
	}
	return v.Text
}

// enum is an optional string out of a set.
func (f *fields) enum(name string, values ...string) string {
	v, path, ok := f.get(name)
	if !ok || !f.kind(v, path, object.KindString) {
		return ""
	}
	if !slices.Contains(values, v.Text) {
		f.fail(v.Pos, path, object.DidYouMean(v.Text, values), "%q is not known: expected %s", v.Text, strings.Join(values, ", "))
	}
	return v.Text
}

// list is the items of an optional list.
func (f *fields) list(name string) ([]object.Value, object.Path) {
	v, path, ok := f.get(name)
	if !ok || !f.kind(v, path, object.KindList) {
		return nil, path
	}
	return v.Items, path
}

// labels is an optional list of names, each in the form of a DNS label and
// written once.
func (f *fields) labels(name string) []object.SpecDependency {
	items, path := f.list(name)
	var out []object.SpecDependency
	for i, v := range items {
		at := path.Append(object.Index(i))
		if !f.kind(v, at, object.KindString) {
			continue
		}
		if bad := badLabel(v.Text); bad != "" {
			f.fail(v.Pos, at, "", "%q %s", v.Text, bad)
			continue
		}
		if slices.ContainsFunc(out, func(d object.SpecDependency) bool { return d.Name == v.Text }) {
			f.fail(v.Pos, at, "", "%q is written twice", v.Text)
			continue
		}
		out = append(out, object.SpecDependency{Name: v.Text, Pos: v.Pos})
	}
	return out
}

// texts is an optional map of strings; numbers and bools are read as they
// are written where loose is true.
func (f *fields) texts(name string, loose bool) map[string]string {
	v, path, ok := f.get(name)
	if !ok || !f.kind(v, path, object.KindMap) {
		return nil
	}
	out := make(map[string]string, len(v.Members))
	for _, m := range v.Members {
		scalar := m.Value.Kind == object.KindNumber || m.Value.Kind == object.KindBool
		if loose && scalar || f.kind(m.Value, path.Append(object.Field(m.Name)), object.KindString) {
			out[m.Name] = m.Value.Text
		}
	}
	return out
}

// child begins to decode an optional map.
func (f *fields) child(name string) (*fields, bool) {
	v, path, ok := f.get(name)
	if !ok {
		return nil, false
	}
	return f.fields(v, path), true
}

// needChild begins to decode a map that must be there.
func (f *fields) needChild(name string) *fields {
	v, path, ok := f.need(name)
	if !ok {
		return &fields{decoder: f.decoder, path: path}
	}
	return f.fields(v, path)
}

// done reports the fields that were not read.
func (f *fields) done() {
	for _, m := range f.value.Members {
		if !slices.Contains(f.known, m.Name) {
			f.stray = f.stray || len(f.path) <= 1
			f.fail(m.Pos, f.path.Append(object.Field(m.Name)), object.Suggest(m.Name, f.known), "unknown field %q", m.Name)
		}
	}
}
