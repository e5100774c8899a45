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

// The tables that documents are held against, made when they are first needed: a project has
// thousands of documents.
//
//nolint:gochecknoglobals // constants
var (
	workloadTable = sync.OnceValue(func() document.Field { return kinds.Workload().Root })
	scoreTable    = sync.OnceValue(func() document.Field { return kinds.Score().Root })
	defaultsTable = sync.OnceValue(kinds.Defaults)

	// What goes into the input as it is written, of a workload and of a container.
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

// decoder reads one document: the tables of render/document/kinds say what its fields may
// be, and the rest is checked here.
type decoder struct {
	document.Decoder

	doc Document
	out Workload
}

func newDecoder(doc Document) *decoder {
	d := &decoder{doc: doc}
	d.Loose = d.loosely
	d.Gone = d.overlaid
	if doc.Score { // Score does not allow null.
		d.Null = func(v object.Value, at object.Path) {
			if !d.overlaid(v) {
				d.Warn(v.Pos, at, "remove the field", "null is read as not set")
			}
		}
	}
	return d
}

// loosely reads an integer or a bool as text, with a warning: older files have PORT: 8080. It
// refuses a number with a point, because a reader cannot distinguish 1.10 from 1.1. Messages do
// not repeat the text, which may be a password.
func (d *decoder) loosely(v object.Value, at object.Path) bool {
	const hint = "write it in quotes"
	if v.Kind == object.KindNumber && strings.ContainsAny(v.Text, ".eE") {
		d.Fail(v.Pos, at, hint, "expected a string, got a number")
		return false
	}
	d.Warn(v.Pos, at, hint, "expected a string, got a %s, which is read as text", v.Kind)
	return true
}

// overlaid reports whether v was merged over the document from elsewhere.
func (d *decoder) overlaid(v object.Value) bool {
	own := d.doc.Value.Pos
	return v.Pos.File != own.File || v.Pos.Line < own.Line || d.doc.Last > 0 && v.Pos.Line > d.doc.Last
}

func (d *decoder) fail(pos object.Pos, at *location, hint, format string, args ...any) {
	d.Fail(pos, at.Path(), hint, format, args...)
}

func (d *decoder) warn(pos object.Pos, at *location, hint, format string, args ...any) {
	d.Warn(pos, at.Path(), hint, format, args...)
}

// hold checks v against a table and returns the valid part of it. The argument at is where v is
// in its document.
func (d *decoder) hold(table document.Field, v object.Value, at *location) part {
	good, ok := d.Decode(table, v, at.Path())
	if !ok {
		good = object.Value{}
	}
	return part{d, good, at}
}

// part is a part of a document that was held against its table: what is in it is right, and
// what is not there was not given or is reported. The zero Value is one that is not there.
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

// failBeside reports a mistake, with a note of the other part that it is about if that part was
// merged over the document or is in the defaults below it.
func (p part) failBeside(pos object.Pos, text, format string, args ...any) {
	before := len(p.Errs)
	p.fail("", format, args...)
	if p.overlaid(object.Value{Pos: pos}) {
		for _, e := range p.Errs[before:] {
			e.Notes = append(e.Notes, object.Note{Pos: pos, Text: text})
		}
	}
}

// given reports whether there is anything at p.
func (p part) given() bool { return p.Kind != object.KindNone }

// get returns a field, which is KindNone if it is not given.
func (p part) get(name string) part {
	v, _ := p.Get(name)
	if v.Kind == object.KindNone || v.Kind == object.KindNull {
		return part{decoder: p.decoder}
	}
	return part{p.decoder, v, p.at.To(name)}
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
		out = append(out, entry{part{p.decoder, m.Value, p.at.To(m.Name)}, m.Name, m.Pos})
	}
	return out
}

// items returns the valid items of a list.
func (p part) items() []part {
	out := make([]part, 0, len(p.Items))
	for i, v := range p.Items {
		if v.Kind != object.KindNone {
			out = append(out, part{p.decoder, v, p.at.Item(i)})
		}
	}
	return out
}

// text returns what was written.
func (p part) text() Text {
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
	for _, item := range p.items() {
		out = append(out, item.text())
	}
	return out
}

// flag returns a bool, which is false if it is not given.
func (p part) flag() bool { return p.Text == "true" }

// number returns an integer, or false if there is none.
func (p part) number() (n int, ok bool) {
	n, err := strconv.Atoi(p.Text)
	return n, err == nil
}

// open returns a map that is passed on unchanged, in the shape of the Kubernetes API. For the
// names that Ropewalk sets itself, the function owned returns a hint that names the field to use
// instead.
func (p part) open(owned func(name string) string) object.Value {
	for _, m := range p.Members {
		if hint := owned(m.Name); hint != "" {
			p.decoder.fail(m.Pos, p.at.To(m.Name), hint, "%q is set by Ropewalk", m.Name)
		}
	}
	p.warnLiterals(useValue)
	return withoutNull(p.Value)
}

// passed returns the fields that go into the input of the module unchanged, or an absent value if
// there is none.
func (p part) passed(names []string) object.Value {
	var out []object.Member
	for _, name := range names {
		if v := p.get(name); v.given() {
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
		out = append(out, Pair{Name: m.Name, NamePos: m.Pos, Value: part{Value: m.Value}.text()})
	}
	slices.SortFunc(out, comparePairs)
	return out
}

func comparePairs(a, b Pair) int { return strings.Compare(a.Name, b.Name) }

// over returns the pairs of under with those of top merged over them, sorted.
func over(under, top []Pair) []Pair {
	if len(under) == 0 || len(top) == 0 {
		return append(under, top...)
	}
	out := slices.Clone(top)
	for _, u := range under {
		if _, found := slices.BinarySearchFunc(top, u, comparePairs); !found {
			out = append(out, u)
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

// shown returns a text in quotes as messages repeat it. A long text is cut.
func shown(text string) string { return document.Shown(text) }
