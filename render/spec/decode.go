// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/render/object"
)

// decoder collects the mistakes of one document.
type decoder struct {
	errs   object.Errors
	blocks map[object.Pos]Block
	// stray is set if a field near the root is not known, which may be a known
	// one misspelt.
	stray bool
	// secret is set where a value of the wrong kind may be that of a secret.
	secret bool
}

// hide keeps what is written out of the excerpts of the errors from before on.
func (d *decoder) hide(before int) {
	for _, e := range d.errs[before:] {
		e.Secret = true
	}
}

func (d *decoder) fail(pos object.Pos, path object.Path, hint, format string, args ...any) {
	if len(d.errs) >= maxErrors {
		return
	}
	d.errs = append(d.errs, mistake(pos, path, hint, format, args...))
}

// mistake is what is wrong with the part of a document at pos and path.
func mistake(pos object.Pos, path object.Path, hint, format string, args ...any) *object.Error {
	const longest = 4 << 10 // What a message quotes may be megabytes.
	err := fmt.Errorf(format, args...)
	if text := err.Error(); len(text) > longest {
		err = errors.New(strings.ToValidUTF8(text[:longest], "") + "…")
	}
	if len(hint) > longest {
		hint = strings.ToValidUTF8(hint[:longest], "") + "…"
	}
	return &object.Error{Stage: object.StageSpec, Pos: pos, Path: path.String(), Err: err, Hint: hint}
}

// kind reports whether v is of the kind want, and adds an error where it
// is not.
func (d *decoder) kind(v object.Value, path object.Path, want object.Kind) bool {
	if v.Kind == want {
		return true
	}
	hint := ""
	if key, value, ok := strings.Cut(v.Text, ":"); want == object.KindMap && v.Kind == object.KindString && ok && isWord(key) {
		hint = fmt.Sprintf("write a space behind the colon: \"%s: %s\"", key, value)
	}
	if want == object.KindString && (v.Kind == object.KindNumber || v.Kind == object.KindBool) {
		hint = "write it in quotes: " + strconv.Quote(v.Written())
	}
	if d.secret { // The hint repeats the value.
		hint, _, _ = strings.Cut(hint, ":")
		defer d.hide(len(d.errs))
	}
	d.fail(v.Pos, path, hint, "expected a %s, got a %s", want, v.Kind)
	return false
}

// isWord reports whether text is a name as keys are.
func isWord(text string) bool { return text != "" && letters(text) == strings.ToLower(text) }

// fields is a map that is being decoded. Each field that is read is
// known; [fields.done] reports the others.
type fields struct {
	*decoder
	value object.Value
	path  object.Path
	known []string
	// missed are the fields that must be there and are not.
	missed []string
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
		f.missed = append(f.missed, name)
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
	seen := map[string]bool{}
	for i, v := range items {
		at := path.Append(object.Index(i))
		if !f.kind(v, at, object.KindString) {
			continue
		}
		if bad := badLabel(v.Text); bad != "" {
			f.fail(v.Pos, at, "", "%q %s", v.Text, bad)
			continue
		}
		if seen[v.Text] {
			f.fail(v.Pos, at, "", "%q is written twice", v.Text)
			continue
		}
		seen[v.Text] = true
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
			out[m.Name] = m.Value.Written()
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

// done reports the fields that were not read, and those that are missing and are not one
// of these misspelt. A field of the body, which are those below spec, belongs there.
func (f *fields) done(body ...string) {
	for _, m := range f.value.Members {
		if slices.Contains(f.known, m.Name) {
			continue
		}
		f.stray = f.stray || len(f.path) <= 1
		if len(f.errs) >= maxErrors {
			break
		}
		meant, hint := "", object.Suggest(m.Name, f.known)
		if slices.Contains(body, m.Name) {
			meant, hint = "spec", "move it under spec"
		} else if near, ok := object.Nearest(m.Name, f.known); ok {
			meant = near
		}
		f.missed = slices.DeleteFunc(f.missed, func(name string) bool { return name == meant })
		f.fail(m.Pos, f.path.Append(object.Field(m.Name)), hint, "unknown field %q", m.Name)
	}
	f.missing()
}

// missing reports the fields that are missing.
func (f *fields) missing() {
	for _, name := range f.missed {
		f.fail(f.value.Pos, f.path.Append(object.Field(name)), missingHint(name), "is missing")
	}
}

// missingHint is what to write where a field is missing.
func missingHint(name string) string {
	switch name {
	case "metadata":
		return "write metadata: {name: …}"
	case "cueRef":
		return "write cueRef: {type: path, ref: ./modules/NAME}, or another type: " + strings.Join(reftype.Names()[1:], ", ")
	case "type":
		return "write one of " + strings.Join(reftype.Names(), ", ")
	case "ref":
		return "write the path, the name, the text or the URL of the module"
	}
	return ""
}
