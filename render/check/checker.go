// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// Checker judges rendered objects. It is made by [New] and safe for concurrent
// use.
type Checker struct {
	options Options
	schemas *Schemas
	given   map[string]*definition // Options.CRDs, by group/Kind
	broken  []Finding              // what is wrong with Options.CRDs
}

// New makes a Checker. A CustomResourceDefinition of the options that cannot
// be read is a finding of every check, without a node.
func New(options Options) *Checker {
	c := &Checker{options: options, schemas: options.Schemas, given: map[string]*definition{}}
	if c.schemas == nil {
		c.schemas = &Schemas{}
	}
	if options.SkipSchemas {
		return c
	}
	for _, o := range options.CRDs {
		if d, problem := definitionOf(o); problem != "" {
			c.broken = append(c.broken, Finding{
				Rule: RuleDefinition, Message: "CustomResourceDefinition " + quote(o.Name()) + " " + problem,
			})
		} else {
			c.given[d.key()] = d
		}
	}
	return c
}

// Check judges nodes and returns what is wrong with them, sorted by node,
// path and message, each mistake once. CustomResourceDefinitions among the nodes
// win over all others for the custom resources among the nodes.
func (c *Checker) Check(nodes []*object.Node) []Finding {
	own := map[string]*definition{}
	if !c.options.SkipSchemas {
		for _, n := range nodes {
			if isDefinition(n.Object) {
				if d, problem := definitionOf(n.Object); problem == "" {
					own[d.key()] = d
				}
			}
		}
	}
	findings := slices.Clone(c.broken)
	for _, n := range nodes {
		findings = append(findings, c.node(n, own)...)
	}
	return sorted(findings)
}

// node judges one object.
func (c *Checker) node(n *object.Node, own map[string]*definition) []Finding {
	w := &walk{schemas: c.schemas, node: n.ID, root: n.Object, secret: isSecret(n.Object) || isEncrypted(n.Object)}
	a := &at{w: w, v: map[string]any(n.Object)}
	c.secrets(a)
	if c.options.SkipSchemas {
		return w.findings
	}
	if n.Object.APIVersion() == "" || n.Object.Kind() == "" {
		for _, name := range [...]string{"apiVersion", "kind"} {
			if n.Object.Text(name) == "" {
				a.missing(name)
			}
		}
		return w.findings
	}
	if isEncrypted(n.Object) {
		// Only who can decrypt it can check it.
		rootMeta(a)
		return w.findings
	}
	c.schema(a, own)
	return w.findings
}

// schema judges an object by its kind.
func (c *Checker) schema(a *at, own map[string]*definition) {
	o := a.w.root
	if info, ok := builtInKind(o.APIVersion(), o.Kind()); ok {
		rootMeta(a)
		scope(a, info.namespaced)
		if preview(o.APIVersion()) {
			a.field("apiVersion").warn(RuleAPIVersion, "%s %s is served only where the cluster enables it", o.APIVersion(), o.Kind())
		}
		a.w.value(a, &schema{Ref: info.component})
		if isDefinition(o) {
			c.definition(a)
		}
		return
	}
	d := c.lookup(o.Group(), o.Kind(), own)
	switch {
	case d != nil:
		rootMeta(a)
		scope(a, d.Scope != "Cluster")
		c.custom(a, d)
	case unserved(a):
	default:
		rootMeta(a)
		f := a.field("kind").warn(RuleKind, "no schema is known for %s %s: the object was not checked", o.APIVersion(), o.Kind())
		f.Hint = "name its CustomResourceDefinition with --crds"
		if best := nearest(o.Kind(), c.kindsOf(o.Group(), own)); best != "" {
			f.Hint = "did you mean \"" + best + "\"? Otherwise name its CustomResourceDefinition with --crds"
		}
	}
}

// lookup is the definition of a kind: that of the render, of the options, or
// of the built-in set.
func (c *Checker) lookup(group, kind string, own map[string]*definition) *definition {
	key := group + "/" + kind
	if d, ok := own[key]; ok {
		return d
	}
	if d, ok := c.given[key]; ok {
		return d
	}
	return c.schemas.builtInDefinition(group, kind)
}

// kindsOf is the kinds of a group that a definition is known for.
func (c *Checker) kindsOf(group string, own map[string]*definition) (kinds []string) {
	for _, set := range [...]map[string]*definition{own, c.given} {
		for _, key := range object.SortedKeys(set) {
			if g, kind, _ := strings.Cut(key, "/"); g == group {
				kinds = append(kinds, kind)
			}
		}
	}
	entries, err := definitionFiles.ReadDir("schemas/crds/" + group)
	if err != nil || group == "" {
		return kinds
	}
	for _, e := range entries {
		kinds = append(kinds, strings.TrimSuffix(e.Name(), ".json"))
	}
	return kinds
}

// sorted is findings by node, path and message, each once.
func sorted(findings []Finding) []Finding {
	type keyed struct {
		Finding
		path string
	}
	all := make([]keyed, len(findings))
	for i, f := range findings {
		all[i] = keyed{f, f.Path.String()}
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		return cmp.Or(
			strings.Compare(string(a.Node), string(b.Node)),
			comparePaths(a.Path, b.Path),
			strings.Compare(a.Message, b.Message),
		)
	})
	all = slices.CompactFunc(all, func(a, b keyed) bool {
		// A required field is missed once, whoever misses it.
		return a.Node == b.Node && a.path == b.path && (a.Message == b.Message || a.Rule == RuleRequired && b.Rule == RuleRequired)
	})
	out := make([]Finding, len(all))
	for i, k := range all {
		out[i] = k.Finding
	}
	return out
}

// comparePaths orders places as a reader of the object meets them: item 2
// before item 10.
func comparePaths(a, b object.Path) int {
	return slices.CompareFunc(a, b, func(s, t object.Step) int {
		return cmp.Or(strings.Compare(s.Name, t.Name), cmp.Compare(s.Index, t.Index))
	})
}
