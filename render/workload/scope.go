// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// scope resolves the placeholders of one workload.
type scope struct {
	member *member
	// alone is set if the project has no other workload: the target of a call is not in
	// this render then, and that by itself deserves no warning.
	alone bool
	// result returns the result of a resource, or nil if it is not made: not yet, or
	// not at all for a reason that is reported elsewhere.
	result func(*instance) *resource.Result
	// secret names the reference behind a sensitive output, by the name that
	// the workload has for the resource.
	secret func(resource, output string, at resource.Reference) *generate.Secret
}

// position is the place of a text in a file and in a document.
type position struct {
	pos  object.Pos
	path func() string
	// lines is set if the lines of the text are lines of the file, each with
	// indent columns before it; otherwise only the start of the text is known.
	lines  bool
	indent int
}

// sensitive reports whether the text is below the name of a secret.
func (p position) sensitive() bool {
	path, ok := object.ReadPath(p.path())
	return ok && slices.ContainsFunc(path, func(s object.Step) bool { return object.SensitiveName(s.Name) })
}

// within returns the position of the byte at offset in the text raw.
func (p position) within(raw string, offset int) object.Pos {
	if !p.lines || !p.pos.IsValid() {
		return p.pos
	}
	before := raw[:min(offset, len(raw))]
	pos := p.pos
	if n := strings.Count(before, "\n"); n > 0 {
		pos.Line += n
		pos.Column = 1 + p.indent
		before = before[strings.LastIndexByte(before, '\n')+1:]
	}
	pos.Column += len(before)
	return pos
}

// inContent returns the position of the content of a file that the document itself holds.
func inContent(f score.File, path func() string) position {
	return position{pos: f.Content.Pos, path: path, lines: f.Indent > 0, indent: f.Indent}
}

// inSource returns the position of the content of a source file, whose path is relative to the
// document.
func inSource(f score.File, fieldPath func() string) position {
	file := f.Source.Value
	if !path.IsAbs(file) {
		file = path.Join(path.Dir(f.Source.Pos.File), file)
	}
	return position{pos: object.Pos{File: file, Line: 1, Column: 1}, path: fieldPath, lines: true}
}

// literal returns a text that is not expanded.
func literal(raw string, pos object.Pos) generate.Text {
	if raw == "" {
		return generate.Text{Pos: pos}
	}
	return generate.Text{Pieces: []generate.Piece{{Literal: raw}}, Pos: pos}
}

func mistake(hint, format string, args ...any) *object.Error {
	return &object.Error{Err: fmt.Errorf(format, args...), Hint: hint}
}

// secretIn returns the mistake of a text that holds a secret and must not. The argument resource
// is the name of the resource that has the text, or "".
func secretIn(pos object.Pos, path, what, resource string) *object.Error {
	e := &object.Error{
		Stage: object.StageSpec, Pos: pos, Path: path,
		Err:  fmt.Errorf("%s cannot hold a secret", what),
		Hint: "refer to outputs that are not secrets; secrets go into variables and files",
	}
	if resource != "" {
		e.Err = fmt.Errorf("%s cannot hold a secret, and this text of the resource %q refers to one", what, resource)
	}
	return e
}

// mapTexts returns v, in which each text that may hold a placeholder is replaced by the result of
// expand. It returns false if expand returned false for any text. Names of maps are left
// unchanged, as Score wants.
func mapTexts(
	v object.Value, path object.Path, expand func(object.Value, object.Path) (object.Value, bool, object.Errors),
) (object.Value, bool, object.Errors) {
	var errs object.Errors
	complete := true
	switch v.Kind {
	case object.KindString:
		if strings.IndexByte(v.Text, '$') >= 0 {
			return expand(v, path)
		}
	case object.KindList:
		items := make([]object.Value, len(v.Items))
		for n, item := range v.Items {
			out, ok, mistakes := mapTexts(item, path.Append(object.Index(n)), expand)
			items[n] = out
			complete = complete && ok
			errs = append(errs, mistakes...)
		}
		v.Items = items
	case object.KindMap:
		members := make([]object.Member, len(v.Members))
		for n, m := range v.Members {
			out, ok, mistakes := mapTexts(m.Value, path.Append(object.Field(m.Name)), expand)
			members[n] = object.Member{Name: m.Name, Pos: m.Pos, Value: out}
			complete = complete && ok
			errs = append(errs, mistakes...)
		}
		v.Members = members
	default:
	}
	return v, complete, errs
}
