// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package units

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// drawn is the graph of units while it is made.
type drawn struct {
	nodes map[gitops.ID]*object.Node
	// parents are the edges to what makes a unit, and sets are the nodes that are no unit.
	parents map[[2]object.ID]bool
	sets    map[gitops.ID]bool
}

// Plan returns the plan of units: each waits for those that it depends on, and for the one that makes
// it. An ApplicationSet between them is a node too. The warnings are about units that are in no file.
// The error is an object.Errors with units that wait for each other.
func (f *Found) Plan() (*order.Plan, object.Errors, error) {
	// Add the units, and what leads to them.
	d := drawn{nodes: map[gitops.ID]*object.Node{}, parents: map[[2]object.ID]bool{}, sets: map[gitops.ID]bool{}}
	for _, u := range f.Units {
		d.add(u.ID, u.Place(u.Pos))
	}
	for _, u := range f.Units {
		d.addParents(u)
	}

	// Add what they depend on, as far as it is here.
	var warnings object.Errors
	engine := dialect.Flux
	for _, u := range f.Units {
		if u.Kind == "Application" {
			engine = dialect.ArgoCD
		}
		for _, id := range u.DependsOn {
			if d.nodes[id] == nil {
				err := fmt.Errorf("%s depends on %s, which is in no file that was looked at", u.ID, id)
				warnings = append(warnings, &object.Error{Stage: object.StageGraph, Severity: object.SeverityWarning, Pos: u.Place(u.Pos), Err: err})
				continue
			}
			d.wait(u.ID, id, u.Place(u.Pos))
			delete(d.parents, [2]object.ID{nodeID(u.ID), nodeID(id)})
		}
	}
	plan, err := d.plan(engine)
	return plan, warnings, err
}

// add adds the node of a unit.
func (d *drawn) add(id gitops.ID, pos object.Pos) {
	meta := map[string]any{"name": id.Name}
	if id.Namespace != "" {
		meta["namespace"] = id.Namespace
	}
	o := object.Object{"apiVersion": groupOf(id.Kind) + "/v1", "kind": id.Kind, "metadata": meta}
	d.nodes[id] = &object.Node{ID: nodeID(id), Object: o, Pos: pos, SpecPos: pos}
}

// groupOf returns the group of a kind of units.
func groupOf(kind string) string {
	switch kind {
	case "Kustomization":
		return "kustomize.toolkit.fluxcd.io"
	case "HelmRelease":
		return "helm.toolkit.fluxcd.io"
	case "ResourceSet":
		return "fluxcd.controlplane.io"
	}
	return "argoproj.io"
}

// nodeID returns the id of the node of a unit. Those of a cluster are of one spec.
func nodeID(id gitops.ID) object.ID {
	cluster := id.Cluster
	id.Cluster = ""
	return object.MakeID(cmp.Or(cluster, "units"), strings.ReplaceAll(Folder(id), "/", "."))
}

// addParents adds the edge from a unit to what makes it, and on over what is no unit of its own, as an
// ApplicationSet is.
func (d *drawn) addParents(u *command.Unit) {
	child := u.ID
	for _, id := range slices.Backward(u.Parents) {
		if d.nodes[id] == nil {
			d.add(id, u.Place(u.Pos))
			d.sets[id] = true
		}
		d.wait(child, id, u.Place(u.Pos))
		d.parents[[2]object.ID{nodeID(child), nodeID(id)}] = true
		if !d.sets[id] {
			return // It has an edge of its own.
		}
		child = id
	}
}

// wait adds an edge.
func (d *drawn) wait(from, to gitops.ID, pos object.Pos) {
	n := d.nodes[from]
	isKnown := slices.ContainsFunc(n.DependsOn, func(dep object.Dependency) bool { return dep.ID == nodeID(to) })
	if !isKnown {
		n.DependsOn = append(n.DependsOn, object.Dependency{ID: nodeID(to), Pos: pos})
	}
}

// plan cuts the graph into waves. Clusters may have objects of one name, so that each is a graph
// of its own before.
func (d *drawn) plan(engine dialect.Name) (*order.Plan, error) {
	clusters := map[string][]*object.Node{}
	for id, n := range d.nodes {
		clusters[id.Cluster] = append(clusters[id.Cluster], n)
	}
	all := &graph.Graph{}
	for _, name := range object.SortedKeys(clusters) {
		g, err := graph.Build(clusters[name], nil)
		if err != nil {
			return nil, err
		}
		all.Nodes = append(all.Nodes, g.Nodes...)
		all.Edges = append(all.Edges, g.Edges...)
	}
	slices.SortFunc(all.Nodes, func(a, b *object.Node) int { return strings.Compare(string(a.ID), string(b.ID)) })
	slices.SortStableFunc(all.Edges, func(a, b graph.Edge) int {
		return cmp.Or(strings.Compare(string(a.From), string(b.From)), strings.Compare(string(a.To), string(b.To)))
	})

	chosen, err := dialect.Find(engine)
	plan := &order.Plan{Graph: all, Dialect: chosen, Placements: map[object.ID]order.Placement{}, Blocking: map[object.ID]bool{}}
	d.level(plan)
	return plan, err
}

// level puts each node into the wave after all that it waits for. The engine makes a unit before it
// exists, and lets it wait until those in its dependsOn are ready.
func (d *drawn) level(p *order.Plan) {
	// Say of each edge why it is there.
	edges := map[object.ID][]int{}
	for i, e := range p.Graph.Edges {
		gate := order.Gate{Gating: true, Reason: fmt.Sprintf("%s must be ready first", e.To)}
		if d.parents[[2]object.ID{e.From, e.To}] {
			p.Graph.Edges[i].Rule = graph.RuleOwner
			gate.Reason = fmt.Sprintf("%s makes it", e.To)
		}
		p.Gates = append(p.Gates, gate)
		edges[e.From] = append(edges[e.From], i)
	}

	// Place what it waits for first; there is no cycle.
	var place func(id object.ID) int
	place = func(id object.ID) int {
		if at, ok := p.Placements[id]; ok {
			return at.Wave
		}
		at := order.Placement{Edge: -1, Reason: "it is an entry, which no other unit makes"}
		for _, i := range edges[id] {
			to := p.Graph.Edges[i].To
			if wave := place(to) + 1; wave > at.Wave {
				at = order.Placement{Wave: wave, Edge: i, After: to, Reason: p.Gates[i].Reason}
			}
		}
		p.Placements[id] = at
		return at.Wave
	}
	for _, n := range p.Graph.Nodes {
		wave := place(n.ID)
		for len(p.Waves) <= wave {
			p.Waves = append(p.Waves, order.Wave{})
		}
		p.Waves[wave].Nodes = append(p.Waves[wave].Nodes, n)
	}
}
