// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Bounds of what is reported on one document.
const (
	maxErrors = 100
	// longWord and manyWords bound what a near name is looked for in.
	longWord, manyWords = 64, 1000
	// maxShown is how much of a text a message repeats.
	maxShown = 80
	// maxStep is how much of a name a path repeats: every name that is valid.
	maxStep = 400
)

// location is a step on the way to a part, so that a path costs nothing until there
// is a mistake to report.
type location struct {
	up   *location
	step object.Step
}

func (p *location) path() object.Path {
	if p == nil {
		return nil
	}
	step := p.step
	if len(step.Name) > maxStep {
		step.Name = strings.ToValidUTF8(step.Name[:maxStep], "") + "…"
	}
	return append(p.up.path(), step)
}

// decoder collects what is wrong with one document.
type decoder struct {
	doc Document
	out Workload

	errs             object.Errors
	errors, warnings int
}

func (d *decoder) report(s object.Severity, pos object.Pos, at *location, hint, format string, args ...any) {
	count := &d.errors
	if s == object.SeverityWarning {
		count = &d.warnings
	}
	if *count++; *count > maxErrors {
		return
	}
	d.errs = append(d.errs, &object.Error{
		Stage: object.StageSpec, Severity: s, Pos: pos, Path: oneLine(at.path().String()),
		Err: fmt.Errorf(format, args...), Hint: oneLine(hint),
	})
}

// oneLine is text without control characters, which names of the author may
// hold.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

func (d *decoder) fail(pos object.Pos, at *location, hint, format string, args ...any) {
	d.report(object.SeverityError, pos, at, hint, format, args...)
}

func (d *decoder) warn(pos object.Pos, at *location, hint, format string, args ...any) {
	d.report(object.SeverityWarning, pos, at, hint, format, args...)
}

// beside adds to the last error what it is about, where that was merged over the document
// or below it.
func (d *decoder) beside(pos object.Pos, text string) {
	if d.errors <= maxErrors && d.overlaid(object.Value{Pos: pos}) {
		last := d.errs[len(d.errs)-1]
		last.Notes = append(last.Notes, object.Note{Pos: pos, Text: text})
	}
}

// root is the complete document.
func (d *decoder) root() part { return part{decoder: d, Value: d.doc.Value} }

// part is a part of the document with the way to it. The zero Value is one that
// was not given.
type part struct {
	*decoder
	object.Value
	at *location
}

func (p part) fail(hint, format string, args ...any) {
	p.decoder.fail(p.Pos, p.at, hint, format, args...)
}
func (p part) warn(hint, format string, args ...any) {
	p.decoder.warn(p.Pos, p.at, hint, format, args...)
}

// given reports whether there is anything at p.
func (p part) given() bool { return p.Kind != object.KindNone }

// is reports whether p is of the kind want, and adds an error where it is
// not.
func (p part) is(want object.Kind) bool {
	if p.Kind == want {
		return true
	}
	if p.given() {
		p.fail("", "expected a %s, got a %s", want, p.Kind)
	}
	return false
}

// field is the location of a field of p.
func (p part) field(name string) *location { return &location{up: p.at, step: object.Field(name)} }

// entry is a member of a map whose names the author chooses.
type entry struct {
	part
	name    string
	namePos object.Pos
}

// entries are the members of a map, in the order of the document. Null removes
// away what stands below it in another file.
func (p part) entries() []entry {
	if !p.is(object.KindMap) {
		return nil
	}
	out := make([]entry, 0, len(p.Members))
	for _, m := range p.Members {
		if m.Value.Kind == object.KindNull && p.overlaid(m.Value) {
			continue
		}
		out = append(out, entry{part{p.decoder, m.Value, p.field(m.Name)}, m.Name, m.Pos})
	}
	return out
}

// overlaid reports whether v was merged over the document from elsewhere.
func (d *decoder) overlaid(v object.Value) bool {
	own := d.doc.Value.Pos
	return v.Pos.File != own.File || v.Pos.Line < own.Line || d.doc.Last > 0 && v.Pos.Line > d.doc.Last
}

// items are the items of a list.
func (p part) items() []part {
	if !p.is(object.KindList) {
		return nil
	}
	out := make([]part, len(p.Items))
	for i, v := range p.Items {
		out[i] = part{p.decoder, v, &location{up: p.at, step: object.Index(i)}}
	}
	return out
}

// fields is a map whose names are known. Each field that is read is known;
// [fields.done] reports the others.
type fields struct {
	part
	known []string
	// missed are the fields that must be there and are not, with what to write.
	missed []missed
}

type missed struct{ name, hint string }

// fields begins to decode a map; where p is none, that is reported, and no field is
// found in it and none is missed.
func (p part) fields() *fields {
	const usual = 12
	if !p.is(object.KindMap) {
		p.Value = object.Value{Pos: p.Pos}
	}
	return &fields{part: p, known: make([]string, 0, usual)}
}

// get is an optional field, which is KindNone where it is not given. Null counts
// as not given; Score does not allow it, so that a Score file gets a warning.
func (f *fields) get(name string) part {
	f.known = append(f.known, name)
	v, ok := f.Get(name)
	if !ok {
		return part{decoder: f.decoder}
	}
	p := part{f.decoder, v, f.field(name)}
	if v.Kind == object.KindNull {
		if f.doc.Score && !f.overlaid(v) {
			p.warn("remove the field", "null is read as not set")
		}
		p.Value = object.Value{Pos: v.Pos}
	}
	return p
}

// need is get for a field that must be there; what to write is in hint.
func (f *fields) need(name, hint string) part {
	f.known = append(f.known, name)
	v, ok := f.Get(name)
	p := part{f.decoder, v, f.field(name)}
	switch {
	case !f.given():
	case !ok:
		f.missed = append(f.missed, missed{name, hint})
	case v.Kind == object.KindNull:
		p.fail(hint, "is null, but must be given")
	default:
		return p
	}
	return part{decoder: f.decoder, Value: object.Value{Pos: f.Pos}, at: p.at}
}

// misspelt reports whether a field that is not known was meant to be one of names.
func (f *fields) misspelt(names ...string) bool {
	return slices.ContainsFunc(f.Members, func(m object.Member) bool {
		near, ok := nearest(m.Name, f.known)
		return ok && slices.Contains(names, near) && !slices.Contains(f.known, m.Name)
	})
}

// done reports the fields that were not read, and those that are missing and are not one
// of these misspelt. A hint of elsewhere goes before the nearest known name.
func (f *fields) done(elsewhere func(name string) string) {
	for _, m := range f.Members {
		if slices.Contains(f.known, m.Name) {
			continue
		}
		hint := ""
		if elsewhere != nil {
			hint = elsewhere(m.Name)
		}
		if hint == "" {
			hint = f.suggest(m.Name, f.known)
		}
		f.decoder.fail(m.Pos, f.field(m.Name), hint, "unknown field %s", shown(m.Name))
		if elsewhere := map[string]string{underSpec: "spec", aboveSpec: "containers"}[hint]; elsewhere != "" {
			f.missed = slices.DeleteFunc(f.missed, func(n missed) bool { return n.name == elsewhere })
		}
	}
	f.lacks()
}

// lacks reports the fields that are missing and that no other was meant to be.
func (f *fields) lacks() {
	for _, n := range f.missed {
		if !f.misspelt(n.name) {
			f.decoder.fail(f.Pos, f.field(n.name), n.hint, "is missing")
		}
	}
}

// What to do with a field of a Workload that is beside its spec, and with the spec of a
// Score file.
const (
	underSpec = "move it under spec"
	aboveSpec = "a Score file has no spec: move what is below it to the top, or write apiVersion: " +
		spec.APIVersion + " and kind: " + spec.KindWorkload
)

// suggest is the hint for a word that is not known.
func (d *decoder) suggest(word string, known []string) string {
	if len(word) > longWord || len(known) > manyWords || d.errors >= maxErrors {
		return ""
	}
	return object.Suggest(word, known)
}

// shown is text in quotes as messages repeat it, cut where it is long.
func shown(text string) string {
	if len(text) > maxShown {
		return fmt.Sprintf("%q (cut after %d of %d bytes)", strings.ToValidUTF8(text[:maxShown], ""), maxShown, len(text))
	}
	return fmt.Sprintf("%q", text)
}
