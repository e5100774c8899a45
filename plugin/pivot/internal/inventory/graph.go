// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// graph has all objects that were read, with owners and references resolved.
type graph struct {
	nodes []*node
	byRef map[plane.Ref]*node
	// byName has the objects that are to be moved, for references without a group.
	byName map[plane.Ref][]*node
	// ofCluster has the objects that name a Cluster as their own.
	ofCluster map[types.NamespacedName][]*node
}

// link returns the graph of the objects. It resolves owner references by UID and name.
func link(nodes []*node) *graph {
	g := &graph{
		nodes:     nodes,
		byRef:     map[plane.Ref]*node{},
		byName:    map[plane.Ref][]*node{},
		ofCluster: map[types.NamespacedName][]*node{},
	}

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

	// Tie each object to its owners. As in the garbage collector, an owner with another name or kind
	// is not there.
	for _, n := range nodes {
		for _, o := range n.owners {
			up, ok := byUID[o.uid]
			isOwner := ok && up.ref.GroupKind() == o.ref.GroupKind() && up.ref.Name == o.ref.Name
			if !isOwner {
				n.lost = append(n.lost, o)
			} else if !slices.Contains(n.up, up) {
				n.up = append(n.up, up)
				up.down = append(up.down, n)
			}
		}
	}

	// A ClusterResourceSet owns the objects that it names.
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

// nodeSet is a set of objects.
type nodeSet = map[*node]bool

// closure returns start, and all elements that next returns for an element of the result.
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

// core returns the objects of a single Cluster: the Cluster itself, objects that name it, its
// infrastructure and control plane, and their dependents.
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
// Cluster is paused: the Cluster itself, objects that name it, and their dependents. A ClusterClass
// and a ClusterResourceSet report only whether they are paused themselves.
func (g *graph) followers(cluster *node) nodeSet {
	follow := func(nodes []*node) []*node {
		return slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool {
			return (n.isCluster() && n != cluster) || root(n.ref.GroupKind())
		})
	}
	named := g.ofCluster[types.NamespacedName{Namespace: cluster.ref.Namespace, Name: cluster.ref.Name}]
	return closure(append(follow(named), cluster), func(n *node) []*node { return follow(n.down) })
}

// arrival is an object that a Cluster reaches. If carry is set, it brings its dependents.
type arrival struct {
	*node
	carry bool
}

// reach returns the core of a Cluster with the objects that it needs: its ClusterClass, owners that
// are to be moved, objects that specs refer to, and extra. The root of a hierarchy brings its
// dependents, except foreign ones, which belong to another Cluster.
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

	// Follow owners, references and dependents.
	follow := func(a arrival) []arrival {
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
	}
	in := nodeSet{}
	for a := range closure(start, follow) {
		in[a.node] = true
	}
	return in
}
