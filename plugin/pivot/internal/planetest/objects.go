// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package planetest

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

var (
	errPrecondition = errors.New("the object has been modified")
	errTerminating  = errors.New("the namespace is being terminated")
)

// ClusterName is the label that names the cluster of an object.
const ClusterName = "cluster.x-k8s.io/cluster-name"

// Groups of Cluster API.
const (
	Core           = "cluster.x-k8s.io"
	Bootstrap      = "bootstrap.cluster.x-k8s.io"
	ControlPlane   = "controlplane.cluster.x-k8s.io"
	Infrastructure = "infrastructure.cluster.x-k8s.io"
	Addons         = "addons.cluster.x-k8s.io"
)

// ClusterAPI returns kinds of Cluster API, of kubeadm and of an infrastructure, with the label
// that their installers set. v1beta2 is stored, and v1beta1 served as well.
func ClusterAPI() []plane.Kind {
	var out []plane.Kind
	for _, k := range [][3]string{
		{Core, "Cluster", "clusters"}, {Core, "ClusterClass", "clusterclasses"}, {Core, "Machine", "machines"}, {Core, "MachineSet", "machinesets"},
		{Core, "MachineDeployment", "machinedeployments"}, {ControlPlane, "KubeadmControlPlane", "kubeadmcontrolplanes"},
		{Bootstrap, "KubeadmConfig", "kubeadmconfigs"}, {Bootstrap, "KubeadmConfigTemplate", "kubeadmconfigtemplates"},
		{Infrastructure, "DevCluster", "devclusters"}, {Infrastructure, "DevMachine", "devmachines"}, {Infrastructure, "DevMachineTemplate", "devmachinetemplates"},
		{Addons, "ClusterResourceSet", "clusterresourcesets"}, {Addons, "ClusterResourceSetBinding", "clusterresourcesetbindings"},
	} {
		out = append(out, plane.Kind{
			Group: k[0], Kind: k[1], Resource: k[2], Namespaced: true, Version: "v1beta2", Served: []string{"v1beta2", "v1beta1"},
			Labels: map[string]string{"clusterctl.cluster.x-k8s.io": ""},
		})
	}
	return out
}

// Definition returns the CustomResourceDefinition of a kind. Its first version is the one that is
// stored.
func Definition(k plane.Kind) *unstructured.Unstructured {
	scope := "Cluster"
	if k.Namespaced {
		scope = "Namespaced"
	}
	var versions []any
	for i, v := range k.Served {
		versions = append(versions, map[string]any{"name": v, "served": true, "storage": i == 0})
	}
	crd := Object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", k.Resource+"."+k.Group)
	crd.SetLabels(k.Labels)
	crd.Object["spec"] = map[string]any{
		"group": k.Group, "scope": scope, "versions": versions,
		"names": map[string]any{"kind": k.Kind, "plural": k.Resource},
	}
	return crd
}

// Object returns an object with nothing but a name.
func Object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// OwnedBy adds an owner reference to o without a UID, which Server.Put fills in. It returns o.
func OwnedBy(o, owner *unstructured.Unstructured) *unstructured.Unstructured {
	controller := true
	o.SetOwnerReferences(append(o.GetOwnerReferences(), metav1.OwnerReference{
		APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(), Controller: &controller,
	}))
	return o
}

// Cluster returns the objects of a cluster with a control plane and the given count of workers in
// one MachineDeployment, owners first. Each has a finalizer if Cluster API sets one, and the
// condition Paused=False if a controller of it reports one.
func Cluster(namespace, name string, workers int) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	labels := map[string]string{ClusterName: name}

	// Objects of Cluster API are added with their owners.
	add := func(group, kind, name string, owner *unstructured.Unstructured, spec map[string]any) *unstructured.Unstructured {
		o := Object(schema.GroupVersion{Group: group, Version: "v1beta2"}.String(), kind, namespace, name)
		o.Object["spec"] = spec
		if owner != nil {
			OwnedBy(o, owner)
		}
		o.SetLabels(labels)
		if reconciled(o) {
			o.SetFinalizers([]string{"test." + group + "/" + kind})
			SetPaused(o, "False", 1)
		}
		out = append(out, o)
		return o
	}
	secret := func(name string, owner *unstructured.Unstructured, key, value string) {
		o := OwnedBy(Object("v1", "Secret", namespace, name), owner)
		o.Object["type"] = "cluster.x-k8s.io/secret"
		o.Object["data"] = map[string]any{key: value}
		o.SetLabels(labels)
		out = append(out, o)
	}
	node := func(node string, owner *unstructured.Unstructured) {
		machine := add(Core, "Machine", node, owner, map[string]any{"clusterName": name})
		add(Infrastructure, "DevMachine", node, machine, map[string]any{"providerID": "dev://" + node})
		config := add(Bootstrap, "KubeadmConfig", node, machine, map[string]any{"format": "cloud-config"})
		secret(node, config, "value", "Ym9vdHN0cmFwLXRva2Vu") // "bootstrap-token"
	}

	// The cluster, with its infrastructure and templates.
	cluster := add(Core, "Cluster", name, nil, map[string]any{"controlPlaneEndpoint": map[string]any{"host": "10.0.0.1", "port": int64(6443)}})
	add(Infrastructure, "DevCluster", name, cluster, map[string]any{})
	add(Infrastructure, "DevMachineTemplate", name, cluster, map[string]any{"template": map[string]any{"spec": map[string]any{}}})
	add(Bootstrap, "KubeadmConfigTemplate", name, cluster, map[string]any{"template": map[string]any{"spec": map[string]any{}}})

	// The machines of the control plane, then the workers.
	control := add(ControlPlane, "KubeadmControlPlane", name+"-cp", cluster, map[string]any{"replicas": int64(1)})
	secret(name+"-ca", control, "tls.key", "Y2Eta2V5")               // "ca-key"
	secret(name+"-kubeconfig", control, "value", "a3ViZWNvbmZpZw==") // "kubeconfig"
	node(name+"-cp-0", control)
	deployment := add(Core, "MachineDeployment", name+"-md", cluster, map[string]any{"replicas": int64(workers)})
	set := add(Core, "MachineSet", name+"-md-0", deployment, map[string]any{"replicas": int64(workers)})
	for i := range workers {
		node(fmt.Sprintf("%s-md-0-%d", name, i), set)
	}
	return out
}

// reconciled reports whether a controller sets a finalizer and conditions on an object.
func reconciled(o *unstructured.Unstructured) bool {
	return o.GetLabels()[ClusterName] != "" && o.GroupVersionKind().Group != "" && !strings.HasSuffix(o.GetKind(), "Template")
}

// SetPaused sets the condition Paused, as it was observed at a generation.
func SetPaused(o *unstructured.Unstructured, status string, observed int64) {
	_ = unstructured.SetNestedSlice(o.Object, []any{
		map[string]any{"type": "Available", "status": "True", "observedGeneration": observed},
		map[string]any{"type": "Paused", "status": status, "observedGeneration": observed},
	}, "status", "conditions")
}
