// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// check returns findings for everything that stands in the way.
func (m *members) check(ctx context.Context, s *scan) Findings {
	out := slices.Concat(m.copies(), m.references(s.kinds), m.forgotten())
	for _, n := range m.graph.nodes {
		if m.in[n] && n.token {
			const problem = "is of type %s, and would be deleted by the controller of the target plane, which does not have its ServiceAccount"
			const advice = "keep it out of the set: remove its label %s, its owner references and what names it, " +
				"and have the target plane make a token of its own"
			out = append(out, Finding{n.ref, fmt.Sprintf(problem, tokenType), fmt.Sprintf(advice, clusterNameLabel)})
		}
		switch {
		case !m.in[n]:
			out = append(out, m.left(n)...)
		case !m.stays[n]:
			out = append(out, m.shared(n, s.blind)...)
			out = append(out, m.outside(ctx, s, n)...)
		}
	}
	return out
}

// copies checks the objects that the caller wants copied.
func (m *members) copies() Findings {
	var out Findings
	for _, r := range m.options.Copy {
		switch n, ok := m.graph.byRef[r]; {
		case !ok:
			advice := "correct its kind, group, namespace and name, or do not ask for it"
			out = append(out, Finding{r, "is to be copied, but is not there", advice})
		case !m.copyable(n):
			out = append(out, Finding{r, "cannot be copied: two planes would be in charge of it", "do not ask for it"})
		}
	}
	return out
}

// references checks the provider objects and the ClusterClass of the Cluster.
func (m *members) references(kinds plane.Kinds) Findings {
	var out Findings
	for _, r := range m.target.providers {
		if _, ok := kinds[r.GroupKind()]; !ok {
			problem := fmt.Sprintf("refers to %s, a kind that is not served", r)
			out = append(out, Finding{m.target.ref, problem, "install the provider, or correct the reference"})
		} else if len(m.graph.resolve(r)) == 0 {
			out = append(out, Finding{m.target.ref, fmt.Sprintf("refers to %s, which is not there", r), "correct the reference"})
		}
	}

	// A class of another namespace is read only to be copied.
	c := m.target.class
	isKnown := c == nil || m.graph.byRef[*c] != nil
	if isKnown || slices.Contains(m.options.Copy, *c) {
		return out
	}
	if c.Namespace != m.target.ref.Namespace {
		problem := fmt.Sprintf("is used by %s, and is in another namespace", m.target.ref)
		return append(out, Finding{*c, problem, "have it copied: it stays on the source as well"})
	}
	return append(out, Finding{m.target.ref, fmt.Sprintf("refers to %s, which is not there", c), "correct the reference"})
}

// forgotten returns findings for Secrets and ConfigMaps that members name, and that would not be
// moved: their controllers would miss them on the target. An object that does not exist is not
// needed yet.
func (m *members) forgotten() Findings {
	// Collect the members that name each object.
	namers := map[*node][]string{}
	for _, n := range m.graph.nodes {
		if !m.in[n] {
			continue
		}
		for _, r := range n.refs {
			o := m.graph.byRef[r.Ref]
			isForgotten := o != nil && r.Group == "" && !m.in[o]
			if isForgotten {
				namers[o] = append(namers[o], fmt.Sprintf("%s at %s", n.ref, r.path))
			}
		}
	}

	// Report each object once.
	var out Findings
	for o, members := range namers {
		named := members[0]
		if more := len(members) - 1; more > 0 {
			named += fmt.Sprintf(", and by %d more", more)
		}
		out = append(out, Finding{o.ref, fmt.Sprintf("is named by %s, and is not moved", named),
			fmt.Sprintf("label it %s, or give it the label %s, or copy it with --copy", moveLabel, clusterNameLabel)})
	}
	return out
}

// shared checks a member that other Clusters use as well.
func (m *members) shared(n *node, blind bool) Findings {
	class := n.ref.Group == ClusterGroup && n.ref.Kind == clusterClassKind
	users := m.users(n)
	switch {
	case len(users) > 0:
		// The dependents of a shared object are shared with it, and reported with it.
		isShared := func(o *node) bool { return m.in[o] && !m.stays[o] && len(m.users(o)) > 0 }
		if !m.core[n] && slices.ContainsFunc(n.up, isShared) {
			return nil
		}
		advice := "have it copied: it stays on the source as well; or give each Cluster one of its own"
		if !m.copyable(n) {
			advice = "let it belong to one Cluster only: correct its owner references, its label " + clusterNameLabel + " and spec.clusterName"
		}
		return Findings{{n.ref, "is used by " + list(users) + " as well", advice}}
	case class && blind:
		return Findings{{n.ref, "may be used by Clusters of other namespaces: the user of the kubeconfig may not list them",
			"grant list on clusters." + ClusterGroup + " in all namespaces; or have it copied: it stays on the source as well"}}
	}
	return nil
}

// list names objects, sorted.
func list(nodes []*node) string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.ref.String())
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// outside checks the owners of a member that are no members. A Cluster that uses the member is
// reported by shared.
func (m *members) outside(ctx context.Context, s *scan, n *node) Findings {
	var out Findings
	for _, o := range n.up {
		usesIt := o.isCluster() && m.reach[o][n]
		if m.in[o] || usesIt {
			continue
		}
		whose := "belongs to no Cluster"
		if users := m.users(o); len(users) > 0 {
			whose = "belongs to " + list(users)
		}
		out = append(out, Finding{n.ref, fmt.Sprintf("its owner %s %s", o.ref, whose),
			"remove the owner reference, or let the owner belong to the Cluster: label it " + clusterNameLabel})
	}
	for _, o := range n.lost {
		out = append(out, m.lost(ctx, s, n, o))
	}
	return out
}

// lost returns the finding about an owner that was not found.
func (m *members) lost(ctx context.Context, s *scan, n *node, o owner) Finding {
	kind, served := s.kinds[o.ref.GroupKind()]
	if kind.Namespaced {
		o.ref.Namespace = n.ref.Namespace
	}
	const remove = "remove the owner reference"
	foreign := Finding{n.ref, fmt.Sprintf("its owner %s is of a kind that is not moved", o.ref), remove}
	listed := slices.ContainsFunc(s.candidates, func(k plane.Kind) bool { return k.GroupKind() == o.ref.GroupKind() })
	switch {
	case listed || (served && !m.exists(ctx, s.plane, kind, o)):
		return Finding{n.ref, fmt.Sprintf("its owner %s with UID %q is not there", o.ref, o.uid), remove}
	case served && kind.Group != "":
		const format = ", or label its CustomResourceDefinition %s, or %s, where it is to be moved"
		foreign.Advice += fmt.Sprintf(format, moveLabel, hierarchyLabel)
	}
	return foreign
}

// exists reports whether an owner is there; an owner that cannot be read counts as there. The answer
// is kept, because many objects may have the same owner.
func (m *members) exists(ctx context.Context, p *plane.Plane, kind plane.Kind, o owner) bool {
	if known, ok := m.known[o]; ok {
		return known
	}
	there, err := p.Get(ctx, kind, o.ref)
	isSame := err == nil && string(there.GetUID()) == o.uid
	m.known[o] = isSame || plane.IgnoreNotFound(err) != nil
	return m.known[o]
}

// left checks an object that is no member.
func (m *members) left(n *node) Findings {
	if n.ref.Namespace != m.target.ref.Namespace {
		return nil
	}

	// The garbage collector deletes an object whose owners are all moved.
	isKept := func(o *node) bool { return !m.in[o] || m.stays[o] || len(m.users(o)) > 0 }
	if len(n.up) > 0 && !slices.ContainsFunc(n.up, isKept) {
		const advice = "label the owner %s, so that it moves with what it owns; or have the owner copied: it stays on the source as well"
		problem := fmt.Sprintf("does not belong to the Cluster, but would be deleted with its owner %s", n.up[0].ref)
		return Findings{{n.ref, problem, fmt.Sprintf(advice, hierarchyLabel)}}
	}

	// A label asks to move an object that belongs to no Cluster.
	isUnclaimed := n.labelled && !n.isCluster() && len(m.users(n)) == 0
	if isUnclaimed {
		const advice = "label it %s with the name of its Cluster; or have it copied: it stays on the source as well; or remove its label"
		problem := "is labelled to be moved, and belongs to none of the Clusters of its namespace"
		return Findings{{n.ref, problem, fmt.Sprintf(advice, clusterNameLabel)}}
	}
	return nil
}
