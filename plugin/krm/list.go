// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package krm

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// What a list is called.
const (
	listGroup = "config.kubernetes.io/"
	listKind  = "ResourceList"
)

// stdin is the name of standard input in positions; the host calls it so too.
const stdin = "stdin"

// list is a ResourceList.
type list struct {
	apiVersion string
	items      []item
	// config is functionConfig; its object is nil where the list has no functionConfig.
	config  item
	results []any
}

// item is one object of a list.
type item struct {
	// object is nil where the item is not an object.
	object object.Object
	value  object.Value
	// text is the item as it is written, without a list around it.
	text []byte
}

// parse reads a list.
func parse(data []byte) (*list, error) {
	docs, err := spec.ParseDocuments(spec.File{Name: stdin, Data: data}, MaxList)
	if err != nil {
		return nil, err
	}
	if len(docs) != 1 {
		return nil, notList(object.Pos{File: stdin}, "%w, got %d documents", errNoList, len(docs))
	}

	// The version of a list may be any of its group.
	value := docs[0].Value
	kind, _ := value.Get("kind")
	version, _ := value.Get("apiVersion")
	if kind.Text != listKind || !strings.HasPrefix(version.Text, listGroup) {
		return nil, notList(value.Pos, "%w, got %q of %q", errNoList, kind.Text, version.Text)
	}

	// Each item is kept as it was written, with its comments.
	root, err := nodes(data, value)
	if err != nil {
		return nil, notList(value.Pos, "%w: %w", errNoList, err)
	}
	out := &list{apiVersion: version.Text}
	if config, ok := value.Get("functionConfig"); ok && config.Kind == object.KindMap {
		out.config, err = itemOf(config, child(root, "functionConfig"))
		if err != nil {
			return nil, notList(config.Pos, "functionConfig: %w", err)
		}
	}
	items, _ := value.Get("items")
	written := child(root, "items")
	if items.Kind == object.KindNone || items.Kind == object.KindNull {
		return out, nil
	}
	if items.Kind != object.KindList || len(written.Content) != len(items.Items) {
		return nil, notList(items.Pos, "items: expected a list, got a %s", items.Kind)
	}
	for i, v := range items.Items {
		entry, err := itemOf(v, written.Content[i])
		if err != nil {
			return nil, notList(v.Pos, "items[%d]: %w", i, err)
		}
		out.items = append(out.items, entry)
	}
	return out, nil
}

// notList returns an error about the list at a position.
func notList(pos object.Pos, format string, args ...any) error {
	e := mistake("", format, args...)
	for _, m := range object.AsErrors(e, object.StageSpec) {
		m.Pos = pos
	}
	return e
}

// nodes returns the list as the YAML library has it, which keeps comments, styles and the order of
// keys. JSON, which has none of them, is converted to canonical YAML.
func nodes(data []byte, value object.Value) (*yaml.Node, error) {
	if start := bytes.TrimLeft(data, " \t\r\n"); len(start) > 0 && start[0] == '{' && json.Valid(start) {
		whole, err := object.Decode(value.JSON())
		if err != nil {
			return nil, err
		}
		data = emit.YAML(whole)
	}
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&doc); err != nil {
		return nil, err
	}
	return doc.Content[0], nil
}

// child returns a member of a map, or an empty node if the map has no such member.
func child(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return &yaml.Node{}
}

// itemOf returns an item from its value and from how it was written.
func itemOf(v object.Value, n *yaml.Node) (item, error) {
	whole, err := object.Decode([]byte(`{"v":` + string(v.JSON()) + "}"))
	if err != nil {
		return item{}, err
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return item{}, err
	}
	out := item{value: v, text: b.Bytes()}
	if !hasValue(out.text, v) {
		// The library writes some folded and quoted texts as others, and an alias
		// may be to an anchor of another item; what an item says is worth more than
		// how it was written.
		out.text = emit.YAML(whole["v"])
	}
	if v.Kind == object.KindMap {
		out.object = whole.Map("v")
	}
	return out, nil
}

// hasValue reports whether text has the value v.
func hasValue(text []byte, v object.Value) bool {
	again, err := spec.ParseDocuments(spec.File{Name: stdin, Data: text}, MaxList)
	return err == nil && len(again) == 1 && bytes.Equal(again[0].Value.JSON(), v.JSON())
}

// write returns the list as YAML.
func (l *list) write() []byte {
	var b bytes.Buffer
	b.WriteString("apiVersion: ")
	b.Write(emit.YAML(l.apiVersion))
	b.WriteString("kind: " + listKind + "\n")
	if len(l.items) == 0 {
		b.WriteString("items: []\n")
	} else {
		b.WriteString("items:\n")
	}
	for _, i := range l.items {
		writeIndented(&b, "- ", i.text)
	}
	if l.config.object != nil {
		b.WriteString("functionConfig:\n")
		writeIndented(&b, "  ", l.config.text)
	}
	if len(l.results) > 0 {
		b.WriteString("results:\n")
		b.Write(emit.YAML(l.results))
	}
	return b.Bytes()
}

// writeIndented writes text two columns to the right, with first before its first line. That keeps
// the meaning of all YAML: columns count from the column of the parent.
func writeIndented(b *bytes.Buffer, first string, text []byte) {
	for line := range bytes.Lines(text) {
		switch {
		case first != "":
			b.WriteString(first)
			first = ""
		case len(bytes.TrimRight(line, "\r\n")) > 0:
			b.WriteString("  ")
		}
		b.Write(line)
	}
}
