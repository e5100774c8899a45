// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// unpaused is the status of an object whose controller reports Paused.
func unpaused() func(*unstructured.Unstructured) {
	return has([]string{"status", "conditions"}, map[string]any{"type": "Paused", "status": "False"})
}

func TestPausedIsAwaitedOnlyOfWhatFollowsTheCluster(t *testing.T) {
	w := newWorld("v1beta2")
	w.crd("ipam.example.org", "Pool", true, clusterctlLabel, moveLabel)
	blue := w.ordinary("blue", 1)
	class := w.class("small", blue)
	w.add(ClusterGroup, "MachineHealthCheck", "of-class", owned(class))
	network := w.resources("network", "blue")
	of("blue")(network)
	owned(blue)(network)
	w.add(ClusterGroup, "MachineHealthCheck", "of-set", owned(network))
	w.add(ClusterGroup, "MachineHealthCheck", "of-both", owned(network, blue))
	w.add(ClusterGroup, "MachineHealthCheck", "by-spec", set("blue", "spec", "clusterName"))
	w.add(ClusterGroup, "MachineHealthCheck", "by-label", of("blue"))
	w.add(ClusterGroup, "MachineHealthCheck", "apart", of("blue"), func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{pausedAnnotation: "true"})
	})
	w.add("ipam.example.org", "Pool", "a")
	for _, o := range w.objects {
		if !passive(&node{ref: plane.RefOf(o)}) && o.GetKind() != "KubeadmConfig" {
			unpaused()(o)
		}
	}
	got, err := w.read(t, "blue")
	require.NoError(t, err)
	var reports []string
	for _, i := range got.Items {
		if i.ReportsPaused {
			reports = append(reports, i.Ref.Kind+" "+i.Ref.Name)
		}
	}
	slices.Sort(reports)
	require.Equal(t, []string{
		"BoxCluster blue", "BoxMachine blue-cp-0", "BoxMachine blue-md-x-0", "Cluster blue", "ClusterResourceSetBinding blue", "KubeadmControlPlane blue-cp",
		"Machine blue-cp-0", "Machine blue-md-x-0", "MachineDeployment blue-md",
		"MachineHealthCheck by-label", "MachineHealthCheck by-spec", "MachineHealthCheck of-both", "MachineSet blue-md-x",
	}, reports)
	for kind, name := range map[string]string{"ClusterResourceSet": "network", "ClusterClass": "small", "Pool": "a"} {
		require.False(t, item(t, got, kind, name).ReportsPaused, kind)
	}
}

func TestWhatBelongsToNoClusterIsNamed(t *testing.T) {
	w := newWorld("v1beta2")
	w.crd(ClusterGroup, "MachineDrainRule", true)
	w.crd("metal3.io", "BareMetalHost", true, clusterctlLabel)
	w.crd("example.org", "Room", true)
	blue := w.ordinary("blue", 1)
	w.add("", "Secret", "foreign")
	w.add("", "ConfigMap", "kube-root-ca.crt")
	w.add("example.org", "Room", "a")
	got, err := w.read(t, "blue")
	require.NoError(t, err)
	require.Empty(t, got.Left)

	green := w.ordinary("green", 1)
	w.class("small", blue)
	w.class("large", green)
	w.class("idle")
	w.resources("storage", "green")
	w.add(ClusterGroup, "MachineDrainRule", "slow")
	w.add(ClusterGroup, "MachineDrainRule", "far", in("shop"))
	w.add("metal3.io", "BareMetalHost", "b")
	w.add("metal3.io", "BareMetalHost", "a")
	w.add(infraGroup, "BoxMachineTemplate", "old")
	w.add(ClusterGroup, "MachineHealthCheck", "of-none", of("deleted"))
	got, err = w.read(t, "blue")
	require.NoError(t, err)
	require.Equal(t, []plane.Ref{
		{Group: ClusterGroup, Kind: "ClusterClass", Namespace: "apps", Name: "idle"},
		{Group: ClusterGroup, Kind: "MachineDrainRule", Namespace: "apps", Name: "slow"},
		{Group: ClusterGroup, Kind: "MachineHealthCheck", Namespace: "apps", Name: "of-none"},
		{Group: infraGroup, Kind: "BoxClusterTemplate", Namespace: "apps", Name: "idle"},
		{Group: infraGroup, Kind: "BoxMachineTemplate", Namespace: "apps", Name: "old"},
		{Group: "metal3.io", Kind: "BareMetalHost", Namespace: "apps", Name: "a"},
		{Group: "metal3.io", Kind: "BareMetalHost", Namespace: "apps", Name: "b"},
	}, got.Left)
}

// waiting adds a ClusterResourceSet that has matched no Cluster yet, and so owns nothing.
func (w *world) waiting(name string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	resource := func(kind, name string) any { return map[string]any{"kind": kind, "name": name} }
	return w.add(addonsGroup, "ClusterResourceSet", name, append(change,
		set([]any{resource("ConfigMap", "cni"), resource("Secret", "token"), resource("ConfigMap", "not-there")}, "spec", "resources"))...)
}

func TestResourceSetsBringWhatTheyName(t *testing.T) {
	w := newWorld("v1beta2")
	w.ordinary("blue", 0)
	w.waiting("addons")
	w.add("", "ConfigMap", "cni")
	w.add("", "ConfigMap", "other")
	w.add("", "Secret", "token", set(map[string]any{"token": "aHVzaC1odXNo"}, "data"))
	got, err := w.read(t, "blue")
	require.NoError(t, err)
	require.Equal(t, []string{"ClusterResourceSet addons", "ConfigMap cni", "Secret token"}, bare(t, got, "blue"))
	require.Contains(t, string(item(t, got, "Secret", "token").Object), "aHVzaC1odXNo")
	require.Empty(t, got.Left)

	got, err = w.read(t, "blue", plane.Ref{Group: addonsGroup, Kind: "ClusterResourceSet", Namespace: "apps", Name: "addons"})
	require.NoError(t, err)
	require.Equal(t, []string{"ClusterResourceSet addons (stays)", "ConfigMap cni (stays)", "Secret token (stays)"}, bare(t, got, "blue"))

	w.ordinary("green", 0)
	got, err = w.read(t, "blue")
	require.NoError(t, err)
	require.Empty(t, bare(t, got, "blue"))
	require.Equal(t, []plane.Ref{{Group: addonsGroup, Kind: "ClusterResourceSet", Namespace: "apps", Name: "addons"}}, got.Left)
}

func TestResourceSetsDoNotTakeWhatOthersName(t *testing.T) {
	w := newWorld("v1beta2")
	w.ordinary("blue", 0)
	w.ordinary("green", 0)
	w.waiting("ours", of("blue"))
	w.waiting("theirs", of("green"))
	cni := w.add("", "ConfigMap", "cni")
	_, err := w.read(t, "blue")
	require.Equal(t, []string{"ConfigMap apps/cni: is used by Cluster.cluster.x-k8s.io apps/green as well: " +
		"have it copied: it stays on the source as well; or give each Cluster one of its own"}, findings(t, err))
	got, err := w.read(t, "blue", plane.RefOf(cni))
	require.NoError(t, err)
	require.Equal(t, []string{"ClusterResourceSet ours", "ConfigMap cni (stays)"}, bare(t, got, "blue"))
}
