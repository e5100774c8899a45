// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package krm

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// location is the place of a mistake in the list.
type location struct {
	item item
	// field is the path of the field in the item, "" for the whole.
	field string
	// line is the line inside of the text of the field, such as the line of an inline module; 0 for
	// the whole.
	line int
	// value is the item as the position has it.
	value object.Value
}

// String returns the location for users.
func (p location) String() string {
	out := p.item.title()
	if within := p.within(); within != "" {
		out += ": " + within
	}
	return out
}

// within returns the location inside the item.
func (p location) within() string {
	if p.line > 0 {
		return p.field + " line " + strconv.Itoa(p.line)
	}
	return p.field
}

// results returns mistakes and warnings as a list has them.
func (d documents) results(found object.Errors) []any {
	out := make([]any, 0, len(found))
	for _, e := range found.Sorted() {
		out = append(out, d.result(e))
	}
	return out
}

// result returns one entry of results: a Result of the KRM functions specification.
func (d documents) result(e *object.Error) map[string]any {
	// Tags have what the specification has no field for.
	tags := map[string]any{"stage": string(e.Stage)}
	if e.Node != "" {
		tags["node"] = string(e.Node)
	}
	if e.Policy != "" {
		tags["policy"] = e.Policy
	}
	severity := e.Severity.String()
	if e.Severity == object.SeverityNote {
		severity = "info" // The specification has no other name for it.
	}
	out := map[string]any{"severity": severity, "tags": tags}

	// The location is an item of the list, or a file of the user.
	place, inside := d.locate(e)
	switch {
	case inside:
		if place.item.object != nil {
			out["resourceRef"] = reference(place.item.object)
		}
		if place.field != "" {
			out["field"] = map[string]any{"path": e.Secrets.Hide(place.field)}
		}
		if path, index := place.item.file(); path != "" {
			file := map[string]any{"path": path}
			if n, err := strconv.ParseInt(index, 10, 32); err == nil {
				file["index"] = n
			}
			out["file"] = file
		}
	case e.Pos.IsValid() && !strings.HasPrefix(e.Pos.File, "--"):
		out["file"] = map[string]any{"path": e.Pos.File}
	}
	out["message"] = d.message(e, place, inside)
	return out
}

// reference names the document that a result is about.
func reference(o object.Object) map[string]any {
	out := map[string]any{"apiVersion": o.APIVersion(), "kind": o.Kind(), "name": o.Name()}
	if o.Namespace() != "" {
		out["namespace"] = o.Namespace()
	}
	return out
}

// message returns the text of a result, without what its other fields hold.
func (d documents) message(e *object.Error, place location, inside bool) string {
	var b strings.Builder
	switch {
	case inside && place.line > 0:
		fmt.Fprintf(&b, "line %d: ", place.line)
	case !inside && e.Pos.IsValid():
		b.WriteString(e.Pos.String() + ": ")
	}
	short := *e
	if inside && e.Path == place.field {
		short.Path = ""
	}
	b.WriteString(short.Sentence())
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	for _, n := range d.notes(e) {
		b.WriteString("; " + n.Pos.String() + ": " + n.Text)
	}
	return e.Secrets.Hide(b.String())
}

// notes returns the further locations of a mistake, in terms of the list. A note is left out if it
// names only the item of the mistake.
func (d documents) notes(e *object.Error) []object.Note {
	var out []object.Note
	for _, n := range e.Notes {
		at, ok := d.find(n.Pos)
		switch {
		case ok && at.field == "":
			continue
		case ok:
			n.Pos = object.Pos{File: at.String()}
		}
		out = append(out, n)
	}
	return out
}

// withFiles returns the mistakes with the files of items in place of positions in the text.
func (d documents) withFiles(found object.Errors) object.Errors {
	out := make(object.Errors, 0, len(found))
	for _, e := range found.Sorted() {
		n := *e
		if place, ok := d.locate(e); ok {
			n.Pos = object.Pos{File: place.item.title()}
			switch {
			case e.Node == "" && (e.Path == "" || e.Path == place.field):
				n.Path = e.Secrets.Hide(place.within())
			case e.Node == "":
				n.Path = e.Secrets.Hide(place.within()) + ": " + e.Path
			case place.field != "":
				n.Pos.File = e.Secrets.Hide(place.String())
			}
		}
		n.Notes = d.notes(e)
		out = append(out, &n)
	}
	return out
}

// locate returns the location of a mistake, and false if it is in no item.
func (d documents) locate(e *object.Error) (location, bool) {
	if name := d.settings.annotation(e.Pos.File); name != "" {
		return location{item: d.config, field: object.Fields("metadata", "annotations", name).String()}, true
	}
	pos, ok := d.find(e.Pos)
	if !ok {
		return location{}, false
	}
	// The path is nearer than what a position tells, except for a mistake in the text of a module,
	// whose path begins at its root.
	if e.Node == "" && e.Path != "" && pos.line == 0 {
		if _, found := pos.value.Lookup(object.ParsePath(e.Path)); found > 0 || pos.field == "" {
			pos.field = e.Path
		}
	}
	return pos, true
}

// find returns the location of a position in the text, and false if it is in no item.
func (d documents) find(pos object.Pos) (location, bool) {
	if pos.File != stdin {
		return location{}, false
	}
	for i, p := range d.parts {
		if pos.Line < p.first || pos.Line > p.last {
			continue
		}
		out := location{item: p.item}
		// The text is ours, so that it can be read.
		docs, _ := spec.ParseDocuments(spec.File{Name: stdin, Data: d.text}, MaxList)
		if i < len(docs) {
			out.value = docs[i].Value
			out.field, out.line = field(docs[i], pos)
		}
		return out, true
	}
	return location{item: d.config}, true
}

// specPos returns the position of a spec in the text, or none if a file holds it.
func (d documents) specPos(name string) object.Pos {
	for _, p := range d.parts {
		if p.item.object.Name() == name && p.item.isSpec() {
			return object.Pos{File: stdin, Line: p.first + 1, Column: 1}
		}
	}
	return object.Pos{}
}

// field returns the field of a document that a position is in, and the line of its text if it has
// several.
func field(doc spec.Manifest, pos object.Pos) (string, int) {
	v := doc.Value
	path := object.Path{}
	for v.Pos != pos {
		next, step, ok := below(v, pos)
		if !ok {
			break
		}
		v = next
		path = path.Append(step)
	}
	if text, ok := doc.Blocks[v.Pos]; ok && pos.Line >= text.Pos.Line {
		return path.String(), pos.Line - text.Pos.Line + 1
	}
	return path.String(), 0
}

// below returns the last part of v that does not begin behind pos.
func below(v object.Value, pos object.Pos) (next object.Value, step object.Step, ok bool) {
	for _, m := range v.Members {
		if m.Pos.Compare(pos) <= 0 {
			next, step, ok = m.Value, object.Field(m.Name), true
		}
	}
	for i, e := range v.Items {
		if e.Pos.Compare(pos) <= 0 {
			next, step, ok = e, object.Index(i), true
		}
	}
	return next, step, ok
}
