// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// scan reads the objects that may belong to the Cluster.
type scan struct {
	plane   *plane.Plane
	kinds   plane.Kinds
	cluster types.NamespacedName
	options Options

	// candidates are the kinds that are listed; named are their names, without groups.
	candidates []plane.Kind
	named      map[string]bool
	mu         sync.Mutex
	nodes      []*node
	findings   Findings
	// blind means that Clusters of other namespaces could not be listed.
	blind bool
}

// readClusters lists the Clusters of the namespace, and returns the Cluster that the caller named.
func (s *scan) readClusters(ctx context.Context) (*node, error) {
	ref := plane.Ref{Group: ClusterGroup, Kind: clusterKind, Namespace: s.cluster.Namespace, Name: s.cluster.Name}
	kind, ok := s.kinds[clusterGK()]
	if !ok {
		return nil, Findings{{
			Ref:     ref,
			Problem: fmt.Sprintf("the %s plane has no Cluster API: it serves no %s", s.plane.Name(), clusterGK()),
			Advice:  "check the kubeconfig and its context, or install Cluster API",
		}}
	}
	s.setCandidates(candidates(s.kinds))
	if err := s.list(ctx, kind, s.cluster.Namespace); err != nil {
		return nil, err
	}
	if err := s.findings.err(); err != nil {
		return nil, err
	}

	// If it is not there, name the others.
	var names []string
	for _, n := range s.nodes {
		if n.ref == ref {
			return n, nil
		}
		names = append(names, fmt.Sprintf("%q", n.ref.Name))
	}
	slices.Sort(names)
	f := Finding{
		Ref:     ref,
		Problem: "is not on the " + s.plane.Name() + " plane: its namespace has no Clusters",
		Advice:  "check the namespace, the name and the kubeconfig",
	}
	if len(names) > 0 {
		f.Problem = "is not on the " + s.plane.Name() + " plane"
		f.Advice = "name one of the Clusters of the namespace: " + strings.Join(names, ", ")
	}
	return nil, Findings{f}
}

// setCandidates sets the kinds that are listed.
func (s *scan) setCandidates(kinds []plane.Kind) {
	s.candidates = kinds
	s.named = map[string]bool{}
	for _, k := range kinds {
		s.named[k.Kind] = true
	}
}

// readAll lists the other objects that may belong to the Cluster, several kinds at once.
func (s *scan) readAll(ctx context.Context, cluster *node) error {
	// Kinds of its providers need no labels.
	var groups []string
	for _, r := range cluster.providers {
		groups = append(groups, r.Group)
	}
	s.setCandidates(candidates(s.kinds, groups...))

	// A class of another namespace, if it is copied, comes with the objects there.
	type job struct {
		kind      plane.Kind
		namespace string
	}
	var jobs []job
	c := cluster.class
	isForeign := c != nil && c.Namespace != s.cluster.Namespace && slices.Contains(s.options.Copy, *c)
	for _, k := range s.candidates {
		if k.GroupKind() == clusterGK() {
			continue
		}
		jobs = append(jobs, job{k, s.cluster.Namespace})
		if isForeign && k.Namespaced && k.Group != "" {
			jobs = append(jobs, job{k, c.Namespace})
		}
	}

	// List them all, and report all rights that are missing.
	err := s.plane.Each(ctx, len(jobs), func(ctx context.Context, i int) error {
		return s.list(ctx, jobs[i].kind, jobs[i].namespace)
	})
	if err != nil {
		return err
	}
	if err := s.findings.err(); err != nil {
		return err
	}
	if err := s.readOthers(ctx); err != nil {
		return err
	}
	// Lists come in any order.
	slices.SortFunc(s.nodes, func(a, b *node) int { return a.ref.Compare(b.ref) })
	return nil
}

// readOthers lists the Clusters of other namespaces that use a ClusterClass of this one.
func (s *scan) readOthers(ctx context.Context) error {
	isClass := func(n *node) bool { return n.ref.Group == ClusterGroup && n.ref.Kind == clusterClassKind }
	if !slices.ContainsFunc(s.nodes, isClass) {
		return nil
	}
	err := s.plane.List(ctx, s.kinds[clusterGK()], "", 0, func(o *unstructured.Unstructured) error {
		if o.GetNamespace() == s.cluster.Namespace {
			return nil
		}
		if c := classOf(o); c != nil && c.Namespace == s.cluster.Namespace {
			s.nodes = append(s.nodes, &node{ref: plane.RefOf(o), uid: string(o.GetUID()), class: c})
		}
		return nil
	})
	if apierrors.IsForbidden(err) {
		s.blind = true
		return nil
	}
	return err
}

// list adds the objects of a kind in a namespace.
func (s *scan) list(ctx context.Context, kind plane.Kind, namespace string) error {
	err := s.plane.Select(ctx, kind, namespace, "!"+ReceiptLabel+",!"+ChunkLabel, 0, func(o *unstructured.Unstructured) error {
		n, err := s.newNode(kind, o)
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.nodes = append(s.nodes, n)
		return nil
	})
	if apierrors.IsForbidden(err) {
		s.mu.Lock()
		defer s.mu.Unlock()
		ref := plane.Ref{Kind: plane.NamespaceKind.Kind, Name: namespace}
		right := plane.Right{Verb: "list", Group: kind.Group, Resource: kind.Resource, Namespace: namespace}
		if !kind.Namespaced {
			right.Namespace = ""
		}
		s.findings = append(s.findings, Finding{Ref: ref,
			Problem: fmt.Sprintf("the user of the kubeconfig of the %s plane may not %s", s.plane.Name(), right), Advice: "grant that right"})
		return nil
	}
	// A definition that is not established, or was deleted, has no objects.
	return plane.IgnoreNotFound(err)
}

// newNode reads the owners, references and content of an object.
func (s *scan) newNode(kind plane.Kind, o *unstructured.Unstructured) (*node, error) {
	n := &node{ref: plane.RefOf(o), uid: string(o.GetUID()), global: !kind.Namespaced}
	n.token = n.ref.Group == "" && n.ref.Kind == secretKind && text(o.Object, "type") == tokenType

	// Read its owners, its Clusters and its references.
	for _, r := range o.GetOwnerReferences() {
		gv, _ := schema.ParseGroupVersion(r.APIVersion)
		n.owners = append(n.owners, owner{ref: plane.Ref{Group: gv.Group, Kind: r.Kind, Name: r.Name}, uid: string(r.UID)})
	}
	if !n.global {
		n.names = namesOf(o)
	}
	n.setLabels(kind, o.GetLabels())
	if spec, ok := o.Object["spec"]; ok && kind.Group != "" {
		s.collectReferences(n, spec, "spec")
	}

	// A Cluster names its class and its providers.
	if n.isCluster() {
		n.class = classOf(o)
		n.pausedBy = PausedBy(o)
		for _, field := range []string{"infrastructureRef", "controlPlaneRef"} {
			if r, ok := reference(nested(o.Object, "spec", field)); ok {
				n.providers = append(n.providers, r.in(n.ref.Namespace))
			}
		}
	}

	// Keep the fields of an item. The object itself is kept only if it is a likely member.
	n.item = Item{
		Entry:           snapshot.Entry{Ref: n.ref, APIVersion: o.GetAPIVersion(), UID: n.uid},
		ResourceVersion: o.GetResourceVersion(),
		Blocks:          hasKey(o.GetAnnotations(), blockAnnotation),
		Busy:            busy(o),
	}

	// An object that is paused by its own annotation says nothing about its Cluster.
	_, reports := conditions(o)["Paused"]
	n.item.ReportsPaused = reports && !hasKey(o.GetAnnotations(), pausedAnnotation)
	if !s.likely(n) {
		return n, nil
	}
	return n, n.fill(o)
}

// likely reports whether an object is kept when it is first read. That bounds memory: a namespace
// may hold other Clusters, and many Secrets and ConfigMaps.
func (s *scan) likely(n *node) bool {
	if n.isCluster() {
		return n.ref.Name == s.cluster.Name
	}
	if len(n.names) > 0 {
		return slices.Contains(n.names, s.cluster.Name)
	}
	return n.ref.Group != "" || len(n.owners) > 0 || n.move
}

// collectReferences collects the references of a spec to kinds that may belong to a Cluster. It
// also collects Secrets and ConfigMaps that a spec names without their kind; see implied.
func (s *scan) collectReferences(n *node, v any, path string) {
	add := func(r objectRef, path string) {
		ref := r.in(n.ref.Namespace)
		if !slices.ContainsFunc(n.refs, func(p pointer) bool { return p.Ref == ref }) {
			n.refs = append(n.refs, pointer{ref, path})
		}
	}
	switch v := v.(type) {
	case map[string]any:
		if r, ok := reference(v); ok && s.named[r.Kind] && r.GroupKind() != clusterGK() {
			add(r, path)
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			below := path + "." + k
			if r, ok := implied(k, v[k]); ok {
				add(r, below)
			}
			s.collectReferences(n, v[k], below)
		}
	case []any:
		for i, below := range v {
			s.collectReferences(n, below, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}
