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

// nodeDependencies makes edges of dependsOn and of the annotation of nodes.
func (b *builder) nodeDependencies() {
	for i, it := range b.index.items {
		if b.index.ids[it.node.ID] != i {
			continue
		}
		for _, d := range it.node.DependsOn {
			b.nodeDependency(it.node, d)
		}
		b.annotation(it)
	}
}

func (b *builder) nodeDependency(n *object.Node, d object.Dependency) {
	if d.ID == n.ID || (d.ID.Node() == "" && d.ID.Spec() == n.ID.Spec()) {
		b.fail(&object.Error{
			Pos: object.FirstValid(d.Pos, position(n)), Node: n.ID,
			Err:  fmt.Errorf("%s depends on itself", n.ID),
			Hint: "remove the dependency",
		})
		return
	}
	if d.ID.Node() == "" {
		b.nodeOnSpec(n, d)
		return
	}
	if _, ok := b.index.ids[d.ID]; !ok {
		b.unknownNode(n, d)
		return
	}
	b.edge(Edge{From: n.ID, To: d.ID, Rule: RuleDependsOn, Explicit: true, Pos: d.Pos})
}

func (b *builder) nodeOnSpec(n *object.Node, d object.Dependency) {
	spec := d.ID.Spec()
	// That of a workload is one of its spec too, which reports it.
	if slices.ContainsFunc(b.specs[n.ID.Spec()].DependsOn, func(s object.SpecDependency) bool { return s.Name == spec && s.Pos == d.Pos }) {
		if _, ok := b.specs[spec]; !ok {
			return
		}
	}
	if _, ok := b.specs[spec]; !ok {
		b.unknownSpec(object.FirstValid(d.Pos, position(n)), string(n.ID), spec)
		return
	}
	for _, name := range b.filled(spec) {
		if name == n.ID.Spec() {
			continue
		}
		b.join(Join{
			Rule: RuleDependsOn, FromName: string(n.ID), ToName: name,
			From: []object.ID{n.ID}, To: b.index.specs[name], Pos: d.Pos,
		})
	}
}

// specDependencies makes joins of the dependsOn of specs.
func (b *builder) specDependencies() {
	for _, name := range object.SortedKeys(b.specs) {
		s := b.specs[name]
		for _, d := range s.DependsOn {
			switch _, known := b.specs[d.Name]; {
			case d.Name == name:
				b.fail(&object.Error{
					Pos:  object.FirstValid(d.Pos, s.Pos),
					Err:  fmt.Errorf("spec %s depends on itself", name),
					Hint: "remove the dependency",
				})
			case !known:
				b.unknownSpec(object.FirstValid(d.Pos, s.Pos), "spec "+name, d.Name)
			case len(b.index.specs[name]) > 0:
				b.specOnSpec(name, d)
			}
		}
	}
}

func (b *builder) specOnSpec(name string, d object.SpecDependency) {
	for _, to := range b.filled(d.Name) {
		if to == name {
			// A circle of specs that leads through one without nodes.
			b.fail(&object.Error{
				Pos:  object.FirstValid(d.Pos, b.specs[name].Pos),
				Err:  fmt.Errorf("cycle: %s -> %s -> %s", name, d.Name, name),
				Hint: "remove one of these dependencies",
			})
			continue
		}
		b.join(Join{
			Rule: RuleSpec, FromName: name, ToName: to,
			From: b.index.specs[name], To: b.index.specs[to], Pos: d.Pos,
		})
	}
}

// filled is spec itself where it has nodes; where it has none, the nearest
// specs with nodes that it depends on. Sorted; kept for the next call.
func (b *builder) filled(spec string) []string {
	if out, ok := b.nearest[spec]; ok {
		return out
	}
	var out []string
	seen := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		if seen[name] || b.visits > maxVisits {
			return
		}
		if b.visits++; b.visits > maxVisits {
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
	visit(spec)
	slices.Sort(out)
	b.nearest[spec] = out
	return out
}

// sets makes a join of each apply set with the one before it.
func (b *builder) sets() {
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
			b.join(Join{
				Rule:     RuleSet,
				FromName: spec + "[" + names[from] + "]", ToName: spec + "[" + names[to] + "]",
				From: members[from], To: members[to],
			})
		}
	}
}

func (b *builder) unknownNode(n *object.Node, d object.Dependency) {
	if b.specs[d.ID.Spec()].Broken {
		return
	}
	e := &object.Error{
		Pos: object.FirstValid(d.Pos, position(n)), Node: n.ID,
		Err: fmt.Errorf("depends on unknown node %q", d.ID),
	}
	spec := d.ID.Spec()
	ids, known := b.index.specs[spec]
	switch {
	case b.isSpec(d.ID.Node()) && spec == n.ID.Spec():
		e.Hint = fmt.Sprintf("%s is a spec; write %q for all of its nodes", d.ID.Node(), d.ID.Node()+"/")
	case !known && !b.isSpec(spec):
		e.Err = fmt.Errorf("depends on %q, but there is no spec %q", d.ID, spec)
		e.Hint = b.suggest(spec, func() []string { return object.SortedKeys(b.specs) })
	default:
		names, own, word := make([]string, len(ids)), spec == n.ID.Spec(), d.ID.Node()
		for i, id := range ids {
			names[i] = id.Node()
		}
		e.Hint = b.suggest(word, func() []string { return names })
		if near, ok := object.Nearest(word, names); e.Hint != "" && ok && !own {
			e.Hint = fmt.Sprintf("did you mean %q?", spec+"/"+near) // A name alone is one of the own spec.
		}
	}
	b.fail(e)
}

// suggest is the hint for an unknown name, for the first hundred mistakes: there may be as
// many mistakes as names.
func (b *builder) suggest(name string, known func() []string) string {
	const most = 100
	if len(b.errs) > most {
		return ""
	}
	return object.Suggest(name, known())
}

func (b *builder) isSpec(name string) bool {
	_, ok := b.specs[name]
	return ok
}

func (b *builder) unknownSpec(pos object.Pos, dependent, name string) {
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

func (b *builder) annotation(it item) {
	text := it.node.Object.Text("metadata", "annotations", DependsOnAnnotation)
	if text == "" {
		return
	}
	path := object.Fields("metadata", "annotations", DependsOnAnnotation)
	fail := func(err error, hint string) {
		b.fail(&object.Error{
			Pos: position(it.node), Node: it.node.ID, Path: path.String(), Err: err, Hint: hint, Notes: madeBy(it.node),
		})
	}
	for _, entry := range strings.Split(text, ",") {
		ref, ok := parseReference(strings.TrimSpace(entry))
		if !ok {
			fail(fmt.Errorf("%q is not an object reference", strings.TrimSpace(entry)),
				"write group/namespaces/namespace/kind/name or group/kind/name; the core group is empty")
			continue
		}
		to, ok := b.index.refs[ref]
		switch {
		case !ok && b.broken:
			// The object may well be one of those that mistakes hide.
		case !ok:
			fail(fmt.Errorf("depends on %s, which is not in the render", ref), b.suggestObject(ref))
		case ref == it.ref:
			fail(fmt.Errorf("%s depends on itself", it.node.ID), "remove the dependency")
		default:
			b.edge(Edge{
				From: it.node.ID, To: b.index.items[to].node.ID,
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
