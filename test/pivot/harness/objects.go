// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Objects is everything that a namespace of a plane has, as Kind.group/name, sorted. What
// Kubernetes itself keeps there is left out: Events, the account default, the bundle of its
// authority.
func (p *Plane) Objects(t testing.TB, namespace string) []string {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(p.Config)
	require.NoError(t, err)
	lists, err := client.ServerPreferredNamespacedResources()
	require.NoError(t, err)
	var out []string
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		require.NoError(t, err)
		for _, kind := range list.APIResources {
			if kind.Kind == "Event" || !slices.Contains(kind.Verbs, "list") || strings.Contains(kind.Name, "/") {
				continue
			}
			items, err := p.Client.Resource(group.WithResource(kind.Name)).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			for _, item := range items.Items {
				name := group.WithKind(kind.Kind).GroupKind().String() + "/" + item.GetName()
				if name != "ServiceAccount/default" && name != "ConfigMap/kube-root-ca.crt" {
					out = append(out, name)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}
