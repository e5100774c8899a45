// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pullpolicy

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/source"
)

// What a policy is called.
const (
	APIVersion = "ropewalk.dev/v1alpha1"
	Kind       = "PullPolicy"
)

// most is how many rules a policy may have, and sources or projects a rule.
const most = 1000

// Parse reads the text of a policy; name is what errors call it. Errors are
// ErrPolicy, and hold all mistakes, a line for each, with its place.
func Parse(name string, data []byte) (*Policy, error) {
	p := &parser{name: name}
	sum := sha256.Sum256(data)
	out := &Policy{digest: hex.EncodeToString(sum[:])}
	if root := p.document(data); root != nil {
		p.policy(root, out)
	}
	if len(p.mistakes) > 0 {
		slices.SortStableFunc(p.mistakes, func(a, b mistake) int { return cmp.Or(a.line-b.line, a.column-b.column) })
		lines := make([]string, len(p.mistakes))
		for i, m := range p.mistakes {
			lines[i] = m.text
		}
		return nil, source.Refuse(ErrPolicy, strings.Join(lines, "\n"))
	}
	return out, nil
}

type parser struct {
	name     string
	mistakes []mistake
}

type mistake struct {
	line, column int
	text         string
}

func (p *parser) fail(at *yaml.Node, format string, args ...any) {
	m := mistake{text: p.name + ": " + fmt.Sprintf(format, args...)}
	if at != nil {
		m.line, m.column = at.Line, at.Column
		m.text = fmt.Sprintf("%s:%d:%d: %s", p.name, at.Line, at.Column, fmt.Sprintf(format, args...))
	}
	p.mistakes = append(p.mistakes, m)
}

func (p *parser) document(data []byte) *yaml.Node {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		p.fail(nil, "the file is empty: expected apiVersion, kind and rules")
		return nil
	case err != nil:
		p.fail(nil, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		p.fail(nil, "it holds more than one document")
		return nil
	}
	return doc.Content[0]
}

// fields are the fields of a mapping, of which only the known ones may be there.
func (p *parser) fields(n *yaml.Node, what string, known ...string) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	if n.Kind != yaml.MappingNode {
		p.fail(n, "%s: expected a mapping with %s", what, strings.Join(known, ", "))
		return out
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case !slices.Contains(known, key.Value):
			p.fail(key, "%s has no field %q: it has %s", what, key.Value, strings.Join(known, ", "))
		case out[key.Value] != nil:
			p.fail(key, "%s has %q twice", what, key.Value)
		default:
			out[key.Value] = value
		}
	}
	return out
}

// text is a field that is text; words, where there are any, are all that it may be.
func (p *parser) text(n *yaml.Node, what string, words ...string) string {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || n.Value == "" {
		p.fail(n, "%s: expected text", what)
		return ""
	}
	if len(words) > 0 && !slices.Contains(words, n.Value) {
		p.fail(n, "%s is %q: expected %s", what, n.Value, strings.Join(words, " or "))
		return ""
	}
	return n.Value
}

// need is the field of a name, which must be there.
func (p *parser) need(n *yaml.Node, fields map[string]*yaml.Node, what, name string) *yaml.Node {
	if fields[name] == nil && n.Kind == yaml.MappingNode {
		p.fail(n, "%s lacks %s", what, name)
	}
	return fields[name]
}

// list is the elements of a list that is not empty.
func (p *parser) list(n *yaml.Node, what string) []*yaml.Node {
	switch {
	case n.Kind != yaml.SequenceNode || len(n.Content) == 0:
		p.fail(n, "%s: expected a list that is not empty", what)
		return nil
	case len(n.Content) > most:
		p.fail(n, "%s: more than %d", what, most)
		return nil
	}
	return n.Content
}

func (p *parser) policy(root *yaml.Node, out *Policy) {
	fields := p.fields(root, "a "+Kind, "apiVersion", "kind", "default", "rules")
	for _, want := range []struct{ field, value string }{{"apiVersion", APIVersion}, {"kind", Kind}} {
		if n := p.need(root, fields, "the policy", want.field); n != nil {
			p.text(n, want.field, want.value)
		}
	}
	if n := fields["default"]; n != nil {
		out.deny = p.text(n, "default", "Allow", "Deny") == "Deny"
	}
	n := fields["rules"]
	if n == nil {
		return
	}
	names := map[string]bool{DefaultRule: true}
	for _, item := range p.list(n, "rules") {
		r := p.rule(item, out.deny)
		if names[r.name] {
			p.fail(item, "the name %q is that of another rule, or of what holds without one", r.name)
		}
		names[r.name] = r.name != ""
		out.rules = append(out.rules, r)
	}
}

func (p *parser) rule(n *yaml.Node, denies bool) rule {
	var r rule
	fields := p.fields(n, "a rule", "name", "effect", "sources", "projects", "verify")
	if v := p.need(n, fields, "the rule", "name"); v != nil {
		r.name = p.text(v, "name")
		if !isName(r.name) && r.name != "" {
			p.fail(v, "the name %q: expected at most 63 letters, digits, dots and dashes", r.name)
		}
	}
	effect := p.need(n, fields, "the rule", "effect")
	if effect != nil {
		r.deny = p.text(effect, "effect", "Allow", "Deny") == "Deny"
	}
	if v := p.need(n, fields, "the rule", "sources"); v != nil {
		for _, item := range p.list(v, "sources") {
			text := p.text(item, "a source")
			source, err := parsePattern(text)
			if err != nil && text != "" {
				p.fail(item, "%q is no source: %v", text, err)
			}
			r.sources = append(r.sources, source)
		}
	}
	if v := fields["projects"]; v != nil {
		for _, item := range p.list(v, "projects") {
			r.projects = append(r.projects, p.text(item, "a project"))
		}
	}
	verify := fields["verify"]
	switch {
	case verify == nil && effect != nil && !r.deny && !denies:
		p.fail(effect, "this rule changes nothing, because what no rule is about is allowed: write default: Deny if all else is to be refused")
	case verify != nil && r.deny:
		p.fail(verify, "what is denied needs no signature")
	case verify != nil:
		r.signature = p.signature(verify, r)
	}
	return r
}

// isName reports whether a name can be a label of a metric and stand in a message.
func isName(s string) bool {
	return len(s) <= 63 && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_'
	})
}
