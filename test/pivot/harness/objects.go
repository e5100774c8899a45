// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

// Objects is everything that a namespace of a plane has, as Kind.group/name, sorted. What
// Kubernetes itself keeps there is left out: Events, the account default, the bundle of its
// authority.
func (p *Plane) Objects(t testing.TB, namespace string) []string {
	t.Helper()
	var out []string
	p.each(t, namespace, func(_ dynamic.ResourceInterface, name string, _ *unstructured.Unstructured) { out = append(out, name) })
	slices.Sort(out)
	return out
}

// Forget deletes all that a plane has in the namespace of the Cluster, whatever its finalizers
// wait for.
func (c *Cluster) Forget(t testing.TB, p *Plane) {
	t.Helper()
	p.each(t, c.Namespace, func(of dynamic.ResourceInterface, _ string, o *unstructured.Unstructured) {
		_, err := of.Patch(t.Context(), o.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		require.True(t, err == nil || apierrors.IsNotFound(err), "%v", err)
		err = of.Delete(t.Context(), o.GetName(), metav1.DeleteOptions{})
		require.True(t, err == nil || apierrors.IsNotFound(err), "%v", err)
	})
	Await(t, time.Minute, "all is gone", func() bool { return len(p.Objects(t, c.Namespace)) == 0 })
}

func (p *Plane) each(t testing.TB, namespace string, do func(of dynamic.ResourceInterface, name string, o *unstructured.Unstructured)) {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(p.Config)
	require.NoError(t, err)
	lists, err := client.ServerPreferredNamespacedResources()
	require.NoError(t, err)
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		require.NoError(t, err)
		for _, kind := range list.APIResources {
			if kind.Kind == "Event" || !slices.Contains(kind.Verbs, "list") || strings.Contains(kind.Name, "/") {
				continue
			}
			of := p.Client.Resource(group.WithResource(kind.Name)).Namespace(namespace)
			items, err := of.List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			for _, item := range items.Items {
				name := group.WithKind(kind.Kind).GroupKind().String() + "/" + item.GetName()
				if name != "ServiceAccount/default" && name != "ConfigMap/kube-root-ca.crt" {
					do(of, name, &item)
				}
			}
		}
	}
}
