// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pullpolicy

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/source/strictyaml"
)

// What a policy is called.
const (
	APIVersion = "ropewalk.dev/v1alpha1"
	Kind       = "PullPolicy"
)

// maxItems limits the rules of a policy, and the sources and projects of a rule.
const maxItems = 1000

// Parse reads the text of a policy, which errors call by name. Errors are ErrPolicy and a
// *strictyaml.Error.
func Parse(name string, data []byte) (*Policy, error) {
	p := &parser{strictyaml.Reader{Name: name}}
	sum := sha256.Sum256(data)
	out := &Policy{digest: hex.EncodeToString(sum[:])}
	p.readPolicy(p.Document(data, APIVersion, Kind, "default", "rules"), out)
	if err := p.Err("", ErrPolicy); err != nil {
		return nil, err
	}
	return out, nil
}

type parser struct{ strictyaml.Reader }

// readList returns the elements of a list, which must not be empty.
func (p *parser) readList(n *yaml.Node, noun string) []*yaml.Node {
	items := p.List(n, noun)
	switch {
	case n != nil && n.Kind == yaml.SequenceNode && len(items) == 0:
		p.Fail(n, "%s: expected a list that is not empty", noun)
	case len(items) > maxItems:
		p.Fail(n, "%s: more than %d", noun, maxItems)
		return nil
	}
	return items
}

func (p *parser) readPolicy(fields map[string]*yaml.Node, out *Policy) {
	out.deny = p.Text(fields["default"], "default", "Allow", "Deny") == "Deny"
	names := map[string]bool{DefaultRule: true}
	for _, item := range p.readList(fields["rules"], "rules") {
		r := p.readRule(item, out.deny)
		if names[r.name] {
			p.Fail(item, "the name %q is that of another rule, or of what holds without one", r.name)
		}
		names[r.name] = r.name != ""
		out.rules = append(out.rules, r)
	}
}

func (p *parser) readRule(n *yaml.Node, denies bool) rule {
	var r rule
	fields := p.Fields(n, "a rule", "name", "effect", "sources", "projects", "verify")
	r.name = p.Text(p.Need(n, fields, "the rule", "name"), "name")
	if !isName(r.name) {
		p.Fail(fields["name"], "the name %q: expected at most 63 letters, digits, dots and dashes", r.name)
	}

	// A source that cannot be read is a mistake, and the next ones are still read.
	effect := p.Need(n, fields, "the rule", "effect")
	r.deny = p.Text(effect, "effect", "Allow", "Deny") == "Deny"
	for _, item := range p.readList(p.Need(n, fields, "the rule", "sources"), "sources") {
		text := p.Text(item, "a source")
		source, err := parsePattern(text)
		if err != nil && text != "" {
			p.Fail(item, "%q is not a source: %v", text, err)
		}
		r.sources = append(r.sources, source)
	}
	for _, item := range p.readList(fields["projects"], "projects") {
		r.projects = append(r.projects, p.Text(item, "a project"))
	}

	// Combinations that change nothing are mistakes.
	verify := fields["verify"]
	allows := effect != nil && effect.Value == "Allow"
	switch {
	case verify == nil && allows && !denies:
		p.Fail(effect, "this rule changes nothing, because what no rule is about is allowed: write default: Deny if all else is to be refused")
	case verify != nil && r.deny:
		p.Fail(verify, "what is denied needs no signature")
	case verify != nil:
		r.signature = p.readSignature(verify, r)
	}
	return r
}

// isName reports whether a name can be a label of a metric and stand in a message.
func isName(s string) bool {
	return len(s) <= 63 && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_'
	})
}
