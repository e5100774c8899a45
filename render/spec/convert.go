// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/object"
)

// The limits of one document. They keep a small file from becoming a large value.
const (
	// maxDepth limits the nesting of maps and lists.
	maxDepth = 128
	// maxSize limits the values of a document, aliases expanded, and the values that
	// the aliases of all documents of a file add; a long text counts as one value for
	// every textUnit bytes.
	maxSize  = 1_000_000
	textUnit = 64
	// maxErrors limits the mistakes that are kept of a document.
	maxErrors = 100
)

// Block is the place of the text of a block scalar.
type Block struct {
	// Pos is the position of the first character of the text.
	Pos object.Pos
	// Indent is the number of columns that every line is indented by.
	Indent int
}

// converter turns the nodes of one document into a value.
type converter struct {
	text *text
	// base is the line at which the library began to count.
	base int
	errs object.Errors
	// kubectlErrs are mistakes in documents that kubectl reads too.
	kubectlErrs object.Errors
	// blocks are the block scalars by the position of their indicator.
	blocks map[object.Pos]Block
	// converted holds the values of the targets of aliases, so that an alias costs
	// nothing: values are never changed.
	converted map[*yaml.Node]sized
	// openAnchors are the nodes with an anchor around the present node.
	openAnchors map[*yaml.Node]bool
	// total counts the values that were made so far, aliases expanded. No walk over the
	// document costs more: an alias that exceeds the limit is never expanded.
	total int
	// aliased counts the values that the aliases of the file added.
	aliased *int
	full    bool
	// values is true in values that Helm might read, chart below a key called helm.
	values, chart bool
}

// sized is a value with the number of values in it, aliases expanded, and the depth of its
// nesting.
type sized struct {
	value  object.Value
	size   int
	height int
}

// add counts e as a part of s.
func (s *sized) add(e sized) {
	s.size = min(s.size+e.size, maxSize+1)
	s.height = max(s.height, e.height+1)
}

func newConverter(t *text, base int) *converter {
	return &converter{
		text: t, base: base, values: t.values, aliased: &t.aliased, blocks: map[object.Pos]Block{},
		converted: map[*yaml.Node]sized{}, openAnchors: map[*yaml.Node]bool{},
	}
}

func (c *converter) fail(pos object.Pos, hint, format string, args ...any) {
	if len(c.errs) < maxErrors {
		c.errs = append(c.errs, mistake(pos, nil, hint, format, args...))
	}
}

func (c *converter) pos(n *yaml.Node) object.Pos { return c.text.pos(c.base+n.Line-1, n.Column) }

// convert returns the value of n, with its size.
func (c *converter) convert(n *yaml.Node, depth int) sized {
	if c.checkDepth(n, depth) {
		return sized{size: 1}
	}

	// An alias has the value of its anchor, which must not contain itself.
	if n.Kind == yaml.AliasNode {
		return c.convertAlias(n, depth)
	}
	if n.Anchor != "" {
		c.openAnchors[n] = true
		defer delete(c.openAnchors, n)
	}

	// A long text counts as several values.
	v := sized{value: object.Value{Pos: c.pos(n)}, size: 1 + len(n.Value)/textUnit}
	c.total += v.size
	switch n.Kind {
	case yaml.ScalarNode:
		c.fillScalar(n, &v.value)
	case yaml.SequenceNode:
		c.checkTag(n, "!!seq")
		v.value.Kind = object.KindList
		v.value.Items = make([]object.Value, 0, len(n.Content))
		for _, item := range n.Content {
			e := c.convert(item, depth+1)
			v.value.Items = append(v.value.Items, e.value)
			v.add(e)
		}
	case yaml.MappingNode:
		c.checkTag(n, "!!map")
		c.fillMap(n, depth, &v)
	default:
		// Documents have one node below them, and aliases are done above.
	}

	// The value of an anchor is kept for its aliases.
	c.checkSize(n)
	if n.Anchor != "" {
		c.converted[n] = v
	}
	return v
}

// checkDepth reports whether n nests too deep, and adds the mistake once per document.
func (c *converter) checkDepth(n *yaml.Node, depth int) bool {
	if depth <= maxDepth {
		return false
	}
	if !c.full {
		c.full = true
		c.fail(c.pos(n), "", "maps and lists are nested more than %d deep, which no flag allows", maxDepth)
	}
	return true
}

// checkSize reports whether the document, or the aliases of its file, exceed the limit at n, and
// adds the mistake once per document.
func (c *converter) checkSize(n *yaml.Node) bool {
	holder := "document holds"
	switch {
	case c.total > maxSize:
	case n.Kind == yaml.AliasNode && *c.aliased > maxSize:
		holder = "aliases of this file add"
	default:
		return false
	}
	if !c.full {
		c.full = true
		c.fail(c.pos(n), "", "the %s more than %d values, which no flag allows; aliases count as often as they are used", holder, maxSize)
	}
	return true
}

// convertAlias returns the value of the target of an alias.
func (c *converter) convertAlias(n *yaml.Node, depth int) sized {
	if c.openAnchors[n.Alias] {
		c.fail(c.pos(n), "", "an anchor contains itself")
		return sized{size: 1}
	}
	if v, ok := c.converted[n.Alias]; ok {
		if c.checkDepth(n, depth+v.height) {
			return sized{size: 1}
		}
		c.total += v.size
		*c.aliased += v.size
		if c.checkSize(n) {
			return sized{size: 1}
		}
		return v
	}
	return c.convert(n.Alias, depth)
}

// fillMap fills v with the members of n. Members that are written in place win over members of merge
// keys, and earlier merged maps over later maps.
func (c *converter) fillMap(n *yaml.Node, depth int, v *sized) {
	v.value.Kind = object.KindMap
	v.value.Members = make([]object.Member, 0, len(n.Content)/2)
	names := make(map[string]object.Pos, len(n.Content)/2)
	var merges []*yaml.Node

	// Members that are written in place come first.
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		name, ok := c.key(key)
		if !ok {
			continue
		}

		// A name is written once.
		pos := c.pos(key)
		if first, isSecond := names[name]; isSecond {
			if name == "apiVersion" && pos.Column == 1 {
				c.fail(pos, `a second document begins with a line "---"`, "key %q is written twice, first at line %d", name, first.Line)
				break
			}
			c.fail(pos, "", "key %q is written twice, first at line %d", name, first.Line)
			continue
		}
		names[name] = pos

		// Values of a chart follow the rules of Helm.
		values, chart := c.values, c.chart
		c.values = values || (chart && name == "values")
		c.chart = name == "helm"
		e := c.convert(value, depth+1)
		c.values, c.chart = values, chart
		v.add(e)
		v.value.Members = append(v.value.Members, object.Member{Name: name, Pos: pos, Value: e.value})
	}

	// Merge keys add the other members.
	for _, m := range merges {
		c.merge(m, depth, names, v)
	}
}

// merge adds the members of a merge key that are not in names.
func (c *converter) merge(n *yaml.Node, depth int, names map[string]object.Pos, v *sized) {
	merged := c.convert(n, depth+1)
	maps := []object.Value{merged.value}
	if merged.value.Kind == object.KindList {
		maps = merged.value.Items
	}
	v.add(merged)
	for _, m := range maps {
		if m.Kind == object.KindNone {
			return // The alias was rejected.
		}
		if m.Kind != object.KindMap {
			c.fail(c.pos(n), "", "<< expects a map or a list of maps, got a %s", m.Kind)
			return
		}
		for _, member := range m.Members {
			if _, have := names[member.Name]; have {
				continue
			}
			names[member.Name] = member.Pos
			v.value.Members = append(v.value.Members, member)
		}
	}
}

// key returns the name of a member. It reports false, and adds the mistake, if the key is not text.
func (c *converter) key(n *yaml.Node) (string, bool) {
	target := n
	if n.Kind == yaml.AliasNode {
		target = n.Alias
	}
	if target.Kind != yaml.ScalarNode {
		hint := ""
		if target.Kind == yaml.MappingNode && target.Style&yaml.FlowStyle != 0 {
			hint = "quote the value if its braces are text; a template must be rendered first"
		}
		c.fail(c.pos(n), hint, "a key must be text, not a map or a list")
		return "", false
	}
	switch target.ShortTag() {
	case "!!str", "!!timestamp", "!!merge":
		return c.visibleName(n, target), true
	case "!!int", "!!bool":
		if c.values && isTextForHelm(target.Value) {
			return target.Value, true
		}
	}
	c.fail(c.pos(n), fmt.Sprintf("write %q", target.Value),
		"key %s is not text but %s", target.Value, tagName(target.ShortTag()))
	return "", false
}

// isTextForHelm reports whether Helm reads a key that is a number or a bool as text: it does not for
// 0x10, 1_000 and 1.50.
func isTextForHelm(key string) bool {
	n, err := strconv.ParseInt(key, 10, 64)
	isInteger := err == nil && strconv.FormatInt(n, 10) == key
	return key == "true" || key == "false" || isInteger
}

// visibleName returns the name of a key without characters at its ends that an editor does not
// show, or shows as a space. It reports such characters.
func (c *converter) visibleName(node, key *yaml.Node) string {
	name := strings.TrimFunc(key.Value, isBlank)
	if name == key.Value || name == "" || !plain(key) {
		return key.Value
	}
	invisible := []rune(strings.Replace(key.Value, name, "", 1))[0]
	c.fail(c.pos(node), "write "+strconv.Quote(name), "the key has an invisible character (%U)", invisible)
	return name
}

// isBlank reports whether a character is invisible, or looks like a space that YAML does not
// accept.
func isBlank(r rune) bool {
	switch r {
	case '\u00a0', '\u2002', '\u2003', '\u2009', '\u200b', '\u200c', '\u200d', '\u202f', '\u2060', '\u3000', '\ufeff':
		return true
	}
	return false
}

// checkTag rejects tags that JSON does not have. A tag may be a text that begins with an exclamation
// mark.
func (c *converter) checkTag(n *yaml.Node, want string) {
	if n.ShortTag() != want {
		c.fail(c.pos(n), "remove the tag, or quote the text", "a tag is not supported here")
	}
}

func tagName(tag string) string {
	switch tag {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a bool"
	case "!!null":
		return "null"
	}
	return tag
}
