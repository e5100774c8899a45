// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// members decides which objects belong to the Cluster.
type members struct {
	graph   *graph
	target  *node
	options Options
	// in has the members.
	in nodeSet
	// core has the members that belong to no other Cluster, by their names and owners.
	core nodeSet
	// stays has the members that are copied and not deleted.
	stays nodeSet
	// followers report whether the Cluster is paused.
	followers nodeSet
	// others are all other Clusters, and reach the objects that they use.
	others []*node
	reach  map[*node]nodeSet
	depth  map[*node]int
	// known records for owners of kinds that are not moved whether they are there.
	known map[owner]bool
}

// members returns the members of the target.
func (g *graph) members(target *node, nodes []*node, o Options) *members {
	m := &members{
		graph:   g,
		target:  target,
		options: o,
		reach:   map[*node]nodeSet{},
		depth:   map[*node]int{},
		known:   map[owner]bool{},
	}

	// Find the core of each Cluster. An object in the core of another one is foreign.
	cores := map[*node]nodeSet{}
	for _, n := range nodes {
		if n.isCluster() {
			cores[n] = g.core(n)
			if n != target {
				m.others = append(m.others, n)
			}
		}
	}
	foreign := func(cluster *node) func(*node) bool {
		return func(n *node) bool {
			for other, core := range cores {
				if other != cluster && core[n] {
					return true
				}
			}
			return false
		}
	}

	// The other Clusters come first, because extra objects must not belong to them.
	for _, c := range m.others {
		m.reach[c] = g.reach(c, cores[c], nil, foreign(c))
	}
	m.core = cores[target]
	m.in = g.reach(target, m.core, m.extra(), foreign(target))
	m.followers = g.followers(target)
	m.markStays()
	return m
}

// single reports whether the namespace has only one Cluster.
func (m *members) single() bool {
	return !slices.ContainsFunc(m.others, func(c *node) bool { return c.ref.Namespace == m.target.ref.Namespace })
}

// users returns the other Clusters that use an object.
func (m *members) users(n *node) []*node {
	var out []*node
	for _, c := range m.others {
		if m.reach[c][n] {
			out = append(out, c)
		}
	}
	return out
}

// extra returns objects that the target does not need: the caller wants them copied, or they have a
// label for the move and the namespace has no other Cluster.
func (m *members) extra() []*node {
	var out []*node
	for _, r := range m.options.Copy {
		if n, ok := m.graph.byRef[r]; ok {
			out = append(out, n)
		}
	}
	if !m.single() {
		return out
	}
	for _, n := range m.graph.nodes {
		if n.move && n.ref.Namespace == m.target.ref.Namespace && len(m.users(n)) == 0 {
			out = append(out, n)
		}
	}
	return out
}

// copyable reports whether two planes can have an object at once, because nothing reconciles it
// for a single Cluster.
func (m *members) copyable(n *node) bool {
	return !n.isCluster() && (!m.core[n] || passive(n))
}

// markStays marks the objects that are copied and not deleted: objects without a namespace, or of
// another namespace, objects that the caller wants copied, and their dependents.
func (m *members) markStays() {
	var start []*node
	for n := range m.in {
		isCopied := m.copyable(n) && slices.Contains(m.options.Copy, n.ref)
		if isCopied || n.ref.Namespace != m.target.ref.Namespace {
			start = append(start, n)
		}
	}
	m.stays = closure(start, func(n *node) []*node {
		return slices.DeleteFunc(slices.Clone(n.down), func(d *node) bool { return !m.in[d] || m.core[d] })
	})
}

// set returns the set with its items.
func (m *members) set(ctx context.Context, s *scan) (Set, error) {
	out := Set{
		Cluster:    m.target.ref,
		ClusterUID: m.target.uid,
		PausedBy:   m.target.pausedBy,
		Left:       m.unclaimed(),
		listed:     map[schema.GroupKind]bool{},
	}
	for _, k := range s.candidates {
		out.listed[k.GroupKind()] = true
	}
	var nodes []*node
	for _, n := range m.graph.nodes {
		if m.in[n] {
			nodes = append(nodes, n)
		}
	}

	// Some items need another request.
	out.Items = make([]Item, len(nodes))
	err := s.plane.Each(ctx, len(nodes), func(ctx context.Context, i int) (err error) {
		out.Items[i], err = m.item(ctx, s, nodes[i])
		return err
	})
	if err != nil {
		return Set{}, err
	}
	slices.SortFunc(out.Items, func(a, b Item) int { return a.Compare(&b.Entry) })
	return out, nil
}

// unclaimed returns the objects of the namespace that belong to no Cluster.
func (m *members) unclaimed() []plane.Ref {
	var out []plane.Ref
	for _, n := range m.graph.nodes {
		inNamespace := n.ref.Group != "" && n.ref.Namespace == m.target.ref.Namespace && !n.isCluster()
		belongs := m.in[n] || len(m.users(n)) > 0
		if inNamespace && !belongs {
			out = append(out, n.ref)
		}
	}
	slices.SortFunc(out, plane.Ref.Compare)
	return out
}

// item returns a member with the content that is moved.
func (m *members) item(ctx context.Context, s *scan, n *node) (Item, error) {
	var owners []*node
	for _, o := range n.up {
		if m.in[o] {
			owners = append(owners, o)
		}
	}

	// A member that stays may have other owners, which the target will not have.
	if n.item.Object == nil || len(owners) < len(n.up)+len(n.lost) {
		if err := m.readAgain(ctx, s, n, owners); err != nil {
			return Item{}, fmt.Errorf("%s plane: %s: %w", s.plane.Name(), n.ref, err)
		}
	}
	item := n.item
	item.Depth = m.depth[n]
	item.Stays = m.stays[n]
	item.Digest = snapshot.Sum(n.item.Object)
	item.ReportsPaused = item.ReportsPaused && m.followers[n]
	for _, o := range owners {
		item.Owners = append(item.Owners, o.ref)
	}
	slices.SortFunc(item.Owners, plane.Ref.Compare)
	return item, nil
}

// readAgain reads a member that was not kept, or that has owners which it will not have on the
// target.
func (m *members) readAgain(ctx context.Context, s *scan, n *node, owners []*node) error {
	o, err := s.plane.Get(ctx, s.kinds[n.ref.GroupKind()], n.ref)
	if err != nil {
		return err
	}
	if string(o.GetUID()) != n.uid || o.GetResourceVersion() != n.item.ResourceVersion {
		return fmt.Errorf("it has changed while the objects of %s were read: run it again", m.target.ref)
	}
	o.SetOwnerReferences(slices.DeleteFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		isOwner := func(owner *node) bool { return owner.uid == string(r.UID) && owner.ref.Name == r.Name }
		return !slices.ContainsFunc(owners, isOwner)
	}))
	return n.fill(o)
}
