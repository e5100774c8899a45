// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

func TestOrdinaryClusterHasWhatClusterctlWouldMove(t *testing.T) {
	for _, version := range []string{"v1beta1", "v1beta2"} {
		t.Run(version, func(t *testing.T) {
			w := newWorld(version)
			w.ordinary("blue", 2)
			w.add("", "Secret", "foreign")
			w.add("", "ConfigMap", "kube-root-ca.crt")
			got, err := w.read(t, "blue")
			require.NoError(t, err)
			want := []string{
				"BoxCluster blue", "BoxMachine blue-cp-0", "BoxMachine blue-md-x-0", "BoxMachine blue-md-x-1",
				"BoxMachineTemplate blue-cp", "BoxMachineTemplate blue-md", "Cluster blue", "KubeadmConfig blue-cp-0", "KubeadmConfig blue-md-x-0",
				"KubeadmConfig blue-md-x-1", "KubeadmConfigTemplate blue-md", "KubeadmControlPlane blue-cp", "Machine blue-cp-0", "Machine blue-md-x-0",
				"Machine blue-md-x-1", "MachineDeployment blue-md", "MachineSet blue-md-x", "Secret blue-ca", "Secret blue-cp-0", "Secret blue-etcd",
				"Secret blue-kubeconfig", "Secret blue-md-x-0", "Secret blue-md-x-1", "Secret blue-proxy", "Secret blue-sa",
			}
			require.Equal(t, want, names(got))
			require.Equal(t, "uid-Cluster-apps-blue", got.ClusterUID)
			require.Equal(t, 0, item(t, got, "Cluster", "blue").Depth)
			secret := item(t, got, "Secret", "blue-md-x-0")
			require.Equal(t, 5, secret.Depth)
			require.Equal(t, []plane.Ref{{Group: bootstrapGroup, Kind: "KubeadmConfig", Namespace: "apps", Name: "blue-md-x-0"}}, secret.Owners)
			require.Equal(t, "7", secret.ResourceVersion)
			depth := 0
			for _, e := range got.Entries() {
				require.NotEmpty(t, e.Object)
				require.NotEmpty(t, e.Digest)
				require.GreaterOrEqual(t, e.Depth, depth)
				depth = e.Depth
			}
		})
	}
}

func TestOneClusterOutOfANamespaceThatHoldsSeveral(t *testing.T) {
	w := newWorld("v1beta2")
	w.ordinary("blue", 1)
	w.ordinary("blue-ca", 1)
	w.ordinary("green", 0)
	got, err := w.read(t, "green")
	require.NoError(t, err)
	require.Equal(t, []string{"BoxCluster green", "BoxMachine green-cp-0", "BoxMachineTemplate green-cp", "Cluster green", "KubeadmConfig green-cp-0",
		"KubeadmControlPlane green-cp", "Machine green-cp-0", "Secret green-ca", "Secret green-cp-0", "Secret green-etcd", "Secret green-kubeconfig",
		"Secret green-proxy", "Secret green-sa"}, names(got))
	for _, cluster := range []string{"blue", "blue-ca"} {
		got, err := w.read(t, cluster)
		require.NoError(t, err)
		require.Len(t, names(got), 21)
	}
}
