// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// Structured is a document that was never text: an object of a cluster. It follows the rules of
// text. Its positions are lines of a file that does not exist; PathAt returns the field of a
// position.
type Structured struct {
	// File is to be read with [Parse].
	File File

	doc   parsed
	lines []structuredLine // ascending
	next  int
}

// structuredLine is the line of a value, and the step that leads to it from the value at the index
// parent, or -1. A text has its own lines after it.
type structuredLine struct {
	line, parent int
	step         object.Step
}

// maxStructured limits the values of such a document. An object of a cluster has less than a megabyte
// and a half, which could consist of values only.
const maxStructured = 100_000

// NewStructured returns a document called name. The argument doc is JSON in Go, with numbers as json.Number.
func NewStructured(name string, doc map[string]any) *Structured {
	s := &Structured{File: File{Name: name}, doc: parsed{blocks: map[object.Pos]Block{}}, next: 1}
	s.doc.value = s.value(doc, -1, object.Step{}, 0)
	s.File.structured = &s.doc
	return s
}

// PathAt returns the field at a position, such as spec.input.replicas. In a text it adds a line and
// a column: spec.cueRef.ref:16:20.
func (s *Structured) PathAt(pos object.Pos) string {
	i := sort.Search(len(s.lines), func(i int) bool { return s.lines[i].line > pos.Line }) - 1
	if i < 0 {
		return ""
	}
	line := s.lines[i]
	var path object.Path
	for l := line; l.parent >= 0; l = s.lines[l.parent] {
		path = append(path, l.step)
	}
	slices.Reverse(path)
	if n := pos.Line - line.line; n > 0 {
		return fmt.Sprintf("%s:%d:%d", path, n, max(1, pos.Column))
	}
	return path.String()
}

// value returns v with a position for each of its parts. The step leads to it from the line parent.
func (s *Structured) value(v any, parent int, step object.Step, depth int) object.Value {
	out := object.Value{Pos: object.Pos{File: s.File.Name, Line: s.next, Column: 1}}
	index := len(s.lines)

	// The document is bounded in its values and its depth, and each value has a line.
	switch {
	case index > maxStructured:
		return out // The limit is reported once.
	case index == maxStructured:
		s.fail(out.Pos, "the document holds more than %d values, which no flag allows", maxStructured)
	}
	s.lines = append(s.lines, structuredLine{line: s.next, parent: parent, step: step})
	s.next++
	if depth > maxDepth {
		s.fail(out.Pos, "maps and lists are nested more than %d deep, which no flag allows", maxDepth)
		return out
	}

	// Names are sorted, so that the lines are the same each time.
	switch v := v.(type) {
	case map[string]any:
		out.Kind = object.KindMap
		for _, name := range slices.Sorted(maps.Keys(v)) {
			value := s.value(v[name], index, object.Field(name), depth+1)
			out.Members = append(out.Members, object.Member{Name: name, Pos: value.Pos, Value: value})
		}
	case []any:
		out.Kind = object.KindList
		out.Items = make([]object.Value, len(v))
		for i := range v {
			out.Items[i] = s.value(v[i], index, object.Index(i), depth+1)
		}
	case string:
		out.Kind, out.Text = object.KindString, v
		if strings.Contains(strings.TrimRight(v, "\n"), "\n") {
			s.doc.blocks[out.Pos] = Block{Pos: object.Pos{File: s.File.Name, Line: s.next, Column: 1}}
			s.next += strings.Count(v, "\n") + 1
		}
	case json.Number:
		text, problem := numberText(v.String(), !strings.ContainsAny(v.String(), ".eE"))
		if problem != "" {
			s.fail(out.Pos, problem, v)
		}
		out.Kind, out.Text = object.KindNumber, text
	case bool:
		out.Kind, out.Text = object.KindBool, fmt.Sprint(v)
	default:
		out.Kind = object.KindNull
	}
	return out
}

func (s *Structured) fail(pos object.Pos, format string, args ...any) {
	if len(s.doc.errs) < maxErrors {
		s.doc.errs = append(s.doc.errs, mistake(pos, nil, "", format, args...))
	}
}
