// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxNodes limits the values of a file with its aliases written out.
const maxNodes = 2_000_000

// document is an object of a file.
type document struct {
	apiVersion, kind, name, namespace string
	node                              *yaml.Node
	line, column                      int
	// odd annotations change when one is added to them and taken away again.
	odd bool
}

// documents returns the objects of a file, and each object of its lists. The line is the line of a
// mistake.
func documents(data []byte) (docs []document, line int, err error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	total := 0
	for {
		var n yaml.Node
		err := d.Decode(&n)
		if errors.Is(err, io.EOF) {
			return docs, 0, nil
		}
		if err != nil {
			return nil, yamlLine(err), errors.New("it is no valid YAML: " + yamlText(err))
		}
		total += size(&n, map[*yaml.Node]int{})
		if total > maxNodes {
			return nil, n.Line, fmt.Errorf("it has more than %d values when its aliases are written out", maxNodes)
		}
		for _, root := range n.Content {
			docs = expand(docs, root)
		}
	}
}

// expand adds the object n, or the objects of the list n.
func expand(docs []document, n *yaml.Node) []document {
	if n.Kind != yaml.MappingNode {
		return docs
	}
	kind := scalar(get(n, "kind"))
	if items := get(n, "items"); items != nil && items.Kind == yaml.SequenceNode && len(kind) >= 4 && kind[len(kind)-4:] == "List" {
		for _, item := range items.Content {
			docs = expand(docs, item)
		}
		return docs
	}
	meta := get(n, "metadata")
	d := document{
		apiVersion: scalar(get(n, "apiVersion")), kind: kind, name: scalar(get(meta, "name")), namespace: scalar(get(meta, "namespace")),
		node: n, line: n.Line, column: n.Column,
	}
	if a := get(meta, "annotations"); a != nil {
		d.odd = a.Kind != yaml.MappingNode || len(a.Content) == 0
		for i := 1; i < len(a.Content); i += 2 {
			d.odd = d.odd || a.Content[i].ShortTag() != "!!str"
		}
	}
	return append(docs, d)
}

// size returns how many values n has when its aliases are written out.
func size(n *yaml.Node, known map[*yaml.Node]int) int {
	if s, ok := known[n]; ok {
		return s
	}
	known[n] = maxNodes // An alias of what holds it never ends.
	total := 1
	if n.Alias != nil {
		total += size(n.Alias, known)
	}
	for _, c := range n.Content {
		total = min(total+size(c, known), 2*maxNodes)
	}
	known[n] = total
	return total
}

// get returns the value of a name of a map, or nil if the map lacks the name.
func get(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			if v := n.Content[i+1]; v.Alias != nil {
				return v.Alias
			}
			return n.Content[i+1]
		}
	}
	return nil
}

func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}

// yamlLine returns the line that an error of the YAML library names, or 0 if it names no line.
func yamlLine(err error) int {
	m := regexp.MustCompile(`line (\d+)`).FindStringSubmatch(err.Error())
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// yamlText returns what an error of the YAML library says, without the line and without text of the
// file in quotes.
func yamlText(err error) string {
	text := regexp.MustCompile(`^(yaml: )?(unmarshal errors:\s*)?(line \d+: )?`).ReplaceAllString(err.Error(), "")
	return regexp.MustCompile("(?s)[`'\"].*").ReplaceAllString(text, "…")
}
