// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestQuotasOfANamespaceAreRead(t *testing.T) {
	kinds := map[schema.GroupVersionResource]string{
		{Version: "v1", Resource: "resourcequotas"}: "ResourceQuotaList", {Version: "v1", Resource: "limitranges"}: "LimitRangeList",
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, parse(t, `
apiVersion: v1
kind: ResourceQuota
metadata: {name: small, namespace: shop}
spec: {hard: {pods: "2"}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: other, namespace: else}
---
apiVersion: v1
kind: LimitRange
metadata: {name: wide, namespace: shop}
spec: {limits: [{type: Container, max: {memory: 1Gi}}]}
`)...)
	c := &Cluster{client: client}
	b, err := c.Quotas(t.Context(), "shop")
	require.NoError(t, err)
	require.False(t, b.Hidden)
	require.Len(t, b.Quotas, 1)
	require.Equal(t, int64(2), b.Quotas[0].Spec.Hard.Pods().Value())
	require.Len(t, b.Ranges, 1)
	require.Equal(t, "1Gi", b.Ranges[0].Spec.Limits[0].Max.Memory().String())

	// What may not be listed is known not to be known, and the rest is read.
	var refusal error = apierrors.NewForbidden(schema.GroupResource{Resource: "limitranges"}, "", errors.New("no"))
	client.PrependReactor("list", "limitranges", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refusal })
	b, err = c.Quotas(t.Context(), "shop")
	require.NoError(t, err)
	require.True(t, b.Hidden)
	require.Len(t, b.Quotas, 1)
	require.Empty(t, b.Ranges)
	refusal = errors.New("connection refused")
	_, err = c.Quotas(t.Context(), "shop")
	require.EqualError(t, err, "limitranges of namespace shop: connection refused")
}
