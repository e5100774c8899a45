// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ropewalkv1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/test/e2e/plane"
)

// newScheme knows the kinds of Kubernetes, of definitions, of both controllers of
// Flux, and of this project.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		kubernetes.AddToScheme, apiextensionsv1.AddToScheme, sourcev1.AddToScheme, kustomizev1.AddToScheme,
		ropewalkv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// startControlPlane starts etcd and the API server, and then all that needs it.
func (c *Cluster) startControlPlane() {
	t := c.run
	c.plane = plane.Start(t, c.Dir, func(name string, args ...string) *Process {
		return c.launch(name, append([]string{c.program(t, name)}, args...))
	})
	c.Etcd, c.APIServer, c.Config, c.Kubeconfig = c.plane.Etcd, c.plane.APIServer, c.plane.Config, c.plane.Kubeconfig
	scheme, err := newScheme()
	require.NoError(t, err)
	// What the API server knows is asked for at the first use of the client.
	c.Client, err = client.New(c.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	c.plane.StartControllerManager(t)
	c.ControllerManager = c.plane.ControllerManager
	c.Scheduler = c.launch("kube-scheduler", append([]string{
		c.program(t, "kube-scheduler"), "--kubeconfig=" + c.plane.Certified(t, "system:kube-scheduler"),
	}, c.plane.Serving(t)...))
	c.startNode()
}

// RestartAPIServer kills the API server and starts it again with further flags,
// and returns when it is ready.
func (c *Cluster) RestartAPIServer(t testing.TB, flags ...string) {
	t.Helper()
	c.APIServer.Restart(t, flags...)
	c.plane.AwaitAPIServer(t)
}

// stages are what kwok does to nodes, pods and claims, as files of its module.
func stages() []string {
	return []string{
		"node/fast/node-initialize.yaml", "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
		"pod/fast/pod-ready.yaml", "pod/fast/pod-complete.yaml", "pod/fast/pod-delete.yaml",
		"volume/fast/pvc-provision.yaml", "volume/fast/pvc-delete.yaml", "volume/fast/pv-bind.yaml", "volume/fast/pv-delete.yaml",
	}
}

// balancers give addresses to what waits for the controller of a cloud, for which
// kwok has no stages of its own.
const balancers = `
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: ingress-address}
spec:
  resourceRef: {apiGroup: networking.k8s.io/v1, kind: Ingress}
  selector:
    matchExpressions: [{key: .status.loadBalancer.ingress, operator: DoesNotExist}]
  next:
    statusTemplate: 'loadBalancer: {ingress: [{ip: 192.0.2.1}]}'
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: service-address}
spec:
  resourceRef: {apiGroup: v1, kind: Service}
  selector:
    matchExpressions:
    - {key: .spec.type, operator: In, values: [LoadBalancer]}
    - {key: .status.loadBalancer.ingress, operator: DoesNotExist}
  next:
    statusTemplate: 'loadBalancer: {ingress: [{ip: 192.0.2.1}]}'
`

// startNode starts kwok and makes a node, whose pods are ready at once, and a
// default storage class, whose claims are bound at once.
func (c *Cluster) startNode() {
	t := c.run
	source, err := c.modules.Source(t.Context(), "kwok")
	require.NoError(t, err)
	folder := filepath.Join(source.Dir, "kustomize", "stage")
	var config bytes.Buffer
	for _, name := range stages() {
		data, err := os.ReadFile(filepath.Join(folder, name)) //nolint:gosec // a file of the module
		require.NoError(t, err)
		config.WriteString("---\n")
		config.Write(data)
	}
	config.WriteString(balancers)
	file := filepath.Join(c.Dir, "stages.yaml")
	require.NoError(t, os.WriteFile(file, config.Bytes(), 0o600))
	c.applyFile(filepath.Join(folder, "volume", "fast", "storage-class.yaml"), nil)
	for i := range nodes {
		require.NoError(t, c.Client.Create(t.Context(), node(i)))
	}
	c.Kwok = c.launch("kwok", []string{
		c.program(t, "kwok"), "--kubeconfig=" + c.Kubeconfig, "--config=" + file, "--manage-all-nodes=true",
		"--node-lease-duration-seconds=40", "--server-address=" + loopback + ":" + FreePort(t),
		"--cidr=10.64.0.1/10", "--v=warn",
	})
}

// nodes is how many nodes there are, each in a zone of its own, so that pods that
// must not share one find places.
const nodes = 3

// node is one of them, with room for all that a test can want.
func node(i int) *corev1.Node {
	name := fmt.Sprintf("node-%d", i)
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("4Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Ti"), corev1.ResourcePods: resource.MustParse("20000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			corev1.LabelTopologyRegion: "region", corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i),
		}},
		Status: corev1.NodeStatus{Allocatable: room, Capacity: room},
	}
}

// awaitNodes waits until pods can run.
func (c *Cluster) awaitNodes() {
	c.Await(c.run, startup, "nodes are ready", func() bool {
		var list corev1.NodeList
		if c.Client.List(c.run.Context(), &list) != nil || len(list.Items) < nodes {
			return false
		}
		return !slices.ContainsFunc(list.Items, func(n corev1.Node) bool { return len(n.Spec.Taints) > 0 })
	})
}
