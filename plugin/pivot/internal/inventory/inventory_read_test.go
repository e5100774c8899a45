// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

func TestPlaneWithoutClusterAPI(t *testing.T) {
	p := planetest.New("source").Plane()
	kinds, err := p.Kinds(context.Background())
	require.NoError(t, err)
	_, err = Read(context.Background(), p, kinds, types.NamespacedName{Namespace: "apps", Name: "blue"}, Options{})
	require.Equal(t, []string{"Cluster.cluster.x-k8s.io apps/blue: the source plane has no Cluster API: it serves no Cluster.cluster.x-k8s.io: " +
		"check the kubeconfig and its context, or install Cluster API"}, findings(t, err))
}

func TestClusterThatIsNotThere(t *testing.T) {
	w := newWorld("v1beta2")
	_, err := w.read(t, "blue")
	require.Equal(t, []string{"Cluster.cluster.x-k8s.io apps/blue: is not on the source plane: its namespace has no Clusters: check the namespace, the name and the kubeconfig"},
		findings(t, err))
	w.ordinary("green", 0)
	w.ordinary("amber", 0)
	_, err = w.read(t, "blue")
	require.Equal(t, []string{`Cluster.cluster.x-k8s.io apps/blue: is not on the source plane: name one of the Clusters of the namespace: "amber", "green"`}, findings(t, err))
}

func TestListsThatAreForbiddenAreReportedAllAtOnce(t *testing.T) {
	w := newWorld("v1beta2")
	w.crd("example.org", "Identity", false, hierarchyLabel)
	w.ordinary("blue", 0)
	p := w.plane(t)
	forbid(w, "list", "secrets", "apps")
	forbid(w, "list", "machines", "apps")
	forbid(w, "list", "identities", "")
	_, err := w.readOf(t, p, "blue")
	require.Equal(t, []string{
		"Namespace apps: the user of the kubeconfig of the source plane may not list identities.example.org in all namespaces: grant that right",
		"Namespace apps: the user of the kubeconfig of the source plane may not list machines.cluster.x-k8s.io in namespace apps: grant that right",
		"Namespace apps: the user of the kubeconfig of the source plane may not list secrets in namespace apps: grant that right",
	}, findings(t, err))
	p = w.plane(t)
	forbid(w, "list", "clusters", "apps")
	_, err = w.readOf(t, p, "blue")
	require.Len(t, findings(t, err), 1)
}

// fail lets a request fail.
func (w *world) fail(verb, resource string, err error) {
	w.client.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
}

func TestListsThatFail(t *testing.T) {
	w := newWorld("v1beta2")
	blue := w.ordinary("blue", 0)
	w.class("small", blue)
	for _, resource := range []string{"clusters", "secrets"} {
		p := w.plane(t)
		w.fail("list", resource, errors.New("broken"))
		_, err := w.readOf(t, p, "blue")
		require.ErrorContains(t, err, "source plane: listing")
		require.ErrorContains(t, err, "broken")
	}
	// A definition that is not established has no objects.
	p := w.plane(t)
	w.fail("list", "machinehealthchecks", apierrors.NewNotFound(schema.GroupResource{}, ""))
	_, err := w.readOf(t, p, "blue")
	require.NoError(t, err)
	p = w.plane(t)
	w.client.PrependReactor("list", "clusters", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return a.GetNamespace() == "", nil, errors.New("broken")
	})
	_, err = w.readOf(t, p, "blue")
	require.ErrorContains(t, err, "broken")
}

func TestWhatAPivotWritesBelongsToNoSet(t *testing.T) {
	w := newWorld("v1beta2")
	blue := w.ordinary("blue", 0)
	w.add("", "ConfigMap", "pivot-blue", owned(blue), of("blue"), labelled(ReceiptLabel, "blue"))
	w.add("", "Secret", "pivot-blue-0", owned(blue), of("blue"), labelled(ChunkLabel, "blue"), labelled(moveLabel, ""))
	got, err := w.read(t, "blue")
	require.NoError(t, err)
	require.Empty(t, bare(t, got, "blue"))
}

func TestForeignProvidersAreFoundByContract(t *testing.T) {
	w := newWorld("v1beta2")
	w.crd("clouds.example.org", "CloudCluster", true, "cluster.x-k8s.io/v1beta2")
	w.crd("clouds.example.org", "CloudMachine", true, "cluster.x-k8s.io/v1beta1")
	w.crd("clouds.example.org", "Invoice", true)
	w.crd("boots.example.org", "Boot", true, clusterctlLabel)
	w.crd("planes.example.org", "Pilot", true)
	w.crd("planes.example.org", "Seat", true)
	c := w.add(ClusterGroup, "Cluster", "blue", set(w.ref("clouds.example.org", "CloudCluster", "blue"), "spec", "infrastructureRef"),
		set(w.ref("planes.example.org", "Pilot", "blue"), "spec", "controlPlaneRef"))
	w.add("clouds.example.org", "CloudCluster", "blue", owned(c))
	m := w.add(ClusterGroup, "Machine", "m", owned(c), set("blue", "spec", "clusterName"))
	w.add("clouds.example.org", "CloudMachine", "m", owned(m))
	w.add("clouds.example.org", "Invoice", "paid")
	w.add("boots.example.org", "Boot", "m", owned(m))
	// Its definition has no labels, but the Cluster refers to it.
	pilot := w.add("planes.example.org", "Pilot", "blue")
	w.add("planes.example.org", "Seat", "s", owned(pilot))
	got, err := w.read(t, "blue")
	require.NoError(t, err)
	require.Equal(t, []string{"Boot m", "CloudCluster blue", "CloudMachine m", "Cluster blue", "Machine m", "Pilot blue", "Seat s"}, names(got))
	require.Equal(t, 1, item(t, got, "Pilot", "blue").Depth, "what belongs to the Cluster by reference comes after it")
}

func TestObjectsBehindTheClusterThatAreNotThere(t *testing.T) {
	w := newWorld("v1beta1")
	w.add(ClusterGroup, "Cluster", "blue", set(w.ref(infraGroup, "BoxCluster", "gone"), "spec", "infrastructureRef"),
		set(w.ref("planes.example.org", "Pilot", "blue"), "spec", "controlPlaneRef"), set("none", "spec", "topology", "class"))
	_, err := w.read(t, "blue")
	require.Equal(t, []string{
		"Cluster.cluster.x-k8s.io apps/blue: refers to BoxCluster.infrastructure.cluster.x-k8s.io apps/gone, which is not there: correct the reference",
		"Cluster.cluster.x-k8s.io apps/blue: refers to ClusterClass.cluster.x-k8s.io apps/none, which is not there: correct the reference",
		"Cluster.cluster.x-k8s.io apps/blue: refers to Pilot.planes.example.org apps/blue, a kind that is not served: install the provider, or correct the reference",
	}, findings(t, err))
}

// identities adds a provider whose objects refer to identities of the whole plane.
func (w *world) identities() {
	w.crd("clouds.example.org", "Identity", false, clusterctlLabel, hierarchyLabel)
	w.crd("clouds.example.org", "Role", false, clusterctlLabel, hierarchyLabel)
	w.crd("clouds.example.org", "Account", true, clusterctlLabel, hierarchyLabel)
	for _, name := range []string{"used", "other"} {
		w.add("clouds.example.org", "Role", name, in(""))
		w.add("clouds.example.org", "Identity", name, in(""), set(map[string]any{"kind": "Role", "name": name}, "spec", "sourceIdentityRef"))
	}
}

func TestIdentitiesThatMembersReferToAreCopied(t *testing.T) {
	w := newWorld("v1beta2")
	w.identities()
	w.ordinary("blue", 0)
	green := w.ordinary("green", 0)
	set(map[string]any{"apiGroup": "clouds.example.org", "kind": "Identity", "name": "used"}, "spec", "identityRef")(w.objects[1])
	require.Equal(t, "BoxCluster", w.objects[5].GetKind())
	for _, o := range w.objects {
		if o.GetKind() == "BoxCluster" {
			set(map[string]any{"kind": "Identity", "name": "used"}, "spec", "identityRef")(o)
		}
	}
	account := w.add("clouds.example.org", "Account", "blue")
	w.add("", "Secret", "blue-account", owned(account))
	set([]any{map[string]any{"kind": "Account", "name": "blue", "namespace": "apps"}, "text"}, "spec", "accounts")(w.objects[5])
	w.add("clouds.example.org", "Account", "green", owned(green))
	w.add("", "Secret", "of-identity", func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "clouds.example.org/v1beta2", Kind: "Identity", Name: "used", UID: "uid-Identity--used"}})
	})
	got, err := w.read(t, "blue")
	require.NoError(t, err)
	require.Equal(t, []string{"Account blue", "Identity used (stays)", "Role used (stays)", "Secret blue-account", "Secret of-identity (stays)"}, bare(t, got, "blue"))
	require.Equal(t, plane.Ref{Group: "clouds.example.org", Kind: "Identity", Name: "used"}, item(t, got, "Secret", "of-identity").Owners[0])
}

func TestPoolOfSeveralClusters(t *testing.T) {
	w := newWorld("v1beta2")
	w.crd("ipam.cluster.x-k8s.io", "IPAddressClaim", true)
	w.crd("ipam.cluster.x-k8s.io", "IPAddress", true)
	w.crd("ipam.cluster.x-k8s.io", "InClusterIPPool", true, hierarchyLabel)
	w.crd("ipam.cluster.x-k8s.io", "GlobalInClusterIPPool", false, hierarchyLabel)
	pool, global := w.add("ipam.cluster.x-k8s.io", "InClusterIPPool", "p"), w.add("ipam.cluster.x-k8s.io", "GlobalInClusterIPPool", "g", in(""))
	for _, c := range []string{"blue", "green"} {
		w.ordinary(c, 0)
		claim := w.add("ipam.cluster.x-k8s.io", "IPAddressClaim", c, set(c, "spec", "clusterName"), set(w.ref("ipam.cluster.x-k8s.io", "InClusterIPPool", "p"), "spec", "poolRef"))
		w.add("ipam.cluster.x-k8s.io", "IPAddress", c, owned(claim, pool, global))
	}
	_, err := w.read(t, "blue")
	require.Equal(t, []string{"InClusterIPPool.ipam.cluster.x-k8s.io apps/p: is used by Cluster.cluster.x-k8s.io apps/green as well: " +
		"have it copied: it stays on the source as well; or give each Cluster one of its own"}, findings(t, err))
	got, err := w.read(t, "blue", plane.Ref{Group: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Namespace: "apps", Name: "p"})
	require.NoError(t, err)
	require.Equal(t, []string{"GlobalInClusterIPPool g (stays)", "IPAddress blue", "IPAddressClaim blue", "InClusterIPPool p (stays)"}, bare(t, got, "blue"))
	require.Len(t, item(t, got, "IPAddress", "blue").Owners, 3)
}

func TestLabelledObjectsThatBelongToNoCluster(t *testing.T) {
	w := newWorld("v1beta2")
	w.crd("hosts.example.org", "Host", true, clusterctlLabel, moveLabel)
	w.ordinary("blue", 0)
	w.ordinary("green", 0)
	w.add("hosts.example.org", "Host", "free")
	w.add("hosts.example.org", "Host", "theirs", of("green"))
	w.add("hosts.example.org", "Host", "ours", of("blue"))
	w.add("", "ConfigMap", "odd", labelled(moveLabel, ""))
	_, err := w.read(t, "blue")
	advice := "label it cluster.x-k8s.io/cluster-name with the name of its Cluster; or have it copied: it stays on the source as well; or remove its label"
	require.Equal(t, []string{
		"ConfigMap apps/odd: is labelled to be moved, and belongs to none of the Clusters of its namespace: " + advice,
		"Host.hosts.example.org apps/free: is labelled to be moved, and belongs to none of the Clusters of its namespace: " + advice,
	}, findings(t, err))
	got, err := w.read(t, "blue", plane.Ref{Kind: "ConfigMap", Namespace: "apps", Name: "odd"}, plane.Ref{Group: "hosts.example.org", Kind: "Host", Namespace: "apps", Name: "free"})
	require.NoError(t, err)
	require.Equal(t, []string{"ConfigMap odd (stays)", "Host free (stays)", "Host ours"}, bare(t, got, "blue"))
}

func TestOwnedObjectsThatWouldBeDeletedWithTheirOwner(t *testing.T) {
	w := newWorld("v1beta2")
	w.ordinary("blue", 0)
	above := w.add("", "Secret", "above", labelled(moveLabel, ""))
	w.add("", "ConfigMap", "below", owned(above))
	_, err := w.read(t, "blue")
	require.Equal(t, []string{"ConfigMap apps/below: does not belong to the Cluster, but would be deleted with its owner Secret apps/above: " +
		"label the owner clusterctl.cluster.x-k8s.io/move-hierarchy, so that it moves with what it owns; or have the owner copied: it stays on the source as well"}, findings(t, err))
	got, err := w.read(t, "blue", plane.Ref{Kind: "Secret", Namespace: "apps", Name: "above"})
	require.NoError(t, err)
	require.Equal(t, []string{"Secret above (stays)"}, bare(t, got, "blue"))
}

func TestCyclesOfOwnersArePrinted(t *testing.T) {
	w := newWorld("v1beta2")
	w.ordinary("blue", 0)
	a := w.add(ClusterGroup, "MachineSet", "a", of("blue"))
	b := w.add(ClusterGroup, "MachineSet", "b", owned(a))
	c := w.add(ClusterGroup, "MachineSet", "c", owned(b))
	owned(c)(a)
	self := w.add(infraGroup, "BoxMachine", "self", of("blue"))
	owned(self)(self)
	w.add(infraGroup, "BoxMachine", "below", owned(c))
	_, err := w.read(t, "blue")
	require.Equal(t, []string{
		"MachineSet.cluster.x-k8s.io apps/a: its owners are a cycle: MachineSet.cluster.x-k8s.io apps/a -> MachineSet.cluster.x-k8s.io apps/c -> " +
			"MachineSet.cluster.x-k8s.io apps/b -> MachineSet.cluster.x-k8s.io apps/a: remove one of these owner references",
		"BoxMachine.infrastructure.cluster.x-k8s.io apps/self: its owners are a cycle: BoxMachine.infrastructure.cluster.x-k8s.io apps/self -> " +
			"BoxMachine.infrastructure.cluster.x-k8s.io apps/self: remove one of these owner references",
	}, findings(t, err))
}

func TestOwnerOfTheClusterThatNamesItComesBeforeIt(t *testing.T) {
	w := newWorld("v1beta2")
	blue := w.ordinary("blue", 0)
	group := w.add(ClusterGroup, "MachineHealthCheck", "above", of("blue"))
	owned(group)(blue)
	w.add("", "Secret", "beside", of("blue"))
	w.add("", "Secret", "blue-apiserver-etcd-client")
	got, err := w.read(t, "blue")
	require.NoError(t, err)
	require.Equal(t, 0, item(t, got, "MachineHealthCheck", "above").Depth)
	require.Equal(t, 1, item(t, got, "Cluster", "blue").Depth)
	require.Equal(t, 2, item(t, got, "Secret", "beside").Depth)
	require.Equal(t, 2, item(t, got, "Secret", "blue-apiserver-etcd-client").Depth)
}

func TestObjectThatChangesWhileItIsRead(t *testing.T) {
	w := newWorld("v1beta2")
	w.ordinary("blue", 0)
	w.ordinary("green", 0)
	w.add("", "Secret", "theirs", of("green"))
	theirs := plane.Ref{Kind: "Secret", Namespace: "apps", Name: "theirs"}
	p := w.plane(t)
	w.client.PrependReactor("get", "secrets", func(a clienttesting.Action) (bool, runtime.Object, error) {
		o, err := w.client.Tracker().Get(a.GetResource(), "apps", "theirs")
		changed := o.(*unstructured.Unstructured).DeepCopy()
		changed.SetResourceVersion("8")
		return true, changed, err
	})
	_, err := w.readOf(t, p, "blue", theirs)
	require.ErrorContains(t, err, "Secret apps/theirs: it has changed while the objects of Cluster.cluster.x-k8s.io apps/blue were read: run it again")
	p = w.plane(t)
	w.fail("get", "secrets", errors.New("broken"))
	_, err = w.readOf(t, p, "blue", theirs)
	require.ErrorContains(t, err, "source plane: Secret apps/theirs: broken")
}

// large is a namespace of about 2,000 objects of one cluster, and as many of others.
func large() *world {
	w := newWorld("v1beta2")
	w.ordinary("blue", 500)
	for i := range 5 {
		w.ordinary(fmt.Sprintf("green-%d", i), 98)
	}
	for i := range 200 {
		w.add("", "Secret", fmt.Sprintf("release-%d", i), set(map[string]any{"release": string(make([]byte, 10_000))}, "data"))
	}
	return w
}

func TestShuffledListsGiveTheSameSet(t *testing.T) {
	w := large()
	blue := w.objects[0]
	w.class("small", blue)
	w.resources("network", "blue")
	want, err := w.read(t, "blue")
	require.NoError(t, err)
	require.Greater(t, len(want.Items), 2_000)
	for seed := range uint64(3) {
		w.shuffle = rand.New(rand.NewPCG(seed, seed))
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(w.objects), func(i, j int) { w.objects[i], w.objects[j] = w.objects[j], w.objects[i] })
		got, err := w.read(t, "blue")
		require.NoError(t, err)
		require.Equal(t, snapshot.Digest(want.Entries()), snapshot.Digest(got.Entries()))
		require.True(t, slices.EqualFunc(want.Items, got.Items, func(a, b Item) bool { return a.Ref == b.Ref && slices.Equal(a.Owners, b.Owners) }))
	}
}

func TestShuffledListsGiveTheSameFindings(t *testing.T) {
	w := newWorld("v1beta2")
	blue, green := w.ordinary("blue", 3), w.ordinary("green", 3)
	w.class("shared", blue, green)
	for i := range 20 {
		o := w.add(ClusterGroup, "MachineSet", fmt.Sprint(i), of("blue"))
		owned(w.add(infraGroup, "BoxMachine", fmt.Sprint(i), owned(o, green)))(o)
	}
	_, want := w.read(t, "blue")
	require.Greater(t, len(findings(t, want)), 40)
	for seed := range uint64(5) {
		w.shuffle = rand.New(rand.NewPCG(seed, seed))
		_, got := w.read(t, "blue")
		require.Equal(t, want.Error(), got.Error())
	}
}

func TestOnlyTheObjectsOfTheClusterAreKept(t *testing.T) {
	w := large()
	p := w.plane(t)
	kinds, err := p.Kinds(context.Background())
	require.NoError(t, err)
	s := &scan{plane: p, kinds: kinds, cluster: types.NamespacedName{Namespace: "apps", Name: "blue"}}
	target, err := s.readClusters(context.Background())
	require.NoError(t, err)
	require.NoError(t, s.readAll(context.Background(), target))
	for _, n := range s.nodes {
		require.Equal(t, n.item.Object != nil, slices.Contains(n.names, "blue") || n.ref.Name == "blue", "%s", n.ref)
	}
}

func BenchmarkRead(b *testing.B) {
	w := large()
	p := w.plane(&testing.T{})
	kinds, err := p.Kinds(context.Background())
	require.NoError(b, err)
	var set Set
	for b.Loop() {
		set, err = Read(context.Background(), p, kinds, types.NamespacedName{Namespace: "apps", Name: "blue"}, Options{})
		require.NoError(b, err)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(set.Items)), "us/object")
}
