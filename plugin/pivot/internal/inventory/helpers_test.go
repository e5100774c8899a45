// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// world is a plane in the making.
type world struct {
	version string // of Cluster API
	crds    []*unstructured.Unstructured
	objects []*unstructured.Unstructured
	lists   map[schema.GroupVersionResource]string
	shuffle *rand.Rand
	client  *fake.FakeDynamicClient
}

const (
	infraGroup     = "infrastructure.cluster.x-k8s.io"
	bootstrapGroup = "bootstrap.cluster.x-k8s.io"
	planeGroup     = "controlplane.cluster.x-k8s.io"
)

// newWorld serves the kinds of Cluster API, and a provider of containers.
func newWorld(version string) *world {
	w := &world{version: version, lists: map[schema.GroupVersionResource]string{}}
	for _, k := range []plane.Kind{plane.SecretKind, plane.ConfigMapKind, plane.NamespaceKind} {
		w.lists[schema.GroupVersionResource{Version: "v1", Resource: k.Resource}] = k.Kind + "List"
	}
	w.lists[schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}] = "CustomResourceDefinitionList"
	for _, kind := range []string{"Cluster", "ClusterClass", "Machine", "MachineSet", "MachineDeployment", "MachineHealthCheck"} {
		w.crd(ClusterGroup, kind, true)
	}
	w.crd(addonsGroup, "ClusterResourceSet", true)
	w.crd(addonsGroup, "ClusterResourceSetBinding", true)
	w.crd(clusterctlsGroup, "Provider", true)
	for _, kind := range []string{"BoxCluster", "BoxMachine", "BoxMachineTemplate", "BoxClusterTemplate"} {
		w.crd(infraGroup, kind, true)
	}
	w.crd(bootstrapGroup, "KubeadmConfig", true)
	w.crd(bootstrapGroup, "KubeadmConfigTemplate", true)
	w.crd(planeGroup, "KubeadmControlPlane", true)
	return w
}

// crd adds a definition.
func (w *world) crd(group, kind string, namespaced bool, labels ...string) {
	scope := "Cluster"
	if namespaced {
		scope = "Namespaced"
	}
	guess, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: group, Version: w.version, Kind: kind})
	plural := guess.Resource
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{"group": group, "scope": scope, "names": map[string]any{"plural": plural, "kind": kind},
			"versions": []any{map[string]any{"name": w.version, "served": true, "storage": true}}},
	}}
	set := map[string]string{}
	for _, l := range labels {
		set[l] = ""
	}
	o.SetLabels(set)
	w.crds = append(w.crds, o)
	w.lists[schema.GroupVersionResource{Group: group, Version: w.version, Resource: plural}] = kind + "List"
}

// add adds an object to the namespace apps; its UID is "uid-" and its name and kind.
func (w *world) add(group, kind, name string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	version := w.version
	if group == "" {
		version = "v1"
	}
	o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{}}}
	o.SetAPIVersion(schema.GroupVersion{Group: group, Version: version}.String())
	o.SetKind(kind)
	o.SetName(name)
	o.SetNamespace("apps")
	o.SetResourceVersion("7")
	for _, f := range change {
		f(o)
	}
	o.SetUID(types.UID("uid-" + kind + "-" + o.GetNamespace() + "-" + name))
	w.objects = append(w.objects, o)
	return o
}

func owned(by ...*unstructured.Unstructured) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		refs := o.GetOwnerReferences()
		for _, b := range by {
			refs = append(refs, metav1.OwnerReference{APIVersion: b.GetAPIVersion(), Kind: b.GetKind(), Name: b.GetName(), UID: b.GetUID()})
		}
		o.SetOwnerReferences(refs)
	}
}

func labelled(k, v string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[k] = v
		o.SetLabels(labels)
	}
}

func of(cluster string) func(*unstructured.Unstructured) { return labelled(clusterNameLabel, cluster) }

func set(v any, path ...string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(o.Object, v, path...); err != nil {
			panic(err)
		}
	}
}

func in(namespace string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) { o.SetNamespace(namespace) }
}

// ref is a reference in a spec, in the layout of the version.
func (w *world) ref(group, kind, name string) map[string]any {
	if w.version == "v1beta1" {
		return map[string]any{"apiVersion": group + "/" + w.version, "kind": kind, "name": name, "namespace": "apps"}
	}
	return map[string]any{"apiGroup": group, "kind": kind, "name": name}
}

// ordinary adds a cluster of one control-plane machine and workers, as the controllers leave it.
func (w *world) ordinary(name string, workers int) *unstructured.Unstructured {
	c := w.add(ClusterGroup, "Cluster", name,
		set(w.ref(infraGroup, "BoxCluster", name), "spec", "infrastructureRef"),
		set(w.ref(planeGroup, "KubeadmControlPlane", name+"-cp"), "spec", "controlPlaneRef"))
	w.add(infraGroup, "BoxCluster", name, owned(c), of(name))
	cp := w.add(planeGroup, "KubeadmControlPlane", name+"-cp", owned(c), of(name),
		set(map[string]any{"spec": map[string]any{"infrastructureRef": w.ref(infraGroup, "BoxMachineTemplate", name+"-cp")}}, "spec", "machineTemplate"))
	w.add(infraGroup, "BoxMachineTemplate", name+"-cp", owned(c), of(name))
	w.machine(name, name+"-cp-0", cp)
	for _, purpose := range []string{"ca", "etcd", "proxy", "sa", "kubeconfig"} {
		w.add("", "Secret", name+"-"+purpose, owned(cp), of(name), set(map[string]any{"tls.key": "aHVzaC1odXNo"}, "data"))
	}
	if workers == 0 {
		return c
	}
	md := w.add(ClusterGroup, "MachineDeployment", name+"-md", owned(c), of(name), set(name, "spec", "clusterName"))
	w.add(infraGroup, "BoxMachineTemplate", name+"-md", owned(c), of(name))
	w.add(bootstrapGroup, "KubeadmConfigTemplate", name+"-md", owned(c), of(name))
	ms := w.add(ClusterGroup, "MachineSet", name+"-md-x", owned(md), of(name), set(name, "spec", "clusterName"))
	for i := range workers {
		w.machine(name, fmt.Sprintf("%s-md-x-%d", name, i), ms)
	}
	return c
}

func (w *world) machine(cluster, name string, by *unstructured.Unstructured) {
	m := w.add(ClusterGroup, "Machine", name, owned(by), of(cluster), set(cluster, "spec", "clusterName"),
		set(map[string]any{"name": "node-" + name}, "status", "nodeRef"))
	w.add(infraGroup, "BoxMachine", name, owned(m), of(cluster))
	config := w.add(bootstrapGroup, "KubeadmConfig", name, owned(m), of(cluster))
	w.add("", "Secret", name, owned(config), of(cluster), set(map[string]any{"value": "aHVzaC1odXNo"}, "data"))
}

func (w *world) plane(t *testing.T) *plane.Plane {
	t.Helper()
	var all []runtime.Object
	for _, o := range append(slices.Clone(w.crds), w.objects...) {
		all = append(all, o.DeepCopy())
	}
	w.client = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), w.lists, all...)
	if w.shuffle != nil {
		w.client.PrependReactor("list", "*", w.shuffled)
	}
	return plane.New(w.client, plane.Options{Name: "source", Patience: time.Millisecond})
}

// shuffled answers lists in any order, as etcd's order of names is no contract.
func (w *world) shuffled(action clienttesting.Action) (bool, runtime.Object, error) {
	a := action.(clienttesting.ListActionImpl)
	found, err := w.client.Tracker().List(a.GetResource(), a.GetKind(), a.GetNamespace())
	if err != nil {
		return true, nil, err
	}
	list := found.(*unstructured.UnstructuredList)
	w.shuffle.Shuffle(len(list.Items), func(i, j int) { list.Items[i], list.Items[j] = list.Items[j], list.Items[i] })
	return true, list, nil
}

func (w *world) read(t *testing.T, cluster string, cp ...plane.Ref) (Set, error) {
	t.Helper()
	return w.readOf(t, w.plane(t), cluster, cp...)
}

func (w *world) readOf(t *testing.T, p *plane.Plane, cluster string, cp ...plane.Ref) (Set, error) {
	t.Helper()
	kinds, err := p.Kinds(context.Background())
	require.NoError(t, err)
	return Read(context.Background(), p, kinds, types.NamespacedName{Namespace: "apps", Name: cluster}, Options{Copy: cp})
}

// names are the members, with a mark for those that stay.
func names(s Set) []string {
	var out []string
	for _, i := range s.Items {
		name := i.Ref.Kind + " " + i.Ref.Name
		if i.Stays {
			name += " (stays)"
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func item(t *testing.T, s Set, kind, name string) Item {
	t.Helper()
	for _, i := range s.Items {
		if i.Ref.Kind == kind && i.Ref.Name == name {
			return i
		}
	}
	require.FailNow(t, "not in the set", "%s %s", kind, name)
	return Item{}
}

func forbid(w *world, verb, resource, namespace string) {
	w.client.PrependReactor(verb, resource, func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetNamespace() != namespace {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "", nil)
	})
}

func findings(t *testing.T, err error) []string {
	t.Helper()
	var f Findings
	require.ErrorAs(t, err, &f)
	var out []string
	for _, l := range strings.Split(err.Error(), "\n") {
		out = append(out, l)
		require.NotContains(t, l, "hush-hush")
		require.NotContains(t, l, "aHVzaC1odXNo")
	}
	return out
}
