// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// members are what belongs to the Cluster.
type members struct {
	graph   *graph
	target  *node
	options Options
	// in are the members; core are those that are of the Cluster alone by their names and
	// owners; stays are copied and not deleted.
	in, core, stays nodeSet
	// others are all other Clusters, with what they reach.
	others []*node
	reach  map[*node]nodeSet
	depth  map[*node]int
}

// members decides what belongs to the target.
func (g *graph) members(target *node, nodes []*node, o Options) *members {
	m := &members{graph: g, target: target, options: o, reach: map[*node]nodeSet{}, depth: map[*node]int{}}
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
	for _, c := range m.others {
		m.reach[c] = g.reach(c, cores[c], nil, foreign(c))
	}
	m.core = cores[target]
	m.in = g.reach(target, m.core, m.extra(), foreign(target))
	m.stay()
	return m
}

// single reports whether the namespace has one Cluster only.
func (m *members) single() bool {
	return !slices.ContainsFunc(m.others, func(c *node) bool { return c.ref.Namespace == m.target.ref.Namespace })
}

// users are the other Clusters that use an object.
func (m *members) users(n *node) []*node {
	var out []*node
	for _, c := range m.others {
		if m.reach[c][n] {
			out = append(out, c)
		}
	}
	return out
}

// extra are the objects that belong to the target for another reason than that it needs
// them: the caller's wish, or that they are to be moved and there is no other Cluster.
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

// copyable reports whether two planes can have an object at once: nothing reconciles it for
// one Cluster.
func (m *members) copyable(n *node) bool {
	return !n.isCluster() && (!m.core[n] || passive(n))
}

// stay marks what is copied and not deleted: objects of no namespace, or of another one,
// those that the caller wants copied, and what these own.
func (m *members) stay() {
	m.stays = nodeSet{}
	var queue []*node
	add := func(n *node) {
		if m.in[n] && !m.stays[n] {
			m.stays[n] = true
			queue = append(queue, n)
		}
	}
	for n := range m.in {
		if n.ref.Namespace != m.target.ref.Namespace || m.copyable(n) && slices.Contains(m.options.Copy, n.ref) {
			add(n)
		}
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, d := range n.down {
			if !m.core[d] {
				add(d)
			}
		}
	}
}

// set makes the items.
func (m *members) set(ctx context.Context, s *scan) (Set, error) {
	out := Set{Cluster: m.target.ref, ClusterUID: m.target.uid, PausedBy: m.target.pausedBy}
	var nodes []*node
	for _, n := range m.graph.nodes {
		if m.in[n] {
			nodes = append(nodes, n)
		}
	}
	out.Items = make([]Item, len(nodes))
	err := s.plane.Each(ctx, len(nodes), func(ctx context.Context, i int) (err error) {
		out.Items[i], err = m.item(ctx, s, nodes[i])
		return err
	})
	if err != nil {
		return Set{}, err
	}
	slices.SortFunc(out.Items, func(a, b Item) int {
		if a.Depth != b.Depth {
			return a.Depth - b.Depth
		}
		return a.Ref.Compare(b.Ref)
	})
	return out, nil
}

// item is the member as it is moved.
func (m *members) item(ctx context.Context, s *scan, n *node) (Item, error) {
	if n.item.Object == nil {
		o, err := s.plane.Get(ctx, s.kinds[n.ref.GroupKind()], n.ref)
		if err != nil {
			return Item{}, fmt.Errorf("%s plane: %s: %w", s.plane.Name(), n.ref, err)
		}
		if string(o.GetUID()) != n.uid || o.GetResourceVersion() != n.item.ResourceVersion {
			return Item{}, fmt.Errorf("%s plane: %s has changed while the objects of %s were read: run it again", s.plane.Name(), n.ref, m.target.ref)
		}
		if err := n.fill(o); err != nil {
			return Item{}, err
		}
	}
	item := n.item
	item.Depth, item.Stays = m.depth[n], m.stays[n]
	for _, o := range n.up {
		if m.in[o] {
			item.Owners = append(item.Owners, o.ref)
		}
	}
	slices.SortFunc(item.Owners, plane.Ref.Compare)
	if len(item.Owners) < len(n.owners) {
		// Only what stays gets here with other owners, which the target will not have.
		var err error
		if item.Object, err = withOwners(item.Object, item.Owners); err != nil {
			return Item{}, fmt.Errorf("%s: %w", n.ref, err)
		}
	}
	item.Digest = snapshot.Sum(item.Object)
	return item, nil
}

// withOwners is a canonical object with those owner references only.
func withOwners(canonical json.RawMessage, keep []plane.Ref) (json.RawMessage, error) {
	var o map[string]json.RawMessage
	var metadata map[string]json.RawMessage
	var owners []json.RawMessage
	if err := json.Unmarshal(canonical, &o); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(o["metadata"], &metadata); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(metadata["ownerReferences"], &owners); err != nil {
		return nil, err
	}
	owners = slices.DeleteFunc(owners, func(raw json.RawMessage) bool {
		var v map[string]any
		if json.Unmarshal(raw, &v) != nil {
			return true
		}
		r, _ := reference(v)
		return !slices.ContainsFunc(keep, func(k plane.Ref) bool { return k.GroupKind() == r.GroupKind() && k.Name == r.Name })
	})
	delete(metadata, "ownerReferences")
	var err error
	if len(owners) > 0 {
		if metadata["ownerReferences"], err = json.Marshal(owners); err != nil {
			return nil, err
		}
	}
	if o["metadata"], err = json.Marshal(metadata); err != nil {
		return nil, err
	}
	return json.Marshal(o)
}
