// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
)

// Plane is a management cluster: a control plane of Kubernetes with Cluster API.
type Plane struct {
	*plane.Plane

	// Name is a, b or c.
	Name string
	// Client is that of an administrator.
	Client dynamic.Interface
	// Core, Bootstrap and ControlPlane are the programs of Cluster API.
	Core, Bootstrap, ControlPlane *Process

	certificates string // the folder with those of webhooks
	cloudPort    string // of the webhooks of the cloud
	kinds        *restmapper.DeferredDiscoveryRESTMapper
}

// startPlane starts all programs of a plane and installs definitions and webhooks.
func (w *World) startPlane(name string, b *bundle) *Plane {
	t := w.run
	dir := filepath.Join(w.Dir, name)
	logs := filepath.Join(dir, "logs")
	require.NoError(t, os.MkdirAll(logs, 0o750))
	p := &Plane{Name: name, certificates: filepath.Join(dir, "webhooks"), cloudPort: plane.FreePort(t)}
	p.Plane = plane.Start(t, dir, func(program string, args ...string) *Process { return w.launch(logs, program, args...) })
	p.connect(t)
	for _, o := range b.inventory {
		p.Create(t, o)
	}
	for _, provider := range b.providers {
		for _, o := range provider.crds {
			p.Create(t, o.DeepCopy())
		}
	}
	p.established(t)

	require.NoError(t, os.Mkdir(p.certificates, 0o750))
	for from, to := range map[string]string{"server.crt": "tls.crt", "server.key": "tls.key"} {
		data, err := os.ReadFile(p.Authority.File(from))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(p.certificates, to), data, 0o600)) //nolint:gosec // a folder of the run
	}
	processes := []**Process{&p.Core, &p.Bootstrap, &p.ControlPlane}
	for i, provider := range b.providers[:len(processes)] {
		port, health := plane.FreePort(t), plane.Loopback+":"+plane.FreePort(t)
		process := w.launch(logs, provider.program, "--kubeconfig="+p.Kubeconfig, "--webhook-cert-dir="+p.certificates,
			"--webhook-port="+port, "--health-addr="+health, "--diagnostics-address="+plane.Loopback+":0", "--insecure-diagnostics")
		process.URL = "http://" + health + "/readyz"
		*processes[i] = process
		p.install(t, provider, port)
	}
	// The garbage collector finds all kinds at its start.
	p.StartControllerManager(t, "--controllers=garbage-collector-controller,namespace-controller,"+
		"serviceaccount-controller,root-ca-certificate-publisher-controller")
	return p
}

func (p *Plane) connect(t testing.TB) {
	t.Helper()
	var err error
	p.Client, err = dynamic.NewForConfig(p.Config)
	require.NoError(t, err)
	kinds, err := discovery.NewDiscoveryClientForConfig(p.Config)
	require.NoError(t, err)
	p.kinds = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))
}

// install creates the webhooks of a provider.
func (p *Plane) install(t testing.TB, of provider, port string) {
	t.Helper()
	data, err := os.ReadFile(p.Authority.File("ca.crt"))
	require.NoError(t, err)
	for _, o := range of.pointed(port, data) {
		p.Create(t, o)
	}
}

// established waits until all definitions are served. One that is established comes into the
// discovery of the server a moment later only.
func (p *Plane) established(t testing.TB) {
	t.Helper()
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	Await(t, plane.Startup, "definitions are served", func() bool {
		list, err := p.Client.Resource(crds).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) == 0 {
			return false
		}
		p.kinds.Reset()
		for _, o := range list.Items {
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
			if _, err := p.kinds.RESTMapping(schema.GroupKind{Group: group, Kind: kind}); err != nil || !True(&o, "Established") {
				return false
			}
		}
		return true
	})
}

// Ready waits until the programs of Cluster API say that they are.
func (p *Plane) Ready(t testing.TB) {
	t.Helper()
	for _, process := range []*Process{p.Core, p.Bootstrap, p.ControlPlane} {
		process.AwaitOther(t, func() bool { return plane.Good(process.URL) })
	}
}

// Account is the path of the configuration of a ServiceAccount, which has no other rights.
func (p *Plane) Account(t testing.TB, namespace, name string) string {
	t.Helper()
	return p.Certified(t, "system:serviceaccount:"+namespace+":"+name, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
}

// Resource is the client for the kind of an object, in its namespace.
func (p *Plane) Resource(t testing.TB, o *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	gvk := o.GroupVersionKind()
	mapping, err := p.kinds.RESTMapping(gvk.GroupKind(), gvk.Version)
	require.NoError(t, err)
	if o.GetNamespace() == "" {
		return p.Client.Resource(mapping.Resource)
	}
	return p.Client.Resource(mapping.Resource).Namespace(o.GetNamespace())
}

// Create creates an object.
func (p *Plane) Create(t testing.TB, o *unstructured.Unstructured) {
	t.Helper()
	_, err := p.Resource(t, o).Create(t.Context(), o, metav1.CreateOptions{FieldManager: "pivot-test"})
	require.NoError(t, err, "%s %s/%s in plane %s", o.GetKind(), o.GetNamespace(), o.GetName(), p.Name)
}

// Apply creates the objects of YAML documents.
func (p *Plane) Apply(t testing.TB, manifests string) {
	t.Helper()
	objects, err := decode([]byte(manifests))
	require.NoError(t, err)
	for _, o := range objects {
		p.Create(t, o)
	}
}

// Ensure creates the object of a manifest where it is not there, and returns it as it is.
func (p *Plane) Ensure(t testing.TB, manifest string) *unstructured.Unstructured {
	t.Helper()
	o := one(t, manifest)
	client := p.Resource(t, o)
	_, err := client.Create(t.Context(), o, metav1.CreateOptions{})
	require.True(t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
	o, err = client.Get(t.Context(), o.GetName(), metav1.GetOptions{})
	require.NoError(t, err)
	return o
}

// Remove deletes an object, and returns when it is gone.
func (p *Plane) Remove(t testing.TB, o *unstructured.Unstructured) {
	t.Helper()
	client := p.Resource(t, o)
	require.NoError(t, client.Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}))
	Await(t, time.Minute, o.GetName()+" is gone", func() bool {
		_, err := client.Get(t.Context(), o.GetName(), metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// Definition is a CustomResourceDefinition as it can be created again.
func (p *Plane) Definition(t testing.TB, name string) *unstructured.Unstructured {
	t.Helper()
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	o, err := p.Client.Resource(crds).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	delete(o.Object, "status")
	o.SetResourceVersion("")
	o.SetUID("")
	o.SetFinalizers(nil)
	return o
}

// Restore creates a definition again, and returns when all are served.
func (p *Plane) Restore(t testing.TB, definition *unstructured.Unstructured) {
	t.Helper()
	p.Create(t, definition)
	p.established(t)
}

func one(t testing.TB, manifest string) *unstructured.Unstructured {
	t.Helper()
	objects, err := decode([]byte(manifest))
	require.NoError(t, err)
	require.Len(t, objects, 1)
	return objects[0]
}

// True reports whether a condition of an object is.
func True(o *unstructured.Unstructured, condition string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == condition {
			return c["status"] == "True"
		}
	}
	return false
}

func encode(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// Destroy kills everything of a plane, and removes what its etcd has.
func (p *Plane) Destroy(t testing.TB) {
	t.Helper()
	for _, process := range []*Process{p.Core, p.Bootstrap, p.ControlPlane, p.ControllerManager, p.APIServer, p.Etcd} {
		process.Kill()
	}
	require.NoError(t, p.Forget())
}
