// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// graph is all that was read, with owners and references resolved.
type graph struct {
	nodes []*node
	byRef map[plane.Ref]*node
	// byName has what is to be moved, for references without a group.
	byName map[plane.Ref][]*node
	// ofCluster has what says that it belongs to a Cluster.
	ofCluster map[types.NamespacedName][]*node
}

// link returns the graph of the objects. It resolves owner references by UID and name.
func link(nodes []*node) *graph {
	g := &graph{nodes: nodes, byRef: map[plane.Ref]*node{}, byName: map[plane.Ref][]*node{}, ofCluster: map[types.NamespacedName][]*node{}}

	// Index the objects by UID, reference, name and Cluster.
	byUID := map[string]*node{}
	for _, n := range nodes {
		g.byRef[n.ref] = n
		byUID[n.uid] = n
		for _, name := range n.names {
			cluster := types.NamespacedName{Namespace: n.ref.Namespace, Name: name}
			g.ofCluster[cluster] = append(g.ofCluster[cluster], n)
		}
		if n.move {
			name := n.ref
			name.Group = ""
			g.byName[name] = append(g.byName[name], n)
		}
	}

	// Tie each object to its owners.
	for _, n := range nodes {
		for _, o := range n.owners {
			up, ok := byUID[o.uid]
			// As in the garbage collector, an owner that is named differently is not there.
			if !ok || up.ref.GroupKind() != o.ref.GroupKind() || up.ref.Name != o.ref.Name {
				n.lost = append(n.lost, o)
			} else if !slices.Contains(n.up, up) {
				n.up = append(n.up, up)
				up.down = append(up.down, n)
			}
		}
	}

	// A ClusterResourceSet owns what it names.
	for _, n := range nodes {
		if n.ref.GroupKind() == resourceSetGK() {
			g.hold(n)
		}
	}
	return g
}

// hold lets a ClusterResourceSet own the Secrets and ConfigMaps that it names. Its controller
// makes it their owner only once it has applied them to a Cluster.
func (g *graph) hold(set *node) {
	for _, r := range set.refs {
		if o, ok := g.byRef[r.Ref]; ok && r.Group == "" && !slices.Contains(set.down, o) {
			set.down = append(set.down, o)
		}
	}
}

// resolve returns the objects that a reference may mean. A reference without a group means only
// kinds that are to be moved, because it may also be a word of a provider.
func (g *graph) resolve(r plane.Ref) []*node {
	global := r
	global.Namespace = ""
	if r.Group == "" {
		return append(slices.Clone(g.byName[r]), g.byName[global]...)
	}
	for _, r := range []plane.Ref{r, global} {
		if n, ok := g.byRef[r]; ok {
			return []*node{n}
		}
	}
	return nil
}

// nodeSet are objects.
type nodeSet = map[*node]bool

// closure returns start and all that next leads to.
func closure[T comparable](start []T, next func(T) []T) map[T]bool {
	in := map[T]bool{}
	for queue := start; len(queue) > 0; {
		n := queue[0]
		queue = queue[1:]
		if !in[n] {
			in[n] = true
			queue = append(queue, next(n)...)
		}
	}
	return in
}

// core returns the objects of one Cluster: the Cluster itself, those that name it, its
// infrastructure and control plane, and all that these own.
func (g *graph) core(cluster *node) nodeSet {
	start := slices.Clone(g.ofCluster[types.NamespacedName{Namespace: cluster.ref.Namespace, Name: cluster.ref.Name}])
	for _, r := range cluster.providers {
		start = append(start, g.resolve(r)...)
	}
	notOther := func(nodes []*node) []*node {
		return slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return n.isCluster() && n != cluster })
	}
	return closure(append(notOther(start), cluster), func(n *node) []*node { return notOther(n.down) })
}

// followers returns the objects whose controllers report in the condition Paused whether the
// Cluster is paused: the Cluster itself, those that name it, and what these own. A ClusterClass
// and a ClusterResourceSet report only whether they are paused themselves.
func (g *graph) followers(cluster *node) nodeSet {
	follow := func(nodes []*node) []*node {
		return slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool {
			return n.isCluster() && n != cluster || root(n.ref.GroupKind())
		})
	}
	named := g.ofCluster[types.NamespacedName{Namespace: cluster.ref.Namespace, Name: cluster.ref.Name}]
	return closure(append(follow(named), cluster), func(n *node) []*node { return follow(n.down) })
}

// arrival is an object that a Cluster reaches; carry: with what it owns.
type arrival struct {
	*node
	carry bool
}

// reach returns the core of a Cluster with what it needs: its ClusterClass, owners that are to be
// moved, what specs refer to, and extra. Each comes with what it owns if it is the root of a
// hierarchy. Foreign objects are of another Cluster: being owned does not bring them in.
func (g *graph) reach(cluster *node, core nodeSet, extra []*node, foreign func(*node) bool) nodeSet {
	// Begin with the core, its class and the extra objects.
	var start []arrival
	for n := range core {
		start = append(start, arrival{node: n})
	}
	if cluster.class != nil && g.byRef[*cluster.class] != nil {
		start = append(start, arrival{g.byRef[*cluster.class], true})
	}
	for _, n := range extra {
		start = append(start, arrival{n, n.hierarchy})
	}
	start = slices.DeleteFunc(start, func(a arrival) bool { return a.isCluster() && !core[a.node] })

	// Follow owners, references, and what is carried along.
	in := nodeSet{}
	for a := range closure(start, func(a arrival) []arrival {
		var next []arrival
		for _, o := range a.up {
			if o.move || o.global {
				next = append(next, arrival{o, o.hierarchy})
			}
		}
		for _, r := range a.refs {
			for _, o := range g.resolve(r.Ref) {
				next = append(next, arrival{o, o.hierarchy})
			}
		}
		for _, d := range a.down {
			if a.carry && !foreign(d) {
				next = append(next, arrival{d, true})
			}
		}
		return slices.DeleteFunc(next, func(a arrival) bool { return a.isCluster() })
	}) {
		in[a.node] = true
	}
	return in
}
