// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// Basic returns findings for rights that the pivot of any Cluster of a namespace needs, and that the
// user of the kubeconfig does not have. It is for a user who may not even read the Cluster.
func Basic(ctx context.Context, p *plane.Plane, cluster plane.Ref) inventory.Findings {
	need := rights{}
	need.add(plane.Kind{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}, "", "list")
	need.add(plane.NamespaceKind, "", "get", "create")
	need.add(plane.ConfigMapKind, cluster.Namespace, "get", "list", "create", "update", "delete")
	need.add(plane.SecretKind, cluster.Namespace, "get", "list", "create", "update", "delete")
	kinds, err := p.Kinds(ctx)
	if err != nil {
		kinds = plane.Kinds{cluster.GroupKind(): {Group: cluster.Group, Resource: "clusters", Namespaced: true}}
	}
	for _, k := range kinds {
		isProvider := strings.HasSuffix(k.Group, "."+inventory.ClusterGroup) && k.Group != providerGroup
		if k.Group == inventory.ClusterGroup || isProvider {
			namespace := cluster.Namespace
			if !k.Namespaced {
				namespace = ""
			}
			need.add(k, namespace, "get", "list", "create", "update", "delete")
		}
	}
	out, _ := need.missing(ctx, p, cluster)
	return out
}
