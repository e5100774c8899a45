// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// Build joins nodes into a graph. Neither nodes nor specs need any order, and nodes are not
// changed; the graph holds them.
//
// A spec that has nodes but is not in specs is known all the same. Inferred edges that would close
// a cycle are dropped: the least certain rules first, in the order in which [Rule] constants follow
// each other, and custom resource -> webhook before all others.
//
// The error is an [object.Errors] with every mistake: ids and objects that occur twice, unknown
// or own ids among the dependencies, cycles of explicit edges, more than [MaxJoins] or
// [MaxEdges].
func Build(nodes []*object.Node, specs []Spec) (*Graph, error) {
	// Index the nodes in an order that does not depend on the input.
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, compareNodes)
	b := &builder{index: newIndex(nodes), specs: map[string]Spec{}, nearest: map[string][]string{}}
	for _, s := range specs {
		b.specs[s.Name] = s
		b.broken = b.broken || s.Broken
	}
	for name := range b.index.specs {
		if _, ok := b.specs[name]; !ok {
			b.specs[name] = Spec{Name: name}
		}
	}

	// Explicit edges come first: a mistake in one of them ends the build.
	b.reportDuplicates()
	b.addNodeDependencies()
	b.addSpecDependencies()
	b.joinSets()
	b.sortExplicit()
	b.reportCycles()
	if len(b.errs) > 0 {
		return nil, b.errs.Sorted()
	}

	// Inferred edges are kept as far as they close no cycle.
	inferred, found, err := infer(b.index, MaxEdges-len(b.edges))
	if err != nil {
		b.fail(err)
		return nil, b.errs
	}
	kept, dropped := b.breakCycles(inferred)
	g := &Graph{
		Nodes:    nodes,
		Joins:    b.joins,
		Edges:    append(b.edges, kept...),
		Dropped:  dropped,
		Warnings: found.warnings.Sorted(),
		Needs:    found.sortedNeeds(),
	}
	slices.SortFunc(g.Edges, compareEdges)
	return g, nil
}

// compareNodes compares nodes in a total order: by id, then by what they are. Even wrong input
// thus gives the same errors in any order.
func compareNodes(a, b *object.Node) int {
	return cmp.Or(
		strings.Compare(string(a.ID), string(b.ID)),
		a.Object.Ref().Compare(b.Object.Ref()),
		a.SpecPos.Compare(b.SpecPos),
		a.Pos.Compare(b.Pos),
	)
}

func compareEdges(a, b Edge) int {
	return cmp.Or(
		strings.Compare(string(a.From), string(b.From)),
		strings.Compare(string(a.To), string(b.To)),
		strings.Compare(string(a.Rule), string(b.Rule)),
		a.Pos.Compare(b.Pos),
	)
}

// What a graph may hold. 700 specs of which each depends on all before it are 33 KB
// of input when compressed, and 245,000 joins of about a kilobyte each while they are
// ordered.
const (
	// MaxJoins bounds the dependencies on complete specs and between apply sets.
	MaxJoins = 20_000
	// MaxEdges bounds the edges between nodes.
	MaxEdges = 300_000
	// maxVisits bounds how many specs are visited to find specs with nodes behind specs without
	// nodes: each may lead to all of them.
	maxVisits = 2_000_000
)

// builder gathers explicit edges and mistakes.
type builder struct {
	index *index
	specs map[string]Spec
	// nearest holds the results of filled.
	nearest map[string][]string
	// visits counts the specs that it has visited, and broken is set if mistakes hide nodes.
	visits int
	broken bool
	edges  []Edge
	joins  []Join
	errs   object.Errors
}

// addJoin adds j, and reports the first one beyond [MaxJoins].
func (b *builder) addJoin(j Join) {
	if len(b.joins) == MaxJoins+1 {
		return
	}
	b.joins = append(b.joins, j)
	if len(b.joins) > MaxJoins {
		b.fail(&object.Error{
			Pos: object.FirstValid(j.Pos, b.specs[j.FromName].Pos),
			Err: fmt.Errorf("%s after %s: the project has more than %d dependencies on complete specs, which no flag allows",
				j.FromName, j.ToName, MaxJoins),
			Hint: "a dependency holds across others: of specs that depend on each other in a row, name the last one only",
		})
	}
}

// addEdge adds e, and reports the first one beyond [MaxEdges].
func (b *builder) addEdge(e Edge) {
	if len(b.edges) == MaxEdges+1 {
		return
	}
	b.edges = append(b.edges, e)
	if len(b.edges) > MaxEdges {
		err := tooManyEdges(b.index.items[b.index.ids[e.From]].node)
		err.Pos = object.FirstValid(e.Pos, err.Pos)
		b.fail(err)
	}
}

// tooManyEdges returns the mistake of the node n, with which there are more than [MaxEdges].
func tooManyEdges(n *object.Node) *object.Error {
	return &object.Error{
		Pos: position(n), Node: n.ID,
		Err:  fmt.Errorf("the objects depend on each other in more than %d ways, which no flag allows", MaxEdges),
		Hint: "render fewer objects at a time, or have fewer of them name the same object",
	}
}

func (b *builder) fail(e *object.Error) {
	e.Stage = object.StageGraph
	b.errs = append(b.errs, e)
}

// position returns where the user declared n: the spec, or else the module.
func position(n *object.Node) object.Pos {
	if n.SpecPos.IsValid() {
		return n.SpecPos
	}
	return n.Pos
}

// madeBy returns the positions that have to do with n: spec and module.
func madeBy(n *object.Node) []object.Note {
	var notes []object.Note
	if n.SpecPos.IsValid() {
		notes = append(notes, object.Note{Pos: n.SpecPos, Text: fmt.Sprintf("the spec of %s", n.ID)})
	}
	if n.Pos.IsValid() {
		notes = append(notes, object.Note{Pos: n.Pos, Text: fmt.Sprintf("the module makes %s here", n.ID)})
	}
	return notes
}

// reportDuplicates reports ids and objects that more than one node claims.
func (b *builder) reportDuplicates() {
	// Two specs that share many objects are one mistake, such as a copied file.
	type pair struct{ first, second string }
	shared := map[pair][]*object.Error{}

	// The first node with an id keeps it.
	for i, it := range b.index.items {
		first := b.index.ids[it.node.ID]
		if first != i {
			b.fail(&object.Error{
				Pos: position(it.node), Node: it.node.ID,
				Err:   fmt.Errorf("two nodes have the id %q", it.node.ID),
				Hint:  "give one of them another name",
				Notes: append(madeBy(b.index.items[first].node), madeBy(it.node)...),
			})
			continue
		}

		// An object belongs to one node.
		other := b.index.items[b.index.refs[it.ref]].node
		if other == it.node || it.ref.Name == "" || other.ID == it.node.ID {
			continue
		}
		e := &object.Error{
			Pos: position(it.node), Node: it.node.ID,
			Err:   fmt.Errorf("%s is rendered twice: by %s and by %s", it.ref, other.ID, it.node.ID),
			Hint:  "an object belongs to one node: rename or remove one of them" + existingHint(it.ref, other.ID, it.node.ID),
			Notes: append(madeBy(other), madeBy(it.node)...),
		}

		// Further objects of the same two specs are counted in the first error.
		specs := pair{other.ID.Spec(), it.node.ID.Spec()}
		if specs.first != specs.second {
			shared[specs] = append(shared[specs], e)
			if len(shared[specs]) > 1 {
				first := shared[specs][0]
				cause, _, _ := strings.Cut(first.Err.Error(), "; ")
				first.Err = fmt.Errorf("%s; and %d more that %s and %s both make", cause, len(shared[specs])-1, specs.first, specs.second)
				continue
			}
		}
		b.fail(e)
	}
}

// existingHint returns what else to do about an account that several workloads make.
func existingHint(ref object.Ref, ids ...object.ID) string {
	if ref.GroupKind() == "ServiceAccount" && !slices.ContainsFunc(ids, func(id object.ID) bool { return id.Node() != "account" }) {
		return ", or write serviceAccount: {name: " + ref.Name + ", existing: true} in the workloads that only use it"
	}
	return ""
}

// sortExplicit puts edges and joins in order and leaves out duplicates.
func (b *builder) sortExplicit() {
	slices.SortStableFunc(b.edges, compareEdges)
	b.edges = slices.CompactFunc(b.edges, sameEdge)
	slices.SortStableFunc(b.joins, func(x, y Join) int {
		return cmp.Or(
			strings.Compare(x.FromName, y.FromName),
			strings.Compare(x.ToName, y.ToName),
			strings.Compare(string(x.Rule), string(y.Rule)),
			x.Pos.Compare(y.Pos),
		)
	})
	b.joins = slices.CompactFunc(b.joins, func(x, y Join) bool {
		return x.FromName == y.FromName && x.ToName == y.ToName && x.Rule == y.Rule
	})
}

func sameEdge(x, y Edge) bool { return x.From == y.From && x.To == y.To && x.Rule == y.Rule }
