// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"maps"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// Need is an object that a render names, and that must be in the cluster already: the render
// neither has it nor makes what produces it.
type Need struct {
	// Ref has the namespace of the object that names it, even if its kind has no namespaces: only
	// kinds of Kubernetes, and kinds whose name begins with Cluster, are known to have no
	// namespaces.
	Ref object.Ref
	// From is the first node that names it, at Path.
	From object.ID
	Path object.Path
}

// noteNeed notes a reference that the render does not answer.
func (f *finder) noteNeed(r object.Ref, place *link) {
	isNamed := r.Name != "" && r.Kind != ""
	if f.optional || !isNamed || provided(r) {
		return
	}
	if strings.HasPrefix(r.Kind, "Cluster") && object.IsCustom(r.Group) && !strings.HasSuffix(r.Group, "cnpg.io") {
		r.Namespace = ""
	}
	_, made := f.refs[r]
	if _, ok := f.needs[r]; !ok && !made {
		f.needs[r] = Need{Ref: r, From: f.item.node.ID, Path: cursor{at: place}.path()}
	}
}

// provided reports whether every cluster has an object: Kubernetes makes it.
func provided(r object.Ref) bool {
	switch r.GroupKind() {
	case "Namespace":
		return r.Name == "default" || strings.HasPrefix(r.Name, "kube-")
	case "ServiceAccount":
		return r.Name == "default"
	case "ConfigMap":
		return r.Name == "kube-root-ca.crt"
	case "ClusterRole." + rbacGroup:
		return strings.HasPrefix(r.Name, "system:") || slices.Contains([]string{"admin", "cluster-admin", "edit", "view"}, r.Name)
	case "PriorityClass.scheduling.k8s.io":
		return strings.HasPrefix(r.Name, "system-")
	}
	return false
}

// findUnlessOptional calls find for what a reference of a pod names; one that is optional is
// no need.
func (f *finder) findUnlessOptional(reference cursor, find func(reference cursor)) {
	f.findOptional(reference.get("optional").value == true, func() { find(reference) })
}

// findOptional calls find. If optional is set, what it finds is not needed.
func (f *finder) findOptional(optional bool, find func()) {
	was := f.optional
	f.optional = was || optional
	find()
	f.optional = was
}

// sortedNeeds returns the needs by what is needed.
func (f *finder) sortedNeeds() []Need {
	return slices.SortedFunc(maps.Values(f.needs), func(a, b Need) int { return a.Ref.Compare(b.Ref) })
}
