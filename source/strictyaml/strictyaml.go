// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package strictyaml reads YAML files of a fixed form, such as the lock and the pull
// policy: one document, known fields only and each once, text that is written as text.
// It collects all mistakes, with their positions.
package strictyaml

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Reader reads one file. The methods report mistakes to it and go on with zero values.
type Reader struct {
	// Name names the file in errors.
	Name     string
	mistakes []Mistake
}

// Mistake is one mistake in a file.
type Mistake struct {
	// Line and Column count from 1; both are 0 for the file as a whole, Column is 0 for a
	// line as a whole.
	Line, Column int
	Text         string
}

// Error is the mistakes in a file, by position. Its text has a line for each.
type Error struct {
	Name     string
	Mistakes []Mistake
	// Hint says what to do, if there is something to say.
	Hint string
	// Is is the sentinel for errors.Is, or nil.
	Is error
}

func (e *Error) Unwrap() error { return e.Is }

func (e *Error) Error() string {
	var lines []string
	for _, m := range e.Mistakes {
		position := e.Name
		for _, n := range []int{m.Line, m.Column} {
			if n > 0 {
				position += ":" + strconv.Itoa(n)
			}
		}
		lines = append(lines, position+": "+m.Text)
	}
	text := strings.Join(lines, "\n")
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// Fail reports a mistake; node is nil for a mistake of the whole file.
func (r *Reader) Fail(node *yaml.Node, format string, args ...any) {
	m := Mistake{Text: fmt.Sprintf(format, args...)}
	if node != nil {
		m.Line, m.Column = node.Line, node.Column
	}
	r.mistakes = append(r.mistakes, m)
}

// Err returns the mistakes that were reported as one [Error] with this hint and sentinel; nil if
// there are no mistakes.
func (r *Reader) Err(hint string, is error) error {
	if len(r.mistakes) == 0 {
		return nil
	}
	slices.SortStableFunc(r.mistakes, func(a, b Mistake) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return &Error{Name: r.Name, Mistakes: r.mistakes, Hint: hint, Is: is}
}

// reportSyntax reports an error of the parser, and a merge conflict as such.
func (r *Reader) reportSyntax(data []byte, err error) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if bytes.HasPrefix(line, []byte("<<<<<<< ")) {
			r.mistakes = append(r.mistakes, Mistake{Line: n, Column: 1, Text: "a merge conflict begins here that is not resolved"})
			return
		}
	}
	m := Mistake{Text: strings.TrimPrefix(err.Error(), "yaml: ")}
	if found := regexp.MustCompile(`^line (\d+): (.*)$`).FindStringSubmatch(m.Text); found != nil {
		m.Line, _ = strconv.Atoi(found[1])
		m.Text = found[2]
	}
	m.Text = "the YAML is not well-formed: " + m.Text
	r.mistakes = append(r.mistakes, m)
}

// Document returns the fields of the only document of data, which must have this version and
// kind. It returns nil and reports a mistake where it cannot.
func (r *Reader) Document(data []byte, apiVersion, kind string, fieldNames ...string) map[string]*yaml.Node {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		r.Fail(nil, "the file is empty: expected apiVersion, kind, %s", strings.Join(fieldNames, ", "))
		return nil
	case err != nil:
		r.reportSyntax(data, err)
		return nil
	}
	switch err := d.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		r.reportSyntax(data, err)
		return nil
	default:
		r.Fail(&second, "it has more than one document")
		return nil
	}
	root := doc.Content[0]
	fields := r.Fields(root, "a "+kind, append([]string{"apiVersion", "kind"}, fieldNames...)...)
	r.Text(r.Need(root, fields, "the "+kind, "apiVersion"), "apiVersion", apiVersion)
	r.Text(r.Need(root, fields, "the "+kind, "kind"), "kind", kind)
	return fields
}

// Fields returns the fields of a mapping. A field that is not known is a mistake.
func (r *Reader) Fields(n *yaml.Node, noun string, names ...string) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	if n.Kind != yaml.MappingNode {
		r.Fail(n, "%s: expected a mapping with %s", noun, strings.Join(names, ", "))
		return out
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case !slices.Contains(names, key.Value):
			r.Fail(key, "%s has no field %q: it has %s", noun, key.Value, strings.Join(names, ", "))
		case out[key.Value] != nil:
			r.Fail(key, "%s has %q twice", noun, key.Value)
		default:
			out[key.Value] = value
		}
	}
	return out
}

// Need returns the field of a name. If it is missing, that is a mistake.
func (r *Reader) Need(n *yaml.Node, fields map[string]*yaml.Node, noun, name string) *yaml.Node {
	if fields[name] == nil && n.Kind == yaml.MappingNode {
		r.Fail(n, "%s lacks %s", noun, name)
	}
	return fields[name]
}

// Text returns a value that is text and not empty. If words are given, the value must be one
// of them. A nil node is "".
func (r *Reader) Text(n *yaml.Node, noun string, words ...string) string {
	switch {
	case n == nil:
		return ""
	case n.Kind != yaml.ScalarNode || n.Tag != "!!str" || n.Value == "":
		r.Fail(n, "%s: expected text", noun)
		return ""
	case len(words) > 0 && !slices.Contains(words, n.Value):
		r.Fail(n, "%s is %q: expected %s", noun, n.Value, strings.Join(words, " or "))
		return ""
	}
	return n.Value
}

// List returns the elements of a list; a nil node has no elements.
func (r *Reader) List(n *yaml.Node, noun string) []*yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.Fail(n, "%s: expected a list", noun)
		return nil
	}
	return n.Content
}
