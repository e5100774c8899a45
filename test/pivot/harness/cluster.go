// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"text/template"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
)

// patience is how long a Cluster may take for a change, on the busiest machine. The
// controllers of Cluster API look at the API servers of Clusters every 15 seconds or so.
const patience = 3 * time.Minute

// version is that of Kubernetes that Clusters claim to run.
const version = "v1.35.0"

// manifests of a Cluster whose machines are in memory and take a second to start.
const manifests = `
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: {{.Name}}, namespace: {{.Namespace}}}
spec:
  clusterNetwork:
    services: {cidrBlocks: [10.128.0.0/12]}
    pods: {cidrBlocks: [192.168.0.0/16]}
    serviceDomain: cluster.local
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: {{.Name}}}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: {{.Name}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
# Without any annotation the reconciler panics.
metadata: {name: {{.Name}}, namespace: {{.Namespace}}, annotations: {example.com/made-by: test}}
spec: {backend: {inMemory: {}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: {{.Name}}, namespace: {{.Namespace}}}
spec:
  replicas: {{.ControlPlanes}}
  version: {{.Version}}
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: {{.Name}}-control-plane}
  kubeadmConfigSpec:
    clusterConfiguration: {apiServer: {certSANs: [localhost, 127.0.0.1]}}
    initConfiguration: {nodeRegistration: {criSocket: "unix:///var/run/containerd/containerd.sock"}}
    joinConfiguration: {nodeRegistration: {criSocket: "unix:///var/run/containerd/containerd.sock"}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: {{.Name}}-control-plane, namespace: {{.Namespace}}}
spec: {template: {spec: {backend: {{template "machine"}}}}}
{{- if .Workers}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: {{.Name}}-workers, namespace: {{.Namespace}}}
spec:
  clusterName: {{.Name}}
  replicas: {{.Workers}}
  selector: {matchLabels: {}}
  template:
    spec:
      clusterName: {{.Name}}
      version: {{.Version}}
      bootstrap:
        configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: {{.Name}}-workers}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: {{.Name}}-workers}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: {{.Name}}-workers, namespace: {{.Namespace}}}
spec:
  template:
    spec: {joinConfiguration: {nodeRegistration: {criSocket: "unix:///var/run/containerd/containerd.sock"}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: {{.Name}}-workers, namespace: {{.Namespace}}}
spec: {template: {spec: {backend: {{template "machine"}}}}}
{{- end}}
{{define "machine"}}{inMemory: {
  vm: {provisioning: {startupDuration: 1s}}, node: {provisioning: {startupDuration: 1s}},
  apiServer: {provisioning: {startupDuration: 1s}}, etcd: {provisioning: {startupDuration: 1s}}}}{{end}}
`

// Cluster is one that a test has made. It does not know which plane is in charge of it.
type Cluster struct {
	Namespace, Name        string
	ControlPlanes, Workers int

	world *World
}

// Kind is a kind of Cluster API as its clients name it.
type Kind struct{ Group, Kind, Resource string }

// Cluster API is served in one version.
func (k Kind) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.Group, Version: "v1beta2", Resource: k.Resource}
}

// The kinds that tests read and write themselves.
func clusters() Kind { return Kind{"cluster.x-k8s.io", "Cluster", "clusters"} }
func machines() Kind { return Kind{"cluster.x-k8s.io", "Machine", "machines"} }
func deployments() Kind {
	return Kind{"cluster.x-k8s.io", "MachineDeployment", "machinedeployments"}
}
func controlPlanes() Kind {
	return Kind{"controlplane.cluster.x-k8s.io", "KubeadmControlPlane", "kubeadmcontrolplanes"}
}

// Namespace makes a namespace in a plane, with a name that no other test has.
func (w *World) Namespace(t testing.TB, p *Plane) string {
	t.Helper()
	w.mu.Lock()
	w.namespaces++
	name := fmt.Sprintf("test-%d", w.namespaces)
	w.mu.Unlock()
	p.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}")
	return name
}

// NewCluster makes a Cluster in a namespace that is there already, and returns when it is
// Available.
func (w *World) NewCluster(t testing.TB, p *Plane, namespace, name string, controlPlanes, workers int) *Cluster {
	t.Helper()
	c := w.CreateCluster(t, p, namespace, name, controlPlanes, workers)
	c.AwaitAvailable(t, p)
	return c
}

// Standing is a Cluster of one machine of the control plane and two workers that all tests
// of a run share, with the plane that is in charge of it. A test may move it, and leaves it
// available.
func (w *World) Standing(t testing.TB) (*Cluster, *Plane) {
	t.Helper()
	if w.standing == nil {
		began := time.Now()
		c := w.NewCluster(t, w.A, w.Namespace(t, w.A), "shed", 1, 2)
		t.Logf("a Cluster of 1 + 2 machines is available after %s", time.Since(began).Round(10*time.Millisecond))
		w.standing = c
	}
	for _, p := range []*Plane{w.A, w.B} {
		if o, err := w.standing.Get(t.Context(), p); err == nil {
			if paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); !paused {
				w.standing.AwaitAvailable(t, p)
				return w.standing, p
			}
		}
	}
	require.Fail(t, "no plane is in charge of the standing Cluster: the test before has left it so")
	return nil, nil
}

// CreateCluster is NewCluster that does not wait.
func (w *World) CreateCluster(t testing.TB, p *Plane, namespace, name string, controlPlanes, workers int) *Cluster {
	t.Helper()
	c := &Cluster{Namespace: namespace, Name: name, ControlPlanes: controlPlanes, Workers: workers, world: w}
	parsed, err := template.New("cluster").Parse(manifests)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, parsed.Execute(&text, struct {
		*Cluster
		Version string
	}{c, version}))
	p.Apply(t, text.String())
	return c
}

// Get is the Cluster in a plane.
func (c *Cluster) Get(ctx context.Context, p *Plane) (*unstructured.Unstructured, error) {
	return c.Read(ctx, p.Client)
}

// Read is Get with another client.
func (c *Cluster) Read(ctx context.Context, client dynamic.Interface) (*unstructured.Unstructured, error) {
	return client.Resource(clusters().resource()).Namespace(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
}

// AwaitAvailable waits until a plane says that the Cluster is available with all its
// machines, and that none of them is on its way up or down.
func (c *Cluster) AwaitAvailable(t testing.TB, p *Plane) {
	t.Helper()
	var last string
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if last = c.lacks(t, p); last == "" {
			return
		}
		require.True(t, time.Now().Before(deadline), "Cluster %s/%s is not available in plane %s within %s: %s", c.Namespace, c.Name, p.Name, patience, last)
	}
}

// lacks is what keeps the Cluster from being available, or nothing.
func (c *Cluster) lacks(t testing.TB, p *Plane) string {
	t.Helper()
	o, err := c.Get(t.Context(), p)
	if err != nil {
		return err.Error()
	}
	// A pivot is refused before the controllers have seen that the Cluster is not paused any more.
	if seen, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration"); seen != o.GetGeneration() {
		return fmt.Sprintf("generation %d of %d is observed", seen, o.GetGeneration())
	}
	for _, condition := range []string{"Available", "RemoteConnectionProbe", "WorkersAvailable", "ControlPlaneAvailable"} {
		if !True(o, condition) {
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			return fmt.Sprintf("%s is not true: %v", condition, conditions)
		}
	}
	for _, condition := range []string{"Paused", "RollingOut", "ScalingUp", "ScalingDown", "Deleting"} {
		if True(o, condition) {
			return condition
		}
	}
	all := c.Machines(t, p)
	if len(all) != c.ControlPlanes+c.Workers {
		return fmt.Sprintf("%d machines", len(all))
	}
	for _, m := range all {
		if m.GetDeletionTimestamp() != nil || !True(&m, "Available") {
			return "machine " + m.GetName() + " is not available"
		}
	}
	return ""
}

// Machines are those of the Cluster that a plane has.
func (c *Cluster) Machines(t testing.TB, p *Plane) []unstructured.Unstructured {
	t.Helper()
	list, err := p.Client.Resource(machines().resource()).Namespace(c.Namespace).List(t.Context(), c.selector())
	require.NoError(t, err)
	return list.Items
}

func (c *Cluster) selector() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: "cluster.x-k8s.io/cluster-name=" + c.Name}
}

// Pause sets or ends the pause of the Cluster in a plane.
func (c *Cluster) Pause(t testing.TB, p *Plane, paused bool) {
	t.Helper()
	c.Patch(t, p, fmt.Sprintf(`{"spec":{"paused":%t}}`, paused))
}

// Patch changes the object of kind Cluster in a plane by a JSON merge patch.
func (c *Cluster) Patch(t testing.TB, p *Plane, patch string) {
	t.Helper()
	_, err := p.Client.Resource(clusters().resource()).Namespace(c.Namespace).
		Patch(t.Context(), c.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
}

// Delete deletes the Cluster through a plane, and returns when it is gone with its machines.
func (c *Cluster) Delete(t testing.TB, p *Plane) {
	t.Helper()
	client := p.Client.Resource(clusters().resource()).Namespace(c.Namespace)
	require.NoError(t, client.Delete(t.Context(), c.Name, metav1.DeleteOptions{}))
	Await(t, patience, "Cluster "+c.Name+" is gone", func() bool {
		_, err := client.Get(t.Context(), c.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// Remove deletes the object of kind Cluster from a plane, and nothing else, as one that is
// paused.
func (c *Cluster) Remove(t testing.TB, p *Plane) {
	t.Helper()
	client := p.Client.Resource(clusters().resource()).Namespace(c.Namespace)
	require.NoError(t, client.Delete(t.Context(), c.Name, metav1.DeleteOptions{}))
	_, err := client.Patch(t.Context(), c.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.True(t, err == nil || apierrors.IsNotFound(err), "%v", err)
}

// Fill gives the Cluster a number of further objects in a plane: Secrets of a size that it
// owns. They go with the Cluster, until Empty.
func (c *Cluster) Fill(t testing.TB, p *Plane, n, size int) {
	t.Helper()
	cluster, err := c.Get(t.Context(), p)
	require.NoError(t, err)
	data := make([]byte, size)
	errs := make([]error, n)
	var made sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range n {
		slots <- struct{}{}
		made.Go(func() {
			defer func() { <-slots }()
			random := slices.Clone(data)
			_, _ = rand.Read(random) // it never fails
			o := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"data": encode(random)},
				"metadata": map[string]any{
					"name": fmt.Sprintf("%s-fill-%04d", c.Name, i), "namespace": c.Namespace, "labels": map[string]any{"cluster.x-k8s.io/cluster-name": c.Name, "fill": c.Name},
					"ownerReferences": []any{map[string]any{"apiVersion": cluster.GetAPIVersion(), "kind": "Cluster", "name": c.Name, "uid": string(cluster.GetUID())}},
				},
			}}
			_, errs[i] = p.Client.Resource(secrets()).Namespace(c.Namespace).Create(t.Context(), o, metav1.CreateOptions{})
		})
	}
	made.Wait()
	require.NoError(t, errors.Join(errs...))
}

// Empty deletes what Fill has made.
func (c *Cluster) Empty(t testing.TB, p *Plane) {
	t.Helper()
	require.NoError(t, p.Client.Resource(secrets()).Namespace(c.Namespace).
		DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "fill=" + c.Name}))
}

func secrets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
}

// PatchWorkers changes the MachineDeployment of the workers, as a field manager, by a JSON merge
// patch, and waits for nothing.
func (c *Cluster) PatchWorkers(ctx context.Context, p *Plane, manager, patch string) error {
	_, err := p.Client.Resource(deployments().resource()).Namespace(c.Namespace).
		Patch(ctx, c.Name+"-workers", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
	return err
}

// ScaleWorkers changes how many workers there are, through one plane, and waits for them.
func (c *Cluster) ScaleWorkers(t testing.TB, p *Plane, workers int) {
	t.Helper()
	require.NoError(t, c.PatchWorkers(t.Context(), p, "pivot-test", fmt.Sprintf(`{"spec":{"replicas":%d}}`, workers)))
	c.Workers = workers
	c.AwaitAvailable(t, p)
}

// ReplaceControlPlane has every machine of the control plane replaced, through one plane,
// and waits for it. It gives the names of those before and after.
func (c *Cluster) ReplaceControlPlane(t testing.TB, p *Plane) (before, after []string) {
	t.Helper()
	before = c.controlPlane(t, p)
	client := p.Client.Resource(controlPlanes().resource()).Namespace(c.Namespace)
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		o, err := client.Get(t.Context(), c.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := unstructured.SetNestedField(o.Object, time.Now().UTC().Format(time.RFC3339), "spec", "rollout", "after"); err != nil {
			return err
		}
		_, err = client.Update(t.Context(), o, metav1.UpdateOptions{})
		return err
	}))
	Await(t, patience, "the control plane is replaced", func() bool {
		after = c.controlPlane(t, p)
		return len(after) == len(before) && !slices.ContainsFunc(after, func(name string) bool { return slices.Contains(before, name) })
	})
	c.AwaitAvailable(t, p)
	return before, after
}

// controlPlane are the names of its machines.
func (c *Cluster) controlPlane(t testing.TB, p *Plane) []string {
	t.Helper()
	var out []string
	for _, m := range c.Machines(t, p) {
		if _, is := m.GetLabels()["cluster.x-k8s.io/control-plane"]; is {
			out = append(out, m.GetName())
		}
	}
	return out
}
