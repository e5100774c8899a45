// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// node is an object that may belong to the Cluster.
type node struct {
	ref plane.Ref
	uid string
	// names are the Clusters of the namespace that the object names as its own.
	names  []string
	owners []owner
	// refs are objects that the spec refers to; Group is "" if the reference has no group.
	refs []pointer
	// move means that the object is moved also if no Cluster owns it.
	move bool
	// hierarchy means that its dependents are moved with it.
	hierarchy bool
	// labelled means that a label asks for the move.
	labelled bool
	// global means that the object has no namespace.
	global bool
	// token means that the object is the token of a ServiceAccount of its plane.
	token bool
	// item has its Object only if the object is likely to be a member.
	item Item

	// class, providers and pausedBy are set for a Cluster.
	class     *plane.Ref
	providers []plane.Ref
	pausedBy  string

	// up and down are owners and owned objects; lost are owners that were not found.
	up, down []*node
	lost     []owner
}

// owner is an owner reference.
type owner struct {
	ref plane.Ref
	uid string
}

// pointer is a reference to an object, with its path in the spec.
type pointer struct {
	plane.Ref
	path string
}

// fill sets the content that an import needs.
func (n *node) fill(o *unstructured.Unstructured) (err error) {
	n.item.Object, err = snapshot.Canonical(o)
	if err != nil {
		return err
	}
	var applies []metav1.ManagedFieldsEntry
	for _, f := range o.GetManagedFields() {
		if f.Operation == metav1.ManagedFieldsOperationApply && f.Subresource == "" {
			applies = append(applies, f)
		}
	}
	if len(applies) > 0 {
		n.item.ManagedFields, err = json.Marshal(applies)
	}
	return err
}

// passive reports whether nothing reconciles an object: Secrets, ConfigMaps, and templates, whose
// kinds end with Template by contract.
func passive(n *node) bool {
	return n.ref.Group == "" || strings.HasSuffix(n.ref.Kind, templateKindsEnd)
}

// isCluster reports whether an object is a Cluster.
func (n *node) isCluster() bool { return n.ref.GroupKind() == clusterGK() }

// setLabels sets whether an object is moved by its labels, or by the labels of its definition.
func (n *node) setLabels(kind plane.Kind, labels map[string]string) {
	hierarchy := hasKey(kind.Labels, hierarchyLabel) || hasKey(labels, hierarchyLabel)
	n.labelled = hierarchy || hasKey(kind.Labels, moveLabel) || hasKey(labels, moveLabel)
	n.hierarchy = hierarchy || root(n.ref.GroupKind())
	n.move = n.labelled || n.hierarchy
}

// namesOf returns the Clusters that an object names as its own, sorted.
func namesOf(o *unstructured.Unstructured) []string {
	var names []string
	add := func(name string) {
		if name != "" {
			names = append(names, name)
		}
	}
	add(o.GetLabels()[clusterNameLabel])
	gk := o.GroupVersionKind().GroupKind()
	switch {
	case gk.Group != "":
		add(text(o.Object, "spec", "clusterName"))
		if gk.Group == addonsGroup && gk.Kind == bindingKind && len(names) == 0 {
			add(o.GetName())
		}
	case gk.Kind == secretKind:
		for _, purpose := range []string{"ca", "etcd", "proxy", "sa", "kubeconfig", "apiserver-etcd-client"} {
			if name, ok := strings.CutSuffix(o.GetName(), "-"+purpose); ok {
				add(name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// classOf returns the ClusterClass that a Cluster uses, or nil.
func classOf(o *unstructured.Unstructured) *plane.Ref {
	topology, _ := nested(o.Object, "spec", "topology").(map[string]any)
	name := cmp.Or(text(topology, "classRef", "name"), text(topology, "class"))
	if name == "" {
		return nil
	}
	namespace := cmp.Or(text(topology, "classRef", "namespace"), text(topology, "classNamespace"), o.GetNamespace())
	return &plane.Ref{Group: ClusterGroup, Kind: clusterClassKind, Namespace: namespace, Name: name}
}

// objectRef is a reference to an object in a spec.
type objectRef struct{ plane.Ref }

// reference reads a reference, and reports whether v is a reference.
func reference(v any) (objectRef, bool) {
	m, _ := v.(map[string]any)
	r := plane.Ref{Group: text(m, "apiGroup"), Kind: text(m, "kind"), Namespace: text(m, "namespace"), Name: text(m, "name")}
	if r.Group == "" {
		gv, _ := schema.ParseGroupVersion(text(m, "apiVersion"))
		r.Group = gv.Group
	}
	return objectRef{r}, r.Kind != "" && r.Name != ""
}

// in returns the object. A reference without a namespace means the given one.
func (r objectRef) in(namespace string) plane.Ref {
	r.Namespace = cmp.Or(r.Namespace, namespace)
	return r.Ref
}

// implied returns the Secret, or ConfigMap, that a field names without its kind: as a text in a
// field like secretName, or by a name in a field like secret or secretRef.
func implied(field string, v any) (objectRef, bool) {
	field = strings.ToLower(field)
	m, _ := v.(map[string]any)
	for _, kind := range []string{secretKind, configMapKind} {
		r := plane.Ref{Kind: kind, Namespace: text(m, "namespace"), Name: text(m, "name")}
		base := strings.ToLower(kind)
		switch {
		case strings.HasSuffix(field, base+"name"):
			r.Name, _ = v.(string)
		default:
			suffixes := []string{base, base + "ref", base + "keyref"}
			if !slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(field, suffix) }) {
				continue
			}
		}
		return objectRef{r}, r.Name != ""
	}
	return objectRef{}, false
}
