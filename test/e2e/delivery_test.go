// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deliverer is plugin/flux/internal/delivery in a process of its own, with what is to be
// delivered in a file.
type deliverer struct {
	c         *Cluster
	namespace string
	binary    string
	policy    string
	adopt     string
}

// delivered is a unit that it delivers.
type delivered struct {
	Name, Layer string
	After       []string
	Files       map[string]string
	Objects     []map[string]string
	Checks      []map[string]string
}

func newDeliverer(t *testing.T) *deliverer {
	t.Helper()
	c := Shared(t)
	d := &deliverer{c: c, namespace: c.Namespace(t), binary: filepath.Join(t.TempDir(), "deliver"), policy: "Delete"}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", d.binary, "./plugin/flux/internal/delivery/testdata/deliver") //nolint:gosec // a program of ours
	cmd.Dir = filepath.Join(c.modules.Root, "..", "..")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return d
}

// unit makes a unit of manifests, each of one object.
func (d *deliverer) unit(t *testing.T, name, after string, manifests ...string) delivered {
	t.Helper()
	u := delivered{Name: name, Layer: name, Files: map[string]string{}}
	if after != "" {
		u.After = []string{after}
	}
	for _, m := range manifests {
		o := decode(t, []byte(m))[0]
		gvk := o.GroupVersionKind()
		u.Files[strings.ToLower(fmt.Sprintf("%s-%s-%s.yaml", name, gvk.Kind, o.GetName()))] = m
		u.Objects = append(u.Objects, map[string]string{
			"node": o.GetName(), "group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind, "namespace": o.GetNamespace(), "name": o.GetName(),
		})
		switch gvk.Kind {
		case "StatefulSet", "Deployment":
			u.Checks = append(u.Checks, map[string]string{"apiVersion": o.GetAPIVersion(), "kind": gvk.Kind, "namespace": o.GetNamespace(), "name": o.GetName()})
		}
	}
	return u
}

// start starts to deliver layers; none withdraws.
func (d *deliverer) start(t *testing.T, layers ...delivered) *exec.Cmd {
	t.Helper()
	request, err := json.Marshal(map[string]any{
		"transform": map[string]any{
			"metadata": map[string]any{"name": "web", "namespace": d.namespace},
			"spec": map[string]any{
				"adopt":    d.adopt,
				"output":   map[string]any{"oci": map[string]any{"repository": "oci://" + d.c.Registry + "/" + d.namespace, "insecure": true}},
				"delivery": map[string]any{"deletionPolicy": d.policy, "flux": map[string]any{"retryInterval": "5s"}},
			},
		},
		"withdraw": len(layers) == 0, "layers": layers,
	})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "request.json")
	require.NoError(t, os.WriteFile(file, request, 0o600))
	cmd := exec.CommandContext(t.Context(), d.binary, "-kubeconfig", d.c.Kubeconfig, "-request", file)
	said, err := os.Create(filepath.Join(t.TempDir(), "said")) //nolint:gosec // a path of this test
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = said, said
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = said.Close()
		if text, err := os.ReadFile(said.Name()); err == nil && t.Failed() {
			t.Logf("it said:\n%s", text[max(0, len(text)-6000):])
		}
	})
	return cmd
}

// deliver delivers to the end.
func (d *deliverer) deliver(t *testing.T, units ...delivered) time.Duration {
	t.Helper()
	start := time.Now()
	require.NoError(t, d.start(t, units...).Wait())
	return time.Since(start)
}

// identity of an object, and the Kustomization that owns it.
func (d *deliverer) identity(t *testing.T, apiVersion, kind, name string) (uid, owner string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	key := client.ObjectKey{Namespace: d.namespace, Name: name}
	if kind == "CustomResourceDefinition" {
		key.Namespace = ""
	}
	require.NoError(t, d.c.Client.Get(t.Context(), key, o))
	require.Empty(t, o.GetAnnotations()["ropewalk.dev/handover"], "%s is not marked any more", name)
	return string(o.GetUID()), o.GetLabels()["kustomize.toolkit.fluxcd.io/name"]
}

func (d *deliverer) configMap(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: %s\ndata:\n  value: %q\n", name, d.namespace, value)
}

func (d *deliverer) statefulSet(replicas int) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: db
  namespace: %s
spec:
  replicas: %d
  serviceName: db
  selector:
    matchLabels: {app: db}
  template:
    metadata:
      labels: {app: db}
    spec:
      containers:
        - name: db
          image: registry.example/db:1
`, d.namespace, replicas)
}

func (d *deliverer) claim() string {
	return fmt.Sprintf(`apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
  namespace: %s
  annotations:
    kustomize.toolkit.fluxcd.io/prune: disabled
spec:
  accessModes: [ReadWriteOnce]
  resources:
    requests: {storage: 1Gi}
`, d.namespace)
}

func (d *deliverer) group() string { return d.namespace + ".example.dev" }

func (d *deliverer) crd() string {
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.%[1]s
spec:
  group: %[1]s
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`, d.group())
}

// removeCRD takes it away after the test: no namespace does.
func (d *deliverer) removeCRD(t *testing.T) {
	t.Cleanup(func() {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("apiextensions.k8s.io/v1")
		o.SetKind("CustomResourceDefinition")
		o.SetName("things." + d.group())
		_ = d.c.Client.Delete(d.c.run.Context(), o) // who delivered it may have deleted it
	})
}

// whatMoves are objects that it hurts to lose.
func (d *deliverer) whatMoves(replicas int) []string {
	return []string{d.statefulSet(replicas), d.claim(), d.crd()}
}

func (d *deliverer) identities(t *testing.T, owner string) []string {
	t.Helper()
	var out []string
	for _, o := range [][3]string{
		{"apps/v1", "StatefulSet", "db"}, {"v1", "PersistentVolumeClaim", "data"},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "things." + d.group()},
	} {
		uid, at := d.identity(t, o[0], o[1], o[2])
		require.Equal(t, owner, at, o[1])
		out = append(out, uid)
	}
	return out
}

func TestWhatMovesToAnotherLayerStaysTheSameObject(t *testing.T) {
	d := newDeliverer(t)
	d.removeCRD(t)
	a := d.configMap("a", "1")
	took := d.deliver(t, d.unit(t, "layer-00", "", append(d.whatMoves(1), a)...), d.unit(t, "layer-01", "layer-00", d.configMap("b", "1")))
	t.Logf("first: %s", took)
	before := d.identities(t, "web-layer-00")

	took = d.deliver(t, d.unit(t, "layer-00", "", d.configMap("a", "2")), d.unit(t, "layer-01", "layer-00", append(d.whatMoves(2), d.configMap("b", "2"))...))
	t.Logf("to a later layer: %s", took)
	require.Equal(t, before, d.identities(t, "web-layer-01"))

	took = d.deliver(t, d.unit(t, "layer-00", "", append(d.whatMoves(3), a)...), d.unit(t, "layer-01", "layer-00", d.configMap("b", "3")))
	t.Logf("to an earlier layer: %s", took)
	require.Equal(t, before, d.identities(t, "web-layer-00"))

	// The layer that they are in disappears: there is one only.
	d.deliver(t, d.unit(t, "layer-00", "", a), d.unit(t, "layer-01", "layer-00", append(d.whatMoves(1), d.configMap("b", "3"))...))
	require.Equal(t, before, d.identities(t, "web-layer-01"))
	took = d.deliver(t, d.unit(t, "layer-00", "", append(d.whatMoves(1), a)...))
	t.Logf("out of a layer that disappears: %s", took)
	require.Equal(t, before, d.identities(t, "web-layer-00"))
	require.Equal(t, []string{"web-layer-00"}, d.kustomizations(t))
	require.Empty(t, d.c.Kubectl(t, "get", "configmap", "b", "-n", d.namespace, "--ignore-not-found"), "what is gone is deleted")
	d.c.Await(t, soon, "the source of the layer that disappeared goes too", func() bool { return d.sources(t) == 1 })

	d.deliver(t) // withdrawn
	require.Empty(t, d.kustomizations(t))
	require.Empty(t, d.c.Kubectl(t, "get", "statefulset/db", "configmap/a", "-n", d.namespace, "--ignore-not-found"))
	require.NotEmpty(t, d.c.Kubectl(t, "get", "pvc/data", "-n", d.namespace, "--ignore-not-found"), "its author keeps it")
}

func (d *deliverer) kustomizations(t *testing.T) []string {
	t.Helper()
	var list kustomizev1.KustomizationList
	require.NoError(t, d.c.Client.List(t.Context(), &list, client.InNamespace(d.namespace)))
	var out []string
	for _, k := range list.Items {
		out = append(out, k.Name)
	}
	slices.Sort(out)
	return out
}

func (d *deliverer) sources(t *testing.T) int {
	t.Helper()
	var list sourcev1.OCIRepositoryList
	require.NoError(t, d.c.Client.List(t.Context(), &list, client.InNamespace(d.namespace)))
	return len(list.Items)
}

func TestWhatMovesStaysTheSameObjectWhoeverIsKilled(t *testing.T) {
	d := newDeliverer(t)
	d.removeCRD(t)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // when something is killed
	d.deliver(t, d.unit(t, "layer-00", "", append(d.whatMoves(1), d.configMap("a", "0"))...), d.unit(t, "layer-01", "layer-00", d.configMap("b", "0")))
	before := d.identities(t, "web-layer-00")
	for round := range 8 {
		now, to := fmt.Sprint(round), (round+1)%2
		parts := [][]string{{d.configMap("a", now)}, {d.configMap("b", now)}}
		parts[to] = append(parts[to], d.whatMoves(1+round%3)...)
		units := []delivered{d.unit(t, "layer-00", "", parts[0]...), d.unit(t, "layer-01", "layer-00", parts[1]...)}
		if round%4 == 3 {
			// One layer takes all, and the other one disappears.
			units, to = []delivered{d.unit(t, "layer-00", "", append(parts[0], parts[1]...)...)}, 0
		}
		for range 4 {
			cmd := d.start(t, units...)
			time.Sleep(time.Duration(100+random.IntN(700)) * time.Millisecond)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if random.IntN(4) == 0 {
				d.c.KustomizeController.Kill()
				d.c.KustomizeController.Restart(t)
			}
		}
		d.deliver(t, units...)
		require.Equal(t, before, d.identities(t, fmt.Sprintf("web-layer-%02d", to)), "round %d", round)
	}
}

// TestOnlyTheLayerThatChangedIsWritten also shows how long a change of the last layer takes.
func TestOnlyTheLayerThatChangedIsWritten(t *testing.T) {
	d := newDeliverer(t)
	units := func(leaf string) []delivered {
		var out []delivered
		after := ""
		for i := range 5 {
			name, value := fmt.Sprintf("layer-%02d", i), "same"
			if i == 4 {
				value = leaf
			}
			out = append(out, d.unit(t, name, after, d.configMap(fmt.Sprintf("c%d", i), value)))
			after = name
		}
		return out
	}
	took := d.deliver(t, units("1")...)
	figure(t, "five layers, one after the other", took, 20*time.Second)
	versions := func() map[string]string {
		out := map[string]string{}
		var list kustomizev1.KustomizationList
		require.NoError(t, d.c.Client.List(t.Context(), &list, client.InNamespace(d.namespace)))
		for _, k := range list.Items {
			out[k.Name] = fmt.Sprintf("%d %s", k.Generation, k.Status.LastAppliedRevision)
		}
		return out
	}
	before := versions()
	took = d.deliver(t, units("2")...)
	t.Logf("the last of five layers: %s", took)
	after := versions()
	require.NotEqual(t, before["web-layer-04"], after["web-layer-04"])
	delete(before, "web-layer-04")
	delete(after, "web-layer-04")
	require.Equal(t, before, after)
}

func TestHealthChecksComeWithTheirArtifact(t *testing.T) {
	d := newDeliverer(t)
	d.deliver(t, d.unit(t, "layer-00", "", d.configMap("a", "1")))
	// The StatefulSet is new, and so is the check that waits for it. Were it not there yet
	// when Flux starts to wait, the wait would last for minutes.
	took := d.deliver(t, d.unit(t, "layer-00", "", d.configMap("a", "2"), d.statefulSet(1)))
	figure(t, "a health check of a new object", took, 30*time.Second)
	require.Less(t, took, soon)
	var k kustomizev1.Kustomization
	require.NoError(t, d.c.Client.Get(t.Context(), client.ObjectKey{Namespace: d.namespace, Name: "web-layer-00"}, &k))
	require.False(t, k.Spec.Suspend)
	require.Empty(t, k.Annotations["ropewalk.dev/suspended"])
	require.Len(t, k.Spec.HealthChecks, 1)
	took = d.deliver(t, d.unit(t, "layer-00", "", d.configMap("a", "3")))
	t.Logf("and of one that goes: %s", took)
	require.Empty(t, d.c.Kubectl(t, "get", "statefulset", "-n", d.namespace, "--ignore-not-found"))
}

func TestLayersAreDeletedTheLastFirst(t *testing.T) {
	d := newDeliverer(t)
	held := strings.Replace(d.configMap("b", "1"), "metadata:\n", "metadata:\n  finalizers: [example.dev/hold]\n", 1)
	d.deliver(t, d.unit(t, "layer-00", "", d.configMap("a", "1")), d.unit(t, "layer-01", "layer-00", held))
	cmd := d.start(t)
	d.c.Await(t, soon, "b is being deleted", func() bool {
		return d.c.Kubectl(t, "get", "configmap", "b", "-n", d.namespace, "-o", "jsonpath={.metadata.deletionTimestamp}") != ""
	})
	time.Sleep(2 * time.Second)
	require.NotEmpty(t, d.c.Kubectl(t, "get", "configmap", "a", "-n", d.namespace, "--ignore-not-found"), "a waits for b")
	d.c.Kubectl(t, "patch", "configmap", "b", "-n", d.namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	require.NoError(t, cmd.Wait())
	require.Empty(t, d.c.Kubectl(t, "get", "configmap", "a", "-n", d.namespace, "--ignore-not-found"))
	require.Zero(t, d.sources(t))
}

func TestObjectsAreOrphanedWhereItIsAskedFor(t *testing.T) {
	d := newDeliverer(t)
	d.deliver(t, d.unit(t, "layer-00", "", d.configMap("a", "1")), d.unit(t, "layer-01", "layer-00", d.configMap("b", "1")))
	d.policy = "Orphan"
	d.deliver(t)
	require.Empty(t, d.kustomizations(t))
	require.Zero(t, d.sources(t))
	require.NotEmpty(t, d.c.Kubectl(t, "get", "configmap", "a", "b", "-n", d.namespace))
}

func TestObjectsOfOthersAreNotTakenWhereTheSpecSaysNever(t *testing.T) {
	d := newDeliverer(t)
	d.adopt = "Never"
	d.c.Kubectl(t, "create", "configmap", "a", "-n", d.namespace, "--from-literal=value=theirs")
	cmd := d.start(t, d.unit(t, "layer-00", "", d.configMap("a", "ours"), d.configMap("b", "ours")))
	require.Error(t, cmd.Wait(), "it is stalled")
	require.Empty(t, d.kustomizations(t))
	require.Equal(t, "theirs", d.c.Kubectl(t, "get", "configmap", "a", "-n", d.namespace, "-o", "jsonpath={.data.value}"))
	d.adopt = "TakeOwnership"
	d.deliver(t, d.unit(t, "layer-00", "", d.configMap("a", "ours"), d.configMap("b", "ours")))
	require.Equal(t, "ours", d.c.Kubectl(t, "get", "configmap", "a", "-n", d.namespace, "-o", "jsonpath={.data.value}"))
}

func TestAKustomizationOfSomebodyElseIsNotTakenOver(t *testing.T) {
	d := newDeliverer(t)
	d.c.Apply(t, fmt.Sprintf(`apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web-layer-00, namespace: %s}
spec: {interval: 1h, prune: true, suspend: true, path: ./, sourceRef: {kind: OCIRepository, name: theirs}}
`, d.namespace))
	cmd := d.start(t, d.unit(t, "layer-00", "", d.configMap("a", "1")))
	require.Error(t, cmd.Wait(), "it is stalled")
	var k kustomizev1.Kustomization
	require.NoError(t, d.c.Client.Get(t.Context(), client.ObjectKey{Namespace: d.namespace, Name: "web-layer-00"}, &k))
	require.Equal(t, "theirs", k.Spec.SourceRef.Name)
	require.Zero(t, d.sources(t))
}
