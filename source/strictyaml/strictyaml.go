// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package strictyaml reads YAML files of a fixed form, such as the lock and the pull
// policy: one document, known fields only and each once, text that is written as text.
// It collects all mistakes, with their positions.
//
// Callers: source/lock, source/pullpolicy.
package strictyaml

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Reader reads one file. The methods report mistakes to it and go on with zero values.
type Reader struct {
	// Name is what errors call the file.
	Name     string
	mistakes []mistake
}

type mistake struct {
	line, column int
	text         string
}

// Fail reports a mistake; at is nil for one of the whole file.
func (r *Reader) Fail(at *yaml.Node, format string, args ...any) {
	m := mistake{text: r.Name + ": " + fmt.Sprintf(format, args...)}
	if at != nil {
		m.line, m.column = at.Line, at.Column
		m.text = fmt.Sprintf("%s:%d:%d: %s", r.Name, at.Line, at.Column, fmt.Sprintf(format, args...))
	}
	r.mistakes = append(r.mistakes, m)
}

// Mistakes are those that were reported, by position.
func (r *Reader) Mistakes() []string {
	slices.SortStableFunc(r.mistakes, func(a, b mistake) int { return cmp.Or(a.line-b.line, a.column-b.column) })
	var out []string
	for _, m := range r.mistakes {
		out = append(out, m.text)
	}
	return out
}

// Document is the fields of the only document of data, which must be of this version and
// kind; nil with a mistake.
func (r *Reader) Document(data []byte, apiVersion, kind string, known ...string) map[string]*yaml.Node {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		r.Fail(nil, "the file is empty: expected apiVersion, kind, %s", strings.Join(known, ", "))
		return nil
	case err != nil:
		r.Fail(nil, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		r.Fail(nil, "it has more than one document")
		return nil
	}
	root := doc.Content[0]
	fields := r.Fields(root, "a "+kind, append([]string{"apiVersion", "kind"}, known...)...)
	r.Text(r.Need(root, fields, "the "+kind, "apiVersion"), "apiVersion", apiVersion)
	r.Text(r.Need(root, fields, "the "+kind, "kind"), "kind", kind)
	return fields
}

// Fields are the fields of a mapping, of which only the known ones may be there.
func (r *Reader) Fields(n *yaml.Node, what string, known ...string) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	if n.Kind != yaml.MappingNode {
		r.Fail(n, "%s: expected a mapping with %s", what, strings.Join(known, ", "))
		return out
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case !slices.Contains(known, key.Value):
			r.Fail(key, "%s has no field %q: it has %s", what, key.Value, strings.Join(known, ", "))
		case out[key.Value] != nil:
			r.Fail(key, "%s has %q twice", what, key.Value)
		default:
			out[key.Value] = value
		}
	}
	return out
}

// Need is the field of a name, which must be there.
func (r *Reader) Need(n *yaml.Node, fields map[string]*yaml.Node, what, name string) *yaml.Node {
	if fields[name] == nil && n.Kind == yaml.MappingNode {
		r.Fail(n, "%s lacks %s", what, name)
	}
	return fields[name]
}

// Text is a value that is text, and not empty; words, if there are any, are all that it
// may be. A nil node is "".
func (r *Reader) Text(n *yaml.Node, what string, words ...string) string {
	switch {
	case n == nil:
		return ""
	case n.Kind != yaml.ScalarNode || n.Tag != "!!str" || n.Value == "":
		r.Fail(n, "%s: expected text", what)
		return ""
	case len(words) > 0 && !slices.Contains(words, n.Value):
		r.Fail(n, "%s is %q: expected %s", what, n.Value, strings.Join(words, " or "))
		return ""
	}
	return n.Value
}

// List is the elements of a list; a nil node has none.
func (r *Reader) List(n *yaml.Node, what string) []*yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.Fail(n, "%s: expected a list", what)
		return nil
	}
	return n.Content
}
