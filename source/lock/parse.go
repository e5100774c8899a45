// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxBytes is how large a lock may be: some twenty thousand entries.
const maxBytes = 8 << 20

// Parse reads the text of a file; name is what errors call it. Every error has
// the line that it is about.
func Parse(name string, data []byte) (File, error) {
	p := parser{name: name}
	if len(data) > maxBytes {
		return File{}, p.fail(nil, "the file is larger than %d bytes", maxBytes)
	}
	root, err := p.document(data)
	if err != nil {
		return File{}, err
	}
	return p.file(root)
}

type parser struct{ name string }

func (p parser) fail(at *yaml.Node, format string, args ...any) error {
	where := p.name
	if at != nil {
		where = fmt.Sprintf("%s:%d", p.name, at.Line)
	}
	return fmt.Errorf("%s: %s: delete the file and run %q, or take it from version control again", where, fmt.Sprintf(format, args...), "ropewalk lock")
}

// document is the only document of data.
func (p parser) document(data []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, p.fail(nil, "the file is empty")
	} else if err != nil {
		return nil, p.fail(nil, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, p.fail(nil, "it holds more than one document")
	}
	return doc.Content[0], nil
}

func (p parser) file(root *yaml.Node) (File, error) {
	fields, err := p.fields(root, "apiVersion", "kind", "sources", "modules")
	if err != nil {
		return File{}, err
	}
	for _, want := range []struct{ field, value string }{{"apiVersion", APIVersion}, {"kind", Kind}} {
		got, err := p.text(root, fields, want.field)
		if err != nil {
			return File{}, err
		}
		if got != want.value {
			return File{}, p.fail(fields[want.field], "%s is %q; expected %q", want.field, got, want.value)
		}
	}
	var out File
	if out.Sources, err = list(p, fields["sources"], p.source); err != nil {
		return File{}, err
	}
	if out.Modules, err = list(p, fields["modules"], p.module); err != nil {
		return File{}, err
	}
	return out.sorted(), nil
}

// list reads a list of entries, each once.
func list[E any](p parser, node *yaml.Node, read func(*yaml.Node) (E, string, error)) ([]E, error) {
	if node == nil {
		return nil, nil
	}
	if node.Kind != yaml.SequenceNode {
		return nil, p.fail(node, "expected a list")
	}
	var out []E
	seen := map[string]int{}
	for _, item := range node.Content {
		e, key, err := read(item)
		if err != nil {
			return nil, err
		}
		if line, twice := seen[key]; twice {
			return nil, p.fail(item, "this entry is in line %d already", line)
		}
		seen[key] = item.Line
		out = append(out, e)
	}
	return out, nil
}

func (p parser) source(node *yaml.Node) (Source, string, error) {
	fields, err := p.fields(node, "type", "ref", "path", "revision", "pinned", "digest")
	if err != nil {
		return Source{}, "", err
	}
	var s Source
	for _, field := range []struct {
		name     string
		to       *string
		optional bool
	}{
		{"type", &s.Type, false}, {"ref", &s.Ref, false}, {"digest", &s.Digest, false},
		{"path", &s.Path, true}, {"revision", &s.Revision, true}, {"pinned", &s.Pinned, true},
	} {
		if field.optional && fields[field.name] == nil {
			continue
		}
		if *field.to, err = p.text(node, fields, field.name); err != nil {
			return Source{}, "", err
		}
	}
	if !Locks(s.Type) {
		return Source{}, "", p.fail(fields["type"], "references of type %q are never locked", s.Type)
	}
	return s, strings.Join([]string{s.Type, s.Ref, s.Path}, "\x00"), p.digest(fields["digest"], s.Digest)
}

func (p parser) module(node *yaml.Node) (Module, string, error) {
	fields, err := p.fields(node, "module", "version", "digest")
	if err != nil {
		return Module{}, "", err
	}
	var m Module
	if m.Module, err = p.text(node, fields, "module"); err != nil {
		return Module{}, "", err
	}
	if m.Version, err = p.text(node, fields, "version"); err != nil {
		return Module{}, "", err
	}
	if m.Digest, err = p.text(node, fields, "digest"); err != nil {
		return Module{}, "", err
	}
	return m, m.Module + "\x00" + m.Version, p.digest(fields["digest"], m.Digest)
}

// fields is the values of a map that has only these.
func (p parser) fields(node *yaml.Node, known ...string) (map[string]*yaml.Node, error) {
	if node.Kind != yaml.MappingNode {
		return nil, p.fail(node, "expected the fields %s", strings.Join(known, ", "))
	}
	out := map[string]*yaml.Node{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		name := ""
		for _, k := range known {
			if key.Kind == yaml.ScalarNode && key.Value == k {
				name = k
			}
		}
		if name == "" {
			return nil, p.fail(key, "unknown field %q; expected %s", key.Value, strings.Join(known, ", "))
		}
		if out[name] != nil {
			return nil, p.fail(key, "field %q is there twice", name)
		}
		out[name] = value
	}
	return out, nil
}

// text is the value of a field of node, a string that is not empty.
func (p parser) text(node *yaml.Node, fields map[string]*yaml.Node, name string) (string, error) {
	value := fields[name]
	switch {
	case value == nil:
		return "", p.fail(node, "field %q is missing", name)
	case value.Kind != yaml.ScalarNode || value.Tag != "!!str" || value.Anchor != "":
		return "", p.fail(value, "field %q is no string", name)
	case value.Value == "":
		return "", p.fail(value, "field %q is empty", name)
	}
	return value.Value, nil
}

// digest checks the form of a digest.
func (p parser) digest(at *yaml.Node, digest string) error {
	hex, ok := strings.CutPrefix(digest, "sha256:")
	if !ok || len(hex) != 64 || strings.Trim(hex, "0123456789abcdef") != "" {
		return p.fail(at, "%q is no digest; expected sha256: and 64 digits of 0-9a-f", digest)
	}
	return nil
}
