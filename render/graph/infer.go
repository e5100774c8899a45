// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// candidate is an inferred edge between indexes of nodes, before duplicates are left out.
type candidate struct {
	from, to  int
	rule      Rule
	certainty int
	at        *link
}

// finder looks for edges from one node at a time.
type finder struct {
	*index
	from       int
	item       item
	candidates []candidate
	warnings   object.Errors
	needs      map[object.Ref]Need
	// optional: what is looked for need not be there.
	optional bool
}

// infer returns the edges that follow from the objects, the most certain rule first; edges of one
// rule onto one node follow each other. The finder that it returns has the warnings and the
// needs. Warnings are about references that lead to nothing by mistake. More than limit edges are
// a mistake of the node that passes the limit.
func infer(x *index, limit int) ([]Edge, *finder, *object.Error) {
	// Find what each object refers to.
	f := &finder{index: x, needs: map[object.Ref]Need{}}
	for i := range x.items {
		f.from, f.item = i, x.items[i]
		f.findCommon()
		f.findKind()
		if f.item.pod.value != nil {
			f.findPod()
		}
		if len(f.candidates) > limit {
			return nil, nil, tooManyEdges(f.item.node)
		}
	}

	// The order decides which edge of a cycle is dropped.
	slices.SortStableFunc(f.candidates, func(a, b candidate) int {
		if a.certainty != b.certainty {
			return a.certainty - b.certainty
		}
		if a.to != b.to {
			return a.to - b.to
		}
		return a.from - b.from
	})

	// The edges have paths, which are built only for those that are kept.
	edges := make([]Edge, 0, len(f.candidates))
	for _, l := range f.candidates {
		edges = append(edges, Edge{
			From: x.items[l.from].node.ID, To: x.items[l.to].node.ID,
			Rule: l.rule, Path: cursor{at: l.at}.path(),
		})
	}
	return onePerRule(edges), f, nil
}

// onePerRule leaves out edges that a more certain one repeats with the same
// rule.
func onePerRule(edges []Edge) []Edge {
	type key struct {
		from, to object.ID
		rule     Rule
	}
	seen := make(map[key]bool, len(edges))
	return slices.DeleteFunc(edges, func(e Edge) bool {
		k := key{e.From, e.To, e.Rule}
		again := seen[k]
		seen[k] = true
		return again
	})
}

// certainty orders rules for the case that inferred edges close a cycle: the
// one with the higher number goes.
func certainty(r Rule) int {
	order := [...]Rule{
		RuleNamespace, RuleCRD, RuleServiceAccount, RuleConfigMap, RuleSecret, RuleClaim, RuleVolume,
		RuleClass, RuleRole, RuleService, RuleWebhook, RuleScaleTarget, RuleSelector, RuleReference,
		RuleOwner, RuleQuota,
	}
	return slices.Index(order[:], r)
}

// uncertain is beyond every rule: custom resources wait for the webhook that
// validates them unless anything contradicts it.
const uncertain = 100

func (f *finder) add(target int, rule Rule, place *link) {
	f.addAs(target, rule, certainty(rule), place)
}

func (f *finder) addAs(target int, rule Rule, certainty int, place *link) {
	if target == f.from || f.items[target].node.ID == f.item.node.ID {
		return
	}
	f.candidates = append(f.candidates, candidate{f.from, target, rule, certainty, place})
}

// addRef makes an edge onto an object, if the render has it.
func (f *finder) addRef(r object.Ref, rule Rule, place *link) {
	if r.Name == "" {
		return
	}
	if to, ok := f.refs[r]; ok {
		f.add(to, rule, place)
		return
	}
	f.noteNeed(r, place)
}

// addNear makes an edge onto an object of the core group in the same namespace.
func (f *finder) addNear(kind string, name cursor, rule Rule) {
	r := object.Ref{Kind: kind, Namespace: f.item.ref.Namespace, Name: name.text()}
	if _, ok := f.refs[r]; !ok {
		f.noteMissing(r, name.at)
	}
	f.addRef(r, rule, name.at)
}

// addSecret makes an edge onto a Secret, or onto what produces it.
func (f *finder) addSecret(name cursor) { f.addSecretIn(f.item.ref.Namespace, name) }

func (f *finder) addSecretIn(namespace string, name cursor) {
	if name.text() == "" {
		return
	}
	r := object.Ref{Kind: "Secret", Namespace: namespace, Name: name.text()}
	if to, ok := f.refs[r]; ok {
		f.add(to, RuleSecret, name.at)
		return
	}
	if to, ok := f.producers[secretKey{namespace, name.text()}]; ok {
		f.add(to, RuleSecret, name.at)
		return
	}
	f.noteMissing(r, name.at)
	f.findOptional(f.index.issued[secretKey{namespace, name.text()}], func() { f.noteNeed(r, name.at) })
}

// findCommon finds what objects of every kind need.
func (f *finder) findCommon() {
	o := root(f.item.node.Object)
	if f.item.ref.Namespace != "" {
		f.addRef(object.Ref{Kind: "Namespace", Name: f.item.ref.Namespace}, RuleNamespace, o.get("metadata", "namespace").at)
	}
	if crd, ok := f.crds[crdKey{f.item.ref.Group, f.item.ref.Kind}]; ok {
		f.add(crd, RuleCRD, o.get("kind").at)
	}
	for _, owner := range o.get("metadata", "ownerReferences").items() {
		// An object works without its owner.
		f.findOptional(true, func() { f.addTarget(owner, RuleOwner, "", "") })
	}
	if object.IsCustom(f.item.ref.Group) {
		f.addCustomReferences(o.get("spec"), 0)
	}
}

// addTarget makes an edge onto what an {apiVersion, kind, name} names, in the
// same namespace or of cluster scope.
func (f *finder) addTarget(c cursor, rule Rule, apiVersion, kind string) {
	version := cmp.Or(c.get("apiVersion").text(), apiVersion)
	group, _, found := strings.Cut(version, "/")
	if !found {
		group = ""
	}
	r := object.Ref{
		Group: group, Kind: cmp.Or(c.get("kind").text(), kind),
		Namespace: f.item.ref.Namespace, Name: c.get("name").text(),
	}
	if _, ok := f.refs[r]; !ok {
		wide := r
		wide.Namespace = ""
		if _, ok := f.refs[wide]; ok {
			r = wide
		}
	}
	f.addRef(r, rule, c.get("name").at)
}

// deepest limits the depth of references inside a custom resource; no known kind nests them deeper.
const deepest = 12

// addCustomReferences follows the field names by which custom resources name
// Secrets and ConfigMaps nearly without exception: …secretRef, …secretKeyRef,
// …configMapRef and …configMapKeyRef.
func (f *finder) addCustomReferences(c cursor, depth int) {
	if depth > deepest {
		return
	}
	for _, item := range c.items() {
		f.addCustomReferences(item, depth+1)
	}
	for _, name := range c.fields() {
		field := c.get(name)
		lower := strings.ToLower(name)
		switch {
		case field.get("name").text() == "": // Such as auth.secretRef.accessKeyIDSecretRef of a store.
			f.addCustomReferences(field, depth+1)
		case strings.HasSuffix(lower, "secretref"), strings.HasSuffix(lower, "secretkeyref"):
			f.findUnlessOptional(field, func(r cursor) {
				f.addSecretIn(cmp.Or(f.item.ref.Namespace, r.get("namespace").text()), r.get("name"))
			})
		case strings.HasSuffix(lower, "configmapref"), strings.HasSuffix(lower, "configmapkeyref"):
			f.findUnlessOptional(field, func(r cursor) { f.addNear("ConfigMap", r.get("name"), RuleConfigMap) })
		default:
			f.addCustomReferences(field, depth+1)
		}
	}
}
