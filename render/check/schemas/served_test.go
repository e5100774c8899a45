// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServed(t *testing.T) {
	now := Served("1.36")
	for _, served := range []string{"v1", "v1/ConfigMap", "apps/v1", "apps/v1/Deployment", "apiregistration.k8s.io/v1", "policy/v1/PodDisruptionBudget"} {
		require.Contains(t, now, served)
	}
	for _, not := range []string{"policy/v1beta1", "extensions/v1beta1", "networking.k8s.io/v1beta1", "monitoring.coreos.com/v1"} {
		require.NotContains(t, now, not)
	}
	require.Equal(t, now, Served(""))
	require.Equal(t, now, Served("1.99"))

	// A kind of an older group may be newer than it.
	require.Contains(t, Served("v1.29.7-eks-4096722"), "admissionregistration.k8s.io/v1")
	require.NotContains(t, Served("v1.29.7-eks-4096722"), "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy")
	require.Contains(t, Served("v1.30"), "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy")
	require.NotContains(t, Served("1.20.1"), "policy/v1")
}

func TestSince(t *testing.T) {
	oldest, newest := Known()
	require.Equal(t, 30, oldest)
	require.Equal(t, 36, newest)
	require.Equal(t, 34, Since("core.v1.PodSpec.hostnameOverride"))
	require.Equal(t, 35, Since("core.v1.Toleration.operator=Lt"))
	require.Zero(t, Since("core.v1.Toleration.operator=Exists"))
	require.Zero(t, Since("core.v1.PodSpec.containers"))
}
