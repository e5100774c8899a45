// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// class adds a ClusterClass with a template, and lets Clusters use it.
func (w *world) class(name string, clusters ...*unstructured.Unstructured) *unstructured.Unstructured {
	class := w.add(ClusterGroup, "ClusterClass", name)
	w.add(infraGroup, "BoxClusterTemplate", name, owned(class))
	for _, c := range clusters {
		if w.version == "v1beta1" {
			set(name, "spec", "topology", "class")(c)
		} else {
			set(name, "spec", "topology", "classRef", "name")(c)
		}
	}
	return class
}

// resources adds a ClusterResourceSet with a ConfigMap, bound to Clusters.
func (w *world) resources(name string, clusters ...string) *unstructured.Unstructured {
	crs := w.add(addonsGroup, "ClusterResourceSet", name)
	w.add("", "ConfigMap", name, owned(crs))
	for _, c := range clusters {
		if w.version == "v1beta1" {
			w.add(addonsGroup, "ClusterResourceSetBinding", c, owned(crs))
		} else {
			w.add(addonsGroup, "ClusterResourceSetBinding", c, owned(crs), set(c, "spec", "clusterName"))
		}
	}
	return crs
}

// bare are the members beyond those of an ordinary cluster without workers.
func bare(t *testing.T, s Set, cluster string) []string {
	t.Helper()
	w := newWorld("v1beta2")
	w.ordinary(cluster, 0)
	plain, err := w.read(t, cluster)
	require.NoError(t, err)
	all, usual := names(s), names(plain)
	require.Subset(t, all, usual)
	var out []string
	for _, n := range all {
		found := false
		for _, u := range usual {
			found = found || u == n
		}
		if !found {
			out = append(out, n)
		}
	}
	return out
}

func TestClassesAndResourceSetsBelongToTheClusterThatUsesThem(t *testing.T) {
	for _, version := range []string{"v1beta1", "v1beta2"} {
		t.Run(version, func(t *testing.T) {
			w := newWorld(version)
			blue, green := w.ordinary("blue", 0), w.ordinary("green", 0)
			w.class("small", blue)
			w.class("large", green)
			w.class("idle")
			w.resources("network", "blue")
			w.resources("storage", "green")
			got, err := w.read(t, "blue")
			require.NoError(t, err)
			require.Equal(t, []string{"BoxClusterTemplate small", "ClusterClass small", "ClusterResourceSet network", "ClusterResourceSetBinding blue", "ConfigMap network"},
				bare(t, got, "blue"))
			require.Equal(t, 0, item(t, got, "ClusterClass", "small").Depth)
			require.Equal(t, 1, item(t, got, "Cluster", "blue").Depth)
			require.Equal(t, 1, item(t, got, "ClusterResourceSetBinding", "blue").Depth)
			require.Empty(t, item(t, got, "Cluster", "blue").Owners, "a class owns its Cluster in no metadata")
		})
	}
}

func TestClusterWithoutNeighboursTakesAllThatIsToBeMoved(t *testing.T) {
	w := newWorld("v1beta2")
	w.crd("ipam.example.org", "Pool", true, clusterctlLabel, hierarchyLabel)
	w.crd("ipam.example.org", "Lease", true, clusterctlLabel)
	blue := w.ordinary("blue", 0)
	w.class("idle")
	w.class("small", blue)
	w.resources("idle")
	pool := w.add("ipam.example.org", "Pool", "a")
	w.add("ipam.example.org", "Lease", "a", owned(pool))
	w.add("", "Secret", "alone", labelled(moveLabel, ""))
	w.add("", "ConfigMap", "below", owned(w.add("", "Secret", "above", labelled(hierarchyLabel, "true"))))
	got, err := w.read(t, "blue")
	require.NoError(t, err)
	require.Equal(t, []string{"BoxClusterTemplate idle", "BoxClusterTemplate small", "ClusterClass idle", "ClusterClass small", "ClusterResourceSet idle",
		"ConfigMap below", "ConfigMap idle", "Lease a", "Pool a", "Secret above", "Secret alone"}, bare(t, got, "blue"))
}

func TestWhatIsSharedIsAFindingUnlessItIsCopied(t *testing.T) {
	w := newWorld("v1beta2")
	blue, green := w.ordinary("blue", 0), w.ordinary("green", 0)
	w.class("shared", blue, green)
	w.resources("both", "blue", "green")
	w.add("", "Secret", "registry", owned(blue, green), labelled("kept", "yes"))
	_, err := w.read(t, "blue")
	require.Equal(t, []string{
		`Secret apps/registry: is used by Cluster.cluster.x-k8s.io apps/green as well: have it copied: it stays on the source as well; or give each Cluster one of its own`,
		`ClusterResourceSet.addons.cluster.x-k8s.io apps/both: is used by Cluster.cluster.x-k8s.io apps/green as well: have it copied: it stays on the source as well; or give each Cluster one of its own`,
		`ClusterClass.cluster.x-k8s.io apps/shared: is used by Cluster.cluster.x-k8s.io apps/green as well: have it copied: it stays on the source as well; or give each Cluster one of its own`,
	}, findings(t, err))

	got, err := w.read(t, "blue", plane.Ref{Kind: "Secret", Namespace: "apps", Name: "registry"},
		plane.Ref{Group: addonsGroup, Kind: "ClusterResourceSet", Namespace: "apps", Name: "both"},
		plane.Ref{Group: ClusterGroup, Kind: "ClusterClass", Namespace: "apps", Name: "shared"})
	require.NoError(t, err)
	require.Equal(t, []string{"BoxClusterTemplate shared (stays)", "ClusterClass shared (stays)", "ClusterResourceSet both (stays)", "ClusterResourceSetBinding blue",
		"ConfigMap both (stays)", "Secret registry (stays)"}, bare(t, got, "blue"))
	require.JSONEq(t, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"registry","namespace":"apps","labels":{"kept":"yes"},
		"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","name":"blue"}]}}`,
		string(item(t, got, "Secret", "registry").Object), "the other owner is not on the target")
}

func TestCopiedSecretOfAnotherClusterIsReadAndHasNoOwners(t *testing.T) {
	w := newWorld("v1beta2")
	w.ordinary("blue", 0)
	green := w.ordinary("green", 0)
	w.add("", "Secret", "registry", owned(green), of("green"))
	got, err := w.read(t, "blue", plane.Ref{Kind: "Secret", Namespace: "apps", Name: "registry"})
	require.NoError(t, err)
	registry := item(t, got, "Secret", "registry")
	require.True(t, registry.Stays)
	require.NotContains(t, string(registry.Object), "ownerReferences")
}

func TestCopiesThatCannotBe(t *testing.T) {
	w := newWorld("v1beta2")
	w.ordinary("blue", 0)
	w.ordinary("green", 0)
	_, err := w.read(t, "blue",
		plane.Ref{Group: ClusterGroup, Kind: "Cluster", Namespace: "apps", Name: "green"},
		plane.Ref{Group: ClusterGroup, Kind: "Machine", Namespace: "apps", Name: "blue-cp-0"},
		plane.Ref{Kind: "Secret", Namespace: "apps", Name: "typo"})
	require.Equal(t, []string{
		"Secret apps/typo: is to be copied, but is not there: correct its kind, group, namespace and name, or do not ask for it",
		"Cluster.cluster.x-k8s.io apps/green: cannot be copied: two planes would be in charge of it: do not ask for it",
		"Machine.cluster.x-k8s.io apps/blue-cp-0: cannot be copied: two planes would be in charge of it: do not ask for it",
	}, findings(t, err))
}

func TestMachineOfTwoClustersIsAFinding(t *testing.T) {
	w := newWorld("v1beta2")
	w.ordinary("blue", 0)
	w.ordinary("green", 0)
	w.add(ClusterGroup, "Machine", "torn", of("green"), set("blue", "spec", "clusterName"))
	_, err := w.read(t, "blue")
	require.Equal(t, []string{"Machine.cluster.x-k8s.io apps/torn: is used by Cluster.cluster.x-k8s.io apps/green as well: " +
		"let it belong to one Cluster only: correct its owner references, its label cluster.x-k8s.io/cluster-name and spec.clusterName"}, findings(t, err))
}

func TestClassesOfOtherNamespaces(t *testing.T) {
	w := newWorld("v1beta2")
	blue := w.ordinary("blue", 0)
	set("shop", "spec", "topology", "classRef", "namespace")(blue)
	set("small", "spec", "topology", "classRef", "name")(blue)
	class := w.add(ClusterGroup, "ClusterClass", "small", in("shop"))
	w.add(infraGroup, "BoxClusterTemplate", "small", in("shop"), owned(class))
	w.add("", "Secret", "till", in("shop"), owned(class))
	_, err := w.read(t, "blue")
	require.Equal(t, []string{"ClusterClass.cluster.x-k8s.io shop/small: is used by Cluster.cluster.x-k8s.io apps/blue, and is in another namespace: " +
		"have it copied: it stays on the source as well"}, findings(t, err))
	got, err := w.read(t, "blue", plane.Ref{Group: ClusterGroup, Kind: "ClusterClass", Namespace: "shop", Name: "small"})
	require.NoError(t, err)
	require.Equal(t, []string{"BoxClusterTemplate small (stays)", "ClusterClass small (stays)"}, bare(t, got, "blue"), "Secrets of other namespaces are not read")
	_, err = w.read(t, "blue", plane.Ref{Group: ClusterGroup, Kind: "ClusterClass", Namespace: "shop", Name: "typo"})
	require.Len(t, findings(t, err), 2)
}

func TestClassThatIsUsedFromOtherNamespaces(t *testing.T) {
	w := newWorld("v1beta2")
	blue := w.ordinary("blue", 0)
	w.class("small", blue)
	w.class("theirs")
	for _, class := range []string{"small", "theirs"} {
		w.add(ClusterGroup, "Cluster", "far-"+class, in("shop"), set(class, "spec", "topology", "classRef", "name"), set("apps", "spec", "topology", "classRef", "namespace"))
	}
	_, err := w.read(t, "blue")
	require.Equal(t, []string{"ClusterClass.cluster.x-k8s.io apps/small: is used by Cluster.cluster.x-k8s.io shop/far-small as well: " +
		"have it copied: it stays on the source as well; or give each Cluster one of its own"}, findings(t, err))
	small := plane.Ref{Group: ClusterGroup, Kind: "ClusterClass", Namespace: "apps", Name: "small"}
	got, err := w.read(t, "blue", small)
	require.NoError(t, err)
	require.Equal(t, []string{"BoxClusterTemplate small (stays)", "ClusterClass small (stays)"}, bare(t, got, "blue"), "theirs is not needed")

	p := w.plane(t)
	forbid(w, "list", "clusters", "")
	_, err = w.readOf(t, p, "blue")
	require.Equal(t, []string{
		"ClusterClass.cluster.x-k8s.io apps/small: may be used by Clusters of other namespaces: the user of the kubeconfig may not list them: " +
			"grant list on clusters.cluster.x-k8s.io in all namespaces; or have it copied: it stays on the source as well",
		"ClusterClass.cluster.x-k8s.io apps/theirs: may be used by Clusters of other namespaces: the user of the kubeconfig may not list them: " +
			"grant list on clusters.cluster.x-k8s.io in all namespaces; or have it copied: it stays on the source as well",
	}, findings(t, err))
}

func TestOwnersOutsideOfTheSet(t *testing.T) {
	w := newWorld("v1beta2")
	w.crd("example.org", "Tenant", false)
	w.crd("example.org", "Room", true)
	blue, green := w.ordinary("blue", 0), w.ordinary("green", 0)
	tenant, room := w.add("example.org", "Tenant", "a", in("")), w.add("example.org", "Room", "a")
	stray := w.add(ClusterGroup, "MachineSet", "stray")
	theirs := w.add(ClusterGroup, "MachineSet", "theirs", owned(green))
	gone := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "metadata": map[string]any{"name": "gone", "uid": "x"}}}
	deployment := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "uid": "y"}}}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "apps"}}}
	w.objects = append(w.objects, namespace)
	namespace.SetUID("z")
	owned(tenant)(blue)
	w.add(infraGroup, "BoxMachine", "g", of("blue"), owned(tenant, namespace))
	w.add(infraGroup, "BoxMachine", "a", of("blue"), owned(stray))
	w.add(infraGroup, "BoxMachine", "b", of("blue"), owned(theirs))
	w.add(infraGroup, "BoxMachine", "c", of("blue"), owned(gone))
	w.add(infraGroup, "BoxMachine", "d", of("blue"), owned(deployment))
	w.add(infraGroup, "BoxMachine", "e", of("blue"), owned(room), func(o *unstructured.Unstructured) {
		room := room.DeepCopy()
		room.SetUID("old")
		owned(room)(o)
	})
	// The same UID with another name is nothing that the garbage collector accepts.
	w.add(infraGroup, "BoxMachine", "f", func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: "other", UID: "uid-Machine-apps-blue-cp-0"}})
	}, of("blue"))
	_, err := w.read(t, "blue")
	label := "remove the owner reference, or label its CustomResourceDefinition clusterctl.cluster.x-k8s.io/move, or clusterctl.cluster.x-k8s.io/move-hierarchy, where it is to be moved"
	require.Equal(t, []string{
		"Cluster.cluster.x-k8s.io apps/blue: its owner Tenant.example.org a is of a kind that is not moved: " + label,
		"BoxMachine.infrastructure.cluster.x-k8s.io apps/a: its owner MachineSet.cluster.x-k8s.io apps/stray belongs to no Cluster: remove the owner reference, or let the owner belong to the Cluster: label it cluster.x-k8s.io/cluster-name",
		"BoxMachine.infrastructure.cluster.x-k8s.io apps/b: is used by Cluster.cluster.x-k8s.io apps/green as well: let it belong to one Cluster only: correct its owner references, its label cluster.x-k8s.io/cluster-name and spec.clusterName",
		"BoxMachine.infrastructure.cluster.x-k8s.io apps/b: its owner MachineSet.cluster.x-k8s.io apps/theirs belongs to Cluster.cluster.x-k8s.io apps/green: remove the owner reference, or let the owner belong to the Cluster: label it cluster.x-k8s.io/cluster-name",
		`BoxMachine.infrastructure.cluster.x-k8s.io apps/c: its owner MachineSet.cluster.x-k8s.io apps/gone with UID "x" is not there: remove the owner reference`,
		"BoxMachine.infrastructure.cluster.x-k8s.io apps/d: its owner Deployment.apps web is of a kind that is not moved: remove the owner reference",
		"BoxMachine.infrastructure.cluster.x-k8s.io apps/e: its owner Room.example.org apps/a is of a kind that is not moved: " + label,
		`BoxMachine.infrastructure.cluster.x-k8s.io apps/e: its owner Room.example.org apps/a with UID "old" is not there: remove the owner reference`,
		`BoxMachine.infrastructure.cluster.x-k8s.io apps/f: its owner Machine.cluster.x-k8s.io apps/other with UID "uid-Machine-apps-blue-cp-0" is not there: remove the owner reference`,
		"BoxMachine.infrastructure.cluster.x-k8s.io apps/g: its owner Namespace apps is of a kind that is not moved: remove the owner reference",
		"BoxMachine.infrastructure.cluster.x-k8s.io apps/g: its owner Tenant.example.org a is of a kind that is not moved: " + label,
	}, findings(t, err))
}
