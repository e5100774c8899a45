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
	// names are the Clusters of the namespace that the object says it belongs to.
	names  []string
	owners []owner
	// refs are objects that the spec refers to; Group is "" where the reference has none.
	refs []pointer
	// move: it is to be moved though no Cluster owns it; hierarchy: with what it owns.
	// labelled: that is what a label says.
	move, hierarchy, labelled bool
	global                    bool
	// token: it is the token of a ServiceAccount of its plane.
	token bool
	// item has its Object only where it is likely to be a member.
	item Item

	// class and providers are those of a Cluster.
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

// pointer is a reference to an object, and where it is.
type pointer struct {
	plane.Ref
	path string
}

// fill sets what an import needs of an object.
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

// passive reports whether nothing reconciles an object. That is so for Secrets, ConfigMaps, and
// templates, whose kinds end with Template by contract.
func passive(n *node) bool {
	return n.ref.Group == "" || strings.HasSuffix(n.ref.Kind, templateKindsEnd)
}

// isCluster reports whether an object is a Cluster.
func (n *node) isCluster() bool { return n.ref.GroupKind() == clusterGK() }

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

// objectRef is a reference to an object, as specs have it.
type objectRef struct{ plane.Ref }

// reference reads a reference; ok is false if v is none.
func reference(v any) (objectRef, bool) {
	m, _ := v.(map[string]any)
	r := plane.Ref{Group: text(m, "apiGroup"), Kind: text(m, "kind"), Namespace: text(m, "namespace"), Name: text(m, "name")}
	if r.Group == "" {
		gv, _ := schema.ParseGroupVersion(text(m, "apiVersion"))
		r.Group = gv.Group
	}
	return objectRef{r}, r.Kind != "" && r.Name != ""
}

// in returns the object. It is in the given namespace if the reference names none.
func (r objectRef) in(namespace string) plane.Ref {
	r.Namespace = cmp.Or(r.Namespace, namespace)
	return r.Ref
}

// implied returns the Secret, or ConfigMap, that a field names without its kind: as a text in
// secretName, or by a name in secret or secretRef, and in fields whose names end so.
func implied(field string, v any) (objectRef, bool) {
	field = strings.ToLower(field)
	m, _ := v.(map[string]any)
	for _, kind := range []string{secretKind, configMapKind} {
		r := plane.Ref{Kind: kind, Namespace: text(m, "namespace"), Name: text(m, "name")}
		base := strings.ToLower(kind)
		switch {
		case strings.HasSuffix(field, base+"name"):
			r.Name, _ = v.(string)
		case !strings.HasSuffix(field, base) && !strings.HasSuffix(field, base+"ref") && !strings.HasSuffix(field, base+"keyref"):
			continue
		}
		return objectRef{r}, r.Name != ""
	}
	return objectRef{}, false
}
