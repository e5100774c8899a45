// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"
	"strings"
)

// setDepths sets the depth of all members, and returns findings for cycles of owners.
func (m *members) setDepths() Findings {
	// Owners of the target may name it as well.
	above := closure([]*node{m.target}, m.owners)

	// Visit the owners of an object first. An object that is its own owner is in the path twice.
	var findings Findings
	var path []*node
	done := nodeSet{}
	var visit func(n *node)
	visit = func(n *node) {
		if start := slices.Index(path, n); start >= 0 {
			findings = append(findings, cycle(path[start:]))
			return
		}
		if done[n] {
			return
		}
		path = append(path, n)
		for _, o := range m.before(n, above) {
			visit(o)
			m.depth[n] = max(m.depth[n], m.depth[o]+1)
		}
		path = path[:len(path)-1]
		done[n] = true
	}

	// The order of the nodes does not depend on the order of lists.
	for _, n := range m.graph.nodes {
		if m.in[n] {
			visit(n)
		}
	}
	return findings
}

// cycle returns the finding about owners that own each other, beginning with the least of them.
func cycle(nodes []*node) Finding {
	least := 0
	for i, n := range nodes {
		if n.ref.Compare(nodes[least].ref) < 0 {
			least = i
		}
	}
	var names []string
	for i := range len(nodes) + 1 {
		names = append(names, nodes[(least+i)%len(nodes)].ref.String())
	}
	return Finding{nodes[least].ref, "its owners are a cycle: " + strings.Join(names, " -> "), "remove one of these owner references"}
}

// owners returns the owners that are members. A ClusterClass counts as an owner of its Cluster.
func (m *members) owners(n *node) []*node {
	var out []*node
	if n.class != nil {
		if class, ok := m.graph.byRef[*n.class]; ok {
			out = append(out, class)
		}
	}
	for _, o := range n.up {
		if m.in[o] {
			out = append(out, o)
		}
	}
	return out
}

// before returns the members that are imported before n: its owners, and the Cluster if n belongs
// to it by name only.
func (m *members) before(n *node, above nodeSet) []*node {
	out := m.owners(n)
	if len(out) == 0 && m.core[n] && !above[n] {
		out = append(out, m.target)
	}
	return out
}
