// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ropewalkv1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
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
	c.authority = newAuthority(t, filepath.Join(c.Dir, "pki"))
	storage := c.startEtcd()
	port := FreePort(t)
	c.server = "https://" + loopback + ":" + port
	a := c.authority
	c.APIServer = c.launch("kube-apiserver", []string{
		c.program(t, "kube-apiserver"), "--etcd-servers=" + storage, "--bind-address=" + loopback, "--advertise-address=" + loopback,
		"--secure-port=" + port, "--tls-cert-file=" + a.file("server.crt"), "--tls-private-key-file=" + a.file("server.key"),
		"--client-ca-file=" + a.file("ca.crt"), "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + a.file("accounts.pub"), "--service-account-signing-key-file=" + a.file("accounts.key"),
		"--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=RBAC", "--endpoint-reconciler-type=none",
		"--allow-privileged=true",
	})
	c.connect()
	c.awaitAPIServer(t)
	c.startKubernetesControllers()
	c.startNode()
}

// startEtcd starts the storage, which does not wait for disks, and gives its URL.
func (c *Cluster) startEtcd() string {
	t := c.run
	clients, peers := "http://"+loopback+":"+FreePort(t), "http://"+loopback+":"+FreePort(t)
	c.Etcd = c.launch("etcd", []string{
		c.program(t, "etcd"), "--name=e2e", "--data-dir=" + filepath.Join(c.Dir, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls=" + clients, "--advertise-client-urls=" + clients,
		"--listen-peer-urls=" + peers, "--initial-advertise-peer-urls=" + peers, "--initial-cluster=e2e=" + peers,
	})
	return clients
}

// connect makes the clients of an administrator.
func (c *Cluster) connect() {
	t := c.run
	config := c.authority.kubeconfig(c.server, c.authority.client(t, "admin", "system:masters").user())
	require.NoError(t, clientcmd.WriteToFile(*config, c.Kubeconfig))
	var err error
	c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	require.NoError(t, err)
	c.Config.QPS = -1 // tests do not wait for each other
	c.Config.WarningHandler = rest.NoWarnings{}
	scheme, err := newScheme()
	require.NoError(t, err)
	// What the API server knows is asked for at the first use of the client.
	c.Client, err = client.New(c.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
}

// awaitAPIServer waits until the API server says that it is ready.
func (c *Cluster) awaitAPIServer(t testing.TB) {
	t.Helper()
	asker, err := rest.HTTPClientFor(c.Config)
	require.NoError(t, err)
	defer asker.CloseIdleConnections()
	c.APIServer.Await(t, func() bool {
		response, err := asker.Get(c.server + "/readyz") //nolint:noctx // the loopback
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
}

// RestartAPIServer kills the API server and starts it again with further flags,
// and returns when it is ready.
func (c *Cluster) RestartAPIServer(t testing.TB, flags ...string) {
	t.Helper()
	c.APIServer.Restart(t, flags...)
	c.awaitAPIServer(t)
}

// certified is the path of the configuration of a user with a certificate.
func (c *Cluster) certified(user string, groups ...string) string {
	t := c.run
	file := filepath.Join(c.Dir, strings.TrimPrefix(user, "system:")+".kubeconfig")
	config := c.authority.kubeconfig(c.server, c.authority.client(t, user, groups...).user())
	require.NoError(t, clientcmd.WriteToFile(*config, file))
	return file
}

// startKubernetesControllers starts the controller manager, whose controllers have
// service accounts of their own, and the scheduler. They are what they are in any
// cluster but for the name of the authority.
func (c *Cluster) startKubernetesControllers() {
	t, a := c.run, c.authority
	manager := c.certified("system:kube-controller-manager")
	serving := []string{
		"--bind-address=" + loopback, "--tls-cert-file=" + a.file("server.crt"), "--tls-private-key-file=" + a.file("server.key"),
		"--leader-elect=false",
	}
	c.ControllerManager = c.launch("kube-controller-manager", append([]string{
		c.program(t, "kube-controller-manager"), "--kubeconfig=" + manager, "--use-service-account-credentials=true",
		"--service-account-private-key-file=" + a.file("accounts.key"), "--root-ca-file=" + a.file("ca.crt"),
		"--secure-port=" + FreePort(t),
	}, serving...))
	scheduler := c.certified("system:kube-scheduler")
	c.Scheduler = c.launch("kube-scheduler", append([]string{
		c.program(t, "kube-scheduler"), "--kubeconfig=" + scheduler, "--secure-port=" + FreePort(t),
	}, serving...))
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
