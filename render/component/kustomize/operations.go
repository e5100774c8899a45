// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
)

// operationNames returns the operations of RFC 6902.
func operationNames() []string {
	return []string{"add", "copy", "move", "remove", "replace", "test"}
}

// checkOperations reports operations of a JSON patch that the library would refuse without naming
// them. The argument p is the path of the patch in the kustomization, and at returns the place of a
// part of its text.
func (w *walker) checkOperations(text string, p object.Path, posOf func(*yaml.Node) object.Pos) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.SequenceNode {
		return
	}
	for _, n := range doc.Content[0].Content {
		fail := func(n *yaml.Node, hint, format string, args ...any) {
			w.errs = append(w.errs, component.Fail(posOf(n), p, hint, format, args...))
		}

		// An operation may be an alias.
		if n.Alias != nil {
			n = n.Alias
		}
		if n.Kind != yaml.MappingNode || get(n, "<<") != nil {
			continue // The library says what is wrong, and knows what is merged.
		}

		// Each operation needs an op, a path, and for some a from.
		op := get(n, "op")
		known := op != nil && slices.Contains(operationNames(), op.Value)
		switch {
		case op == nil:
			fail(n, "known: "+strings.Join(operationNames(), ", "), "the operation has no op")
		case !known:
			fail(op, object.Suggest(op.Value, operationNames()), "unknown op %q", op.Value)
		}
		if get(n, "path") == nil {
			fail(n, "write path: /spec/…", "the operation has no path")
		}
		if known && (op.Value == "move" || op.Value == "copy") && get(n, "from") == nil {
			fail(n, "write from: /spec/…", "the operation has no from")
		}
	}
}

// inText returns a function from the parts of a text in the file of k to their places. Outside of a
// literal block every part has the place of the text, pos.
func (w *walker) inText(k *kustomization, pos object.Pos, text string) func(*yaml.Node) object.Pos {
	lines := bytes.Split(w.files[k.name], []byte("\n"))
	block := false
	if k.name != "" && pos.Line > 0 && pos.Line < len(lines) {
		line := lines[pos.Line-1]
		block = bytes.HasPrefix(line[min(max(pos.Column-1, 0), len(line)):], []byte("|"))
	}
	if !block {
		return func(*yaml.Node) object.Pos { return pos }
	}
	indent := 0
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) != "" && pos.Line+i < len(lines) {
			indent = max(0, bytes.Index(lines[pos.Line+i], []byte(line)))
			break
		}
	}
	return func(n *yaml.Node) object.Pos { return w.posOf(k.name, pos.Line+n.Line, indent+n.Column) }
}
