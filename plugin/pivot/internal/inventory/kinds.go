// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// ClusterGroup is the group of the kind Cluster.
const ClusterGroup = "cluster.x-k8s.io"

// Labels of clusterctl and Cluster API, on CustomResourceDefinitions and objects.
const (
	clusterctlLabel  = "clusterctl.cluster.x-k8s.io"
	moveLabel        = "clusterctl.cluster.x-k8s.io/move"
	hierarchyLabel   = "clusterctl.cluster.x-k8s.io/move-hierarchy"
	contractPrefix   = "cluster.x-k8s.io/v1"
	clusterNameLabel = "cluster.x-k8s.io/cluster-name"
	pausedAnnotation = "cluster.x-k8s.io/paused"
	blockAnnotation  = "clusterctl.cluster.x-k8s.io/block-move"
	addonsGroup      = "addons.cluster.x-k8s.io"
	clusterctlsGroup = "clusterctl.cluster.x-k8s.io"
	clusterKind      = "Cluster"
	clusterClassKind = "ClusterClass"
	resourceSetKind  = "ClusterResourceSet"
	bindingKind      = "ClusterResourceSetBinding"
	machineKind      = "Machine"
	secretKind       = "Secret"
	configMapKind    = "ConfigMap"
	templateKindsEnd = "Template"
	tokenType        = "kubernetes.io/service-account-token" //nolint:gosec // the type of a Secret
)

// candidates returns the kinds whose objects may belong to a Cluster, by contract, sorted. Groups
// are the groups of its providers, whose kinds need no labels.
func candidates(kinds plane.Kinds, groups ...string) []plane.Kind {
	var out []plane.Kind
	for _, k := range kinds {
		if candidate(k, groups) {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b plane.Kind) int {
		return strings.Compare(a.GroupKind().String(), b.GroupKind().String())
	})
	return out
}

// candidate reports whether objects of a kind may belong to a Cluster.
func candidate(k plane.Kind, groups []string) bool {
	switch {
	case k.Group == "":
		return k.Kind == secretKind || k.Kind == configMapKind
	case k.Group == clusterctlsGroup:
		return false
	case k.Group == ClusterGroup, strings.HasSuffix(k.Group, "."+ClusterGroup), slices.Contains(groups, k.Group):
		return true
	}
	for label := range k.Labels {
		known := slices.Contains([]string{clusterctlLabel, moveLabel, hierarchyLabel}, label)
		if known || strings.HasPrefix(label, contractPrefix) {
			return true
		}
	}
	return false
}

// clusterGK returns the kind Cluster.
func clusterGK() schema.GroupKind { return schema.GroupKind{Group: ClusterGroup, Kind: clusterKind} }

// root reports whether objects of a kind bring their dependents with them, as in clusterctl.
func root(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Group: ClusterGroup, Kind: clusterClassKind} || gk == resourceSetGK()
}

// resourceSetGK returns the kind ClusterResourceSet.
func resourceSetGK() schema.GroupKind {
	return schema.GroupKind{Group: addonsGroup, Kind: resourceSetKind}
}
