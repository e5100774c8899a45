// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
)

func TestALayerChecksTheWorkloadsThatItHas(t *testing.T) {
	object := func(kind, name string) ObjectRef {
		return ObjectRef{Group: "apps", Version: "v1", Kind: kind, Namespace: "shop", Name: name}
	}
	check := func(kind, name string) meta.NamespacedObjectKindReference {
		return meta.NamespacedObjectKindReference{APIVersion: "apps/v1", Kind: kind, Namespace: "shop", Name: name}
	}
	layers := []Layer{{
		Objects: []ObjectRef{
			object("Deployment", "a"), object("Deployment", "b"), object("StatefulSet", "ruled"), object("StatefulSet", "c"), object("DaemonSet", "d"),
			object("ReplicaSet", "e"), {Version: "v1", Kind: "ConfigMap", Name: "f"}, {Group: "batch", Version: "v1", Kind: "Job", Name: "g"},
		},
		HealthChecks:     []meta.NamespacedObjectKindReference{check("Deployment", "a"), check("StatefulSet", "ruled")},
		HealthCheckExprs: []kustomize.CustomHealthCheck{{APIVersion: "apps/v1", Kind: "StatefulSet"}},
	}, {}}
	out := checkWorkloads(layers)
	require.Equal(t, []meta.NamespacedObjectKindReference{
		check("Deployment", "a"), check("StatefulSet", "ruled"), check("Deployment", "b"), check("DaemonSet", "d"),
	}, out[0].HealthChecks)
	require.Empty(t, out[1].HealthChecks)
	require.Len(t, layers[0].HealthChecks, 2, "the plan is shared")
}
