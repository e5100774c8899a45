// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// addNodeDependencies makes edges of dependsOn and of the annotation of nodes.
func (b *builder) addNodeDependencies() {
	for i, it := range b.index.items {
		if b.index.ids[it.node.ID] != i {
			continue
		}
		for _, d := range it.node.DependsOn {
			b.addNodeDependency(it.node, d)
		}
		b.addAnnotated(it)
	}
}

func (b *builder) addNodeDependency(n *object.Node, d object.Dependency) {
	if d.ID == n.ID || (d.ID.Node() == "" && d.ID.Spec() == n.ID.Spec()) {
		b.fail(&object.Error{
			Pos: object.FirstValid(d.Pos, position(n)), Node: n.ID,
			Err:  fmt.Errorf("%s depends on itself", n.ID),
			Hint: "remove the dependency",
		})
		return
	}
	if d.ID.Node() == "" {
		b.joinNodeToSpec(n, d)
		return
	}
	if _, ok := b.index.ids[d.ID]; !ok {
		b.reportUnknownNode(n, d)
		return
	}
	b.addEdge(Edge{From: n.ID, To: d.ID, Rule: RuleDependsOn, Explicit: true, Pos: d.Pos})
}

func (b *builder) joinNodeToSpec(n *object.Node, d object.Dependency) {
	spec := d.ID.Spec()
	// That of a workload is one of its spec too, which reports it.
	if slices.ContainsFunc(b.specs[n.ID.Spec()].DependsOn, func(s object.SpecDependency) bool { return s.Name == spec && s.Pos == d.Pos }) {
		if _, ok := b.specs[spec]; !ok {
			return
		}
	}
	if _, ok := b.specs[spec]; !ok {
		b.reportUnknownSpec(object.FirstValid(d.Pos, position(n)), string(n.ID), spec)
		return
	}
	for _, name := range b.nearestFilled(spec) {
		if name == n.ID.Spec() {
			continue
		}
		b.addJoin(Join{
			Rule: RuleDependsOn, FromName: string(n.ID), ToName: name,
			From: []object.ID{n.ID}, To: b.index.specs[name], Pos: d.Pos,
		})
	}
}

// addSpecDependencies makes joins of the dependsOn of specs.
func (b *builder) addSpecDependencies() {
	for _, name := range object.SortedKeys(b.specs) {
		s := b.specs[name]
		for _, d := range s.DependsOn {
			switch _, isKnown := b.specs[d.Name]; {
			case d.Name == name:
				b.fail(&object.Error{
					Pos:  object.FirstValid(d.Pos, s.Pos),
					Err:  fmt.Errorf("spec %s depends on itself", name),
					Hint: "remove the dependency",
				})
			case !isKnown:
				b.reportUnknownSpec(object.FirstValid(d.Pos, s.Pos), "spec "+name, d.Name)
			case len(b.index.specs[name]) > 0:
				b.joinSpecs(name, d)
			}
		}
	}
}

func (b *builder) joinSpecs(name string, d object.SpecDependency) {
	for _, target := range b.nearestFilled(d.Name) {
		if target == name {
			// A circle of specs that leads through one without nodes.
			b.fail(&object.Error{
				Pos:  object.FirstValid(d.Pos, b.specs[name].Pos),
				Err:  fmt.Errorf("cycle: %s -> %s -> %s", name, d.Name, name),
				Hint: "remove one of these dependencies",
			})
			continue
		}
		b.addJoin(Join{
			Rule: RuleSpec, FromName: name, ToName: target,
			From: b.index.specs[name], To: b.index.specs[target], Pos: d.Pos,
		})
	}
}

// nearestFilled returns spec itself if it has nodes, and else the nearest specs with nodes that
// it depends on. They are sorted, and kept for the next call.
func (b *builder) nearestFilled(spec string) []string {
	if out, ok := b.nearest[spec]; ok {
		return out
	}

	// Follow dependencies until a spec has nodes, and bound how many are followed.
	var out []string
	seen := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		if seen[name] || b.visits > maxVisits {
			return
		}
		b.visits++
		if b.visits > maxVisits {
			b.fail(&object.Error{
				Pos:  b.specs[spec].Pos,
				Err:  fmt.Errorf("spec %s: the specs without objects depend on each other in more than %d ways, which no flag allows", spec, maxVisits),
				Hint: "a dependency holds across others: of specs that depend on each other in a row, name the last one only",
			})
		}
		seen[name] = true
		if len(b.index.specs[name]) > 0 {
			out = append(out, name)
			return
		}
		for _, d := range b.specs[name].DependsOn {
			visit(d.Name)
		}
	}

	// The answer is sorted and kept.
	visit(spec)
	slices.Sort(out)
	b.nearest[spec] = out
	return out
}

// joinSets makes a join of each apply set with the one before it.
func (b *builder) joinSets() {
	for _, spec := range object.SortedKeys(b.index.specs) {
		members := map[int][]object.ID{}
		names := map[int]string{}
		for _, id := range b.index.specs[spec] {
			n := b.index.items[b.index.ids[id]].node
			if n.Set > 0 {
				members[n.Set] = append(members[n.Set], id)
				names[n.Set] = cmp.Or(n.SetName, strconv.Itoa(n.Set))
			}
		}
		numbers := make([]int, 0, len(members))
		for n := range members {
			numbers = append(numbers, n)
		}
		slices.Sort(numbers)
		for i := 1; i < len(numbers); i++ {
			from, to := numbers[i], numbers[i-1]
			b.addJoin(Join{
				Rule:     RuleSet,
				FromName: spec + "[" + names[from] + "]", ToName: spec + "[" + names[to] + "]",
				From: members[from], To: members[to],
			})
		}
	}
}

func (b *builder) reportUnknownNode(n *object.Node, d object.Dependency) {
	if b.specs[d.ID.Spec()].Broken {
		return
	}
	e := &object.Error{
		Pos: object.FirstValid(d.Pos, position(n)), Node: n.ID,
		Err: fmt.Errorf("depends on unknown node %q", d.ID),
	}

	// The hint depends on what the name could be: a spec, a node of another spec, or a typo.
	spec := d.ID.Spec()
	ids, known := b.index.specs[spec]
	switch {
	case b.isSpec(d.ID.Node()) && spec == n.ID.Spec():
		e.Hint = fmt.Sprintf("%s is a spec; write %q for all of its nodes", d.ID.Node(), d.ID.Node()+"/")
	case !known && !b.isSpec(spec):
		e.Err = fmt.Errorf("depends on %q, but there is no spec %q", d.ID, spec)
		e.Hint = b.suggest(spec, func() []string { return object.SortedKeys(b.specs) })
	default:
		names := make([]string, len(ids))
		isOwnSpec := spec == n.ID.Spec()
		word := d.ID.Node()
		for i, id := range ids {
			names[i] = id.Node()
		}
		e.Hint = b.suggest(word, func() []string { return names })
		if near, ok := object.Nearest(word, names); e.Hint != "" && ok && !isOwnSpec {
			e.Hint = fmt.Sprintf("did you mean %q?", spec+"/"+near) // A name alone is in the own spec.
		}
	}
	b.fail(e)
}

// suggest returns the hint for an unknown name. It does so only for the first hundred mistakes:
// there may be as many mistakes as names.
func (b *builder) suggest(name string, candidates func() []string) string {
	const most = 100
	if len(b.errs) > most {
		return ""
	}
	return object.Suggest(name, candidates())
}

func (b *builder) isSpec(name string) bool {
	_, ok := b.specs[name]
	return ok
}

func (b *builder) reportUnknownSpec(pos object.Pos, dependent, name string) {
	e := &object.Error{Pos: pos, Err: fmt.Errorf("%s depends on unknown spec %q", dependent, name), Hint: "there is no other spec"}
	if _, own := b.specs[strings.TrimPrefix(dependent, "spec ")]; !own || len(b.specs) > 1 {
		e.Hint = b.suggest(name, func() []string { return object.SortedKeys(b.specs) })
	}
	b.fail(e)
}

// DependsOnAnnotation holds objects that come first, as kpt and cli-utils read
// it: group/namespaces/namespace/kind/name, or group/kind/name for cluster
// scope, separated by commas; the core group is empty.
const DependsOnAnnotation = "config.kubernetes.io/depends-on"

// addAnnotated makes edges of the annotation [DependsOnAnnotation] of an object.
func (b *builder) addAnnotated(it item) {
	text := it.node.Object.Text("metadata", "annotations", DependsOnAnnotation)
	if text == "" {
		return
	}

	// A mistake is reported at the annotation.
	path := object.Fields("metadata", "annotations", DependsOnAnnotation)
	fail := func(err error, hint string) {
		b.fail(&object.Error{
			Pos: position(it.node), Node: it.node.ID, Path: path.String(), Err: err, Hint: hint, Notes: madeBy(it.node),
		})
	}

	// Each entry names an object of the render.
	for _, entry := range strings.Split(text, ",") {
		ref, ok := parseReference(strings.TrimSpace(entry))
		if !ok {
			fail(fmt.Errorf("%q is not an object reference", strings.TrimSpace(entry)),
				"write group/namespaces/namespace/kind/name or group/kind/name; the core group is empty")
			continue
		}
		target, ok := b.index.refs[ref]
		switch {
		case !ok && b.broken:
			// The object may well be one of those that mistakes hide.
		case !ok:
			fail(fmt.Errorf("depends on %s, which is not in the render", ref), b.suggestObject(ref))
		case ref == it.ref:
			fail(fmt.Errorf("%s depends on itself", it.node.ID), "remove the dependency")
		default:
			b.addEdge(Edge{
				From: it.node.ID, To: b.index.items[target].node.ID,
				Rule: RuleAnnotation, Explicit: true, Path: path, Pos: position(it.node),
			})
		}
	}
}

func parseReference(text string) (object.Ref, bool) {
	parts := strings.Split(text, "/")
	var r object.Ref
	switch {
	case len(parts) == 5 && parts[1] == "namespaces" && parts[2] != "":
		r = object.Ref{Group: parts[0], Namespace: parts[2], Kind: parts[3], Name: parts[4]}
	case len(parts) == 3:
		r = object.Ref{Group: parts[0], Kind: parts[1], Name: parts[2]}
	}
	return r, r.Kind != "" && r.Name != ""
}

// suggestObject names the objects of the kind that are there, for the first hundred
// mistakes.
func (b *builder) suggestObject(r object.Ref) string {
	if b.suggest("", func() []string { return nil }) == "" {
		return ""
	}
	var there []string
	for _, it := range b.index.items {
		if it.ref.GroupKind() == r.GroupKind() {
			there = append(there, strings.TrimPrefix(it.ref.Namespace+"/"+it.ref.Name, "/"))
		}
	}
	if len(there) == 0 {
		return fmt.Sprintf("the render has no %s", r.GroupKind())
	}
	return object.Suggest(strings.TrimPrefix(r.Namespace+"/"+r.Name, "/"), there)
}
