// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
)

// The tables that documents are checked against. They are made on first use, because a project
// has thousands of documents.
//
//nolint:gochecknoglobals // constants
var (
	workloadTable = sync.OnceValue(func() document.Field { return kinds.Workload().Root })
	scoreTable    = sync.OnceValue(func() document.Field { return kinds.Score().Root })
	defaultsTable = sync.OnceValue(kinds.Defaults)

	// The fields of a workload and of a container that go into the input as they are written.
	specPassed      = sync.OnceValue(func() []string { return passed(named(workloadTable(), "spec")) })
	containerPassed = sync.OnceValue(func() []string { return passed(*named(named(workloadTable(), "spec"), "containers").Each) })
)

// passed returns the names of the fields that are passed on, sorted.
func passed(table document.Field) []string {
	var out []string
	for _, f := range table.Fields {
		if f.Passed {
			out = append(out, f.Name)
		}
	}
	slices.Sort(out)
	return out
}

// location leads to a part of a document.
type location = document.Location

// decoder reads one document. The tables of render/document/kinds describe its fields; other rules
// are checked here.
type decoder struct {
	document.Decoder

	doc Document
	out Workload
}

// newDecoder returns a decoder with the rules of the document.
func newDecoder(doc Document) *decoder {
	d := &decoder{doc: doc}
	d.Loose = d.loosely
	d.Gone = d.overlaid
	if doc.Score { // Score does not allow null.
		d.Null = func(v object.Value, path object.Path) {
			if !d.overlaid(v) {
				d.Warn(v.Pos, path, "remove the field", "null is read as not set")
			}
		}
	}
	return d
}

// loosely reads an integer or a bool as text, with a warning: older files have PORT: 8080. It
// refuses a number with a point, because a reader cannot distinguish 1.10 from 1.1. Messages do
// not repeat the text, which may be a password.
func (d *decoder) loosely(v object.Value, path object.Path) bool {
	const hint = "write it in quotes"
	if v.Kind == object.KindNumber && strings.ContainsAny(v.Text, ".eE") {
		d.Fail(v.Pos, path, hint, "expected a string, got a number")
		return false
	}
	d.Warn(v.Pos, path, hint, "expected a string, got a %s, which is read as text", v.Kind)
	return true
}

// overlaid reports whether v was merged over the document from another place: another file, or
// lines outside of the document.
func (d *decoder) overlaid(v object.Value) bool {
	start := d.doc.Value.Pos
	afterEnd := d.doc.Last > 0 && v.Pos.Line > d.doc.Last
	return v.Pos.File != start.File || v.Pos.Line < start.Line || afterEnd
}

func (d *decoder) failAt(pos object.Pos, loc *location, hint, format string, args ...any) {
	d.Fail(pos, loc.Path(), hint, format, args...)
}

func (d *decoder) warnAt(pos object.Pos, loc *location, hint, format string, args ...any) {
	d.Warn(pos, loc.Path(), hint, format, args...)
}

// hold checks v, which stands at loc, against a table and returns the valid part of it.
func (d *decoder) hold(table document.Field, v object.Value, loc *location) part {
	valid, ok := d.Decode(table, v, loc.Path())
	if !ok {
		valid = object.Value{}
	}
	return part{d, valid, loc}
}

// part is a part of a document that was checked against its table: it holds only valid fields,
// and a field that is missing was not given or is reported. The zero Value means not given.
type part struct {
	*decoder
	object.Value
	loc *location
}

func (p part) reject(hint, format string, args ...any) {
	p.failAt(p.Pos, p.loc, hint, format, args...)
}
func (p part) advise(hint, format string, args ...any) {
	p.warnAt(p.Pos, p.loc, hint, format, args...)
}

// failBeside reports a mistake, with a note of the other part that it is about if that part comes
// from an environment, an option or the defaults.
func (p part) failBeside(pos object.Pos, text, format string, args ...any) {
	before := len(p.Errs)
	p.reject("", format, args...)
	if p.overlaid(object.Value{Pos: pos}) {
		for _, e := range p.Errs[before:] {
			e.Notes = append(e.Notes, object.Note{Pos: pos, Text: text})
		}
	}
}

// given reports whether the document has the part.
func (p part) given() bool { return p.Kind != object.KindNone }

// field returns a field, which is KindNone if it is not given.
func (p part) field(name string) part {
	v, _ := p.Get(name)
	if v.Kind == object.KindNone || v.Kind == object.KindNull {
		return part{decoder: p.decoder}
	}
	return part{p.decoder, v, p.loc.To(name)}
}

// entry is a member of a map whose names the author chooses.
type entry struct {
	part
	name    string
	namePos object.Pos
}

// entries returns the members of a map, in the order of the document.
func (p part) entries() []entry {
	out := make([]entry, 0, len(p.Members))
	for _, m := range p.Members {
		out = append(out, entry{part{p.decoder, m.Value, p.loc.To(m.Name)}, m.Name, m.Pos})
	}
	return out
}

// parts returns the valid items of a list.
func (p part) parts() []part {
	out := make([]part, 0, len(p.Items))
	for i, v := range p.Items {
		if v.Kind != object.KindNone {
			out = append(out, part{p.decoder, v, p.loc.Item(i)})
		}
	}
	return out
}

// asText returns the text as it was written.
func (p part) asText() Text {
	switch p.Kind {
	case object.KindNumber, object.KindBool:
		return Text{Value: p.Written(), Pos: p.Pos}
	default:
		return Text{Value: p.Text, Pos: p.Pos}
	}
}

// texts returns a list of strings.
func (p part) texts() []Text {
	var out []Text
	for _, item := range p.parts() {
		out = append(out, item.asText())
	}
	return out
}

// flag returns a bool, which is false if it is not given.
func (p part) flag() bool { return p.Text == "true" }

// number returns an integer, or false if p is not a number.
func (p part) number() (n int, ok bool) {
	n, err := strconv.Atoi(p.Text)
	return n, err == nil
}

// open returns a map that is passed on unchanged, in the shape of the Kubernetes API. The function
// hintFor returns a hint for the names that Ropewalk sets itself: it names the field to use instead.
func (p part) open(hintFor func(name string) string) object.Value {
	for _, m := range p.Members {
		if hint := hintFor(m.Name); hint != "" {
			p.failAt(m.Pos, p.loc.To(m.Name), hint, "%q is set by Ropewalk", m.Name)
		}
	}
	p.warnLiterals(useValue)
	return withoutNull(p.Value)
}

// passed returns the fields that go into the input of the module unchanged, or an absent value if
// no such field is given.
func (p part) passed(names []string) object.Value {
	var out []object.Member
	for _, name := range names {
		if v := p.field(name); v.given() {
			v.warnLiterals(useValue)
			out = append(out, object.Member{Name: name, Pos: v.Pos, Value: withoutNull(v.Value)})
		}
	}
	if len(out) == 0 {
		return object.Value{}
	}
	return object.Value{Kind: object.KindMap, Pos: p.Pos, Members: out}
}

// withoutNull returns v without the members that are null: they count as not given.
func withoutNull(v object.Value) object.Value {
	if len(v.Members) == 0 {
		return v
	}
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m object.Member) bool {
		return m.Value.Kind == object.KindNull
	})
	return v
}

// pairs returns a map of texts, sorted by name.
func (p part) pairs() []Pair {
	if len(p.Members) == 0 {
		return nil
	}
	out := make([]Pair, 0, len(p.Members))
	for _, m := range p.Members {
		out = append(out, Pair{Name: m.Name, NamePos: m.Pos, Value: part{Value: m.Value}.asText()})
	}
	slices.SortFunc(out, comparePairs)
	return out
}

func comparePairs(a, b Pair) int { return strings.Compare(a.Name, b.Name) }

// over returns the pairs of base with the pairs of overlay merged over them, sorted.
func over(base, overlay []Pair) []Pair {
	if len(base) == 0 || len(overlay) == 0 {
		return append(base, overlay...)
	}
	out := slices.Clone(overlay)
	for _, pair := range base {
		if _, found := slices.BinarySearchFunc(overlay, pair, comparePairs); !found {
			out = append(out, pair)
		}
	}
	slices.SortFunc(out, comparePairs)
	return out
}

// suggest returns the hint for a word that is not known.
func suggest(word string, known []string) string {
	const longWord, manyWords = 64, 1000
	if len(word) > longWord || len(known) > manyWords {
		return ""
	}
	return object.Suggest(word, known)
}

// shown returns a text in quotes for messages. A long text is cut.
func shown(text string) string { return document.Shown(text) }
