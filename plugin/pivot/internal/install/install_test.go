// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

const (
	canary   = "canary-7f3a91"
	document = `
apiVersion: ropewalk.dev/v1alpha1
kind: PivotCluster
metadata: {name: blue, labels: {team: a}}
spec: {provider: {type: docker, docker: {}}, kubernetesVersion: v1.36.3}
`
	minimal = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pivotclusters.ropewalk.dev}
---
# A comment alone.
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: transforms.ropewalk.dev}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ropewalk-controller, namespace: ropewalk-system}
`
)

// world is a bootstrap cluster whose controller does one step in each pause of a run.
type world struct {
	*testing.T
	server *planetest.Server
	clock  time.Time
	steps  []func()
	kept   []string
	marks  []string
}

func newWorld(t *testing.T, kinds ...plane.Kind) *world {
	t.Helper()
	return &world{T: t, server: planetest.New("bootstrap", kinds...), clock: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
}

// complete is a bootstrap cluster with all that is needed.
func complete(t *testing.T) *world {
	t.Helper()
	kinds := planetest.ClusterAPI()
	for _, k := range [][3]string{
		{group, "Transform", "transforms"}, {"source.toolkit.fluxcd.io", "OCIRepository", "ocirepositories"}, {"kustomize.toolkit.fluxcd.io", "Kustomization", "kustomizations"},
	} {
		kinds = append(kinds, plane.Kind{Group: k[0], Kind: k[1], Resource: k[2], Version: "v1", Served: []string{"v1"}, Namespaced: true})
	}
	return newWorld(t, append(kinds, plane.Kind{Group: group, Kind: "PivotCluster", Resource: "pivotclusters", Version: "v1alpha1", Served: []string{"v1alpha1"}})...)
}

func (w *world) run(change ...func(*Options)) (*Result, error) {
	w.Helper()
	o := &unstructured.Unstructured{}
	require.NoError(w, yaml.Unmarshal([]byte(document), &o.Object))
	m, err := Parse([]byte(minimal))
	require.NoError(w, err)
	options := Options{
		Cluster: o, Manifest: m, Timeout: time.Hour, Now: func() time.Time { return w.clock },
		Keep:   func(kubeconfig []byte) error { w.kept = append(w.kept, string(kubeconfig)); return nil },
		Report: func(m Mark) { w.marks = append(w.marks, m.Phase+": "+m.Message) },
	}
	for _, c := range change {
		c(&options)
	}
	p := plane.New(w.server.Client(), w.server.Options(plane.Options{Name: "bootstrap", Patience: time.Minute, Sleep: func(ctx context.Context, d time.Duration) error {
		w.clock = w.clock.Add(d)
		if len(w.steps) > 0 {
			w.steps[0]()
			w.steps = w.steps[1:]
		}
		return ctx.Err()
	}}))
	return Run(w.Context(), p, options)
}

var blue = plane.Ref{Group: group, Kind: "PivotCluster", Name: "blue"} //nolint:gochecknoglobals // a constant

// says is the controller that writes a status.
func (w *world) says(phase, message string, conditions ...string) func() {
	return func() {
		w.server.Edit(blue, "ropewalk-pivot", func(o *unstructured.Unstructured) {
			all := []any{map[string]any{"type": "Ready", "status": "False", "message": message}}
			for _, c := range conditions {
				all = append(all, map[string]any{"type": c, "status": "True"})
			}
			o.Object["status"] = map[string]any{
				"observedGeneration": o.GetGeneration(), "phase": phase, "conditions": all, "nodes": map[string]any{"wanted": int64(3), "ready": int64(2)},
				"pivot": map[string]any{"id": "p1", "step": "Done"},
			}
		})
	}
}

// admin is the controller that keeps the kubeconfig.
func (w *world) admin() {
	s := planetest.Object("v1", "Secret", "rw-blue", AdminSecret)
	s.Object["data"] = map[string]any{AdminKey: base64.StdEncoding.EncodeToString([]byte(canary))}
	w.server.Put(s)
}

func set() plane.Ref {
	return plane.Ref{Group: AddonsGroup, Kind: "ClusterResourceSet", Namespace: "rw-blue", Name: Name}
}

func TestAnInstallationFollowsItsClusterToTheEnd(t *testing.T) {
	w := complete(t)
	w.steps = []func(){
		w.says("Pending", "the namespace is made"), func() {}, w.says("Provisioning", "machines are made"), w.admin,
		w.says("Provisioning", "machines are made", "Connected"), w.says("Ready", "in charge of itself", "Connected"),
	}
	got, err := w.run()
	require.NoError(t, err)
	require.Equal(t, []string{"Pending: the namespace is made", "Provisioning: machines are made", "Ready: in charge of itself"}, w.marks)
	require.Equal(t, []string{"", canary}, w.kept)
	require.Equal(t, Result{
		Cluster: "blue", Phase: "Ready", Message: "in charge of itself", Pivot: "p1", Step: "Done", Nodes: 3, NodesReady: 2, Timeline: got.Timeline,
	}, *got)
	require.Len(t, got.Timeline, 3)

	cluster := w.server.Object(blue)
	require.Equal(t, "2026-11-23T12:00:00Z", cluster.GetAnnotations()[Annotation])
	require.Equal(t, "v1.36.3", text(cluster, "spec", "kubernetesVersion"))
	crs := w.server.Object(set())
	require.Equal(t, map[string]any{
		"strategy": "ApplyOnce", "clusterSelector": map[string]any{"matchLabels": map[string]any{"cluster.x-k8s.io/cluster-name": "blue"}},
		"resources": []any{map[string]any{"kind": "Secret", "name": "ropewalk-install-0"}},
	}, crs.Object["spec"])
	part := w.server.Object(plane.Ref{Kind: "Secret", Namespace: "rw-blue", Name: "ropewalk-install-0"})
	require.Equal(t, "addons.cluster.x-k8s.io/resource-set", part.Object["type"])
	data, err := base64.StdEncoding.DecodeString(text(part, "data", "manifest.yaml"))
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(string(data), "---\n"))
	require.Equal(t, "blue", w.server.Object(plane.Ref{Kind: "Namespace", Name: "rw-blue"}).GetLabels()["pivot.ropewalk.dev/cluster"])

	// The cluster was reached: what the controller has deleted is not made again.
	w.server.Remove(set())
	w.marks, w.kept = nil, nil
	_, err = w.run()
	require.NoError(t, err)
	require.Nil(t, w.server.Object(set()))
	require.Equal(t, []string{"Ready: in charge of itself"}, w.marks)
	require.Equal(t, []string{canary}, w.kept)
}

func TestAllThatIsMissingIsReportedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.server.Denied = map[plane.Right]bool{{Verb: "create", Resource: "namespaces"}: true, {Verb: "get", Resource: "secrets", Namespace: "rw-blue"}: true}
	_, err := w.run()
	var findings inventory.Findings
	require.ErrorAs(t, err, &findings)
	require.Len(t, findings, 11)
	for _, want := range []string{
		"no kind Cluster.cluster.x-k8s.io: install Cluster API: clusterctl init --infrastructure docker", "no kind DevCluster.infrastructure.cluster.x-k8s.io",
		"no kind ClusterResourceSet.addons.cluster.x-k8s.io", "no kind PivotCluster.ropewalk.dev: install the controller, as in section Install of deploy/pivot/children.md", "no kind Kustomization.kustomize.toolkit.fluxcd.io: flux install",
		"may not create namespaces in all namespaces", "may not get secrets in namespace rw-blue",
	} {
		require.ErrorContains(t, err, want)
	}
	for _, r := range w.server.Requests() {
		require.False(t, r.Write(), "%v", r)
	}
	require.Empty(t, w.kept)
}

func TestTheEngineAndTheProviderSayWhatIsNeeded(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"provider": map[string]any{"type": "aws"}, "delivery": map[string]any{"type": "ArgoCD"}}}}
	var kinds []string
	for _, n := range needs(o) {
		kinds = append(kinds, n.kind)
	}
	require.Equal(t, []string{"Cluster", "KubeadmConfigTemplate", "KubeadmControlPlane", "AWSCluster", "ClusterResourceSet", "PivotCluster", "Transform", "Application"}, kinds)
}

func TestAManifestLacksTheEngineAndTheNetwork(t *testing.T) {
	const flux, argocd, daemons = "CustomResourceDefinition kustomizations.kustomize.toolkit.fluxcd.io", "CustomResourceDefinition applications.argoproj.io", "DaemonSet"
	for name, c := range map[string]struct {
		engine, backend string
		has, lacks      []string
	}{
		"neither":                       {"", "", nil, []string{"spec.gitOps.engine is Flux, and the manifest has no " + flux, "no network for pods (CNI)"}},
		"both":                          {"", "", []string{flux, daemons}, nil},
		"the other engine":              {"ArgoCD", "", []string{flux, daemons}, []string{"spec.gitOps.engine is ArgoCD, and the manifest has no " + argocd}},
		"Argo CD":                       {"ArgoCD", "", []string{argocd, daemons}, nil},
		"the operator of Calico":        {"Flux", "docker", []string{flux, "Installation"}, nil},
		"no network, where none counts": {"Flux", "inMemory", []string{flux}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Manifest: &Manifest{has: map[string]bool{}}, Cluster: &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
				"provider": map[string]any{"type": "docker", "docker": map[string]any{"backend": c.backend}}, "gitOps": map[string]any{"engine": c.engine},
			}}}}
			for _, kind := range c.has {
				o.Manifest.has[kind] = true
			}
			got := o.Lacks()
			require.Len(t, got, len(c.lacks))
			for i, want := range c.lacks {
				require.Contains(t, got[i].Problem, want)
				require.NotEmpty(t, got[i].Advice)
			}
		})
	}
}

func TestAnInstallationThatDoesNotEndSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		before func(w *world)
		change func(o *Options)
		want   string
	}{
		"a user has to change something": {func(w *world) {
			w.steps = []func(){w.says("Failed", "Secret cloud/key does not exist")}
		}, nil, "PivotCluster.ropewalk.dev blue: Secret cloud/key does not exist: change what it says, and run it again"},
		"no controller": {nil, nil, "no controller of the bootstrap cluster has looked at it within 1m0s: start ropewalk-controller there with --parts=transforms,pivot"},
		"too long": {func(w *world) { w.steps = []func(){w.says("Provisioning", "waiting for machines")} }, func(o *Options) { o.Timeout = 5 * time.Minute },
			"is not Ready within 5m0s: it is Provisioning: waiting for machines: run it again: the bootstrap cluster goes on by itself"},
		"a child": {func(w *world) { w.server.Put(planetest.Object("ropewalk.dev/v1alpha1", "PivotCluster", "", "blue")) }, nil,
			"is on the bootstrap cluster already, and is a child of it: it was not made by an installation: choose another name, or delete it"},
		"deletion before": {func(w *world) {
			o := planetest.Object("ropewalk.dev/v1alpha1", "PivotCluster", "", "blue")
			now := metav1.Now()
			o.SetDeletionTimestamp(&now)
			w.server.Put(o)
		}, nil, "is being deleted: wait until it is gone"},
		"deletion":             {func(w *world) { w.steps = []func(){func() { w.server.Remove(blue) }} }, nil, "was deleted on the bootstrap cluster"},
		"a file that is there": {nil, func(o *Options) { o.Keep = func([]byte) error { return errors.New("a file is there") } }, "a file is there"},
	} {
		t.Run(name, func(t *testing.T) {
			w := complete(t)
			if c.before != nil {
				c.before(w)
			}
			change := func(*Options) {}
			if c.change != nil {
				change = c.change
			}
			got, err := w.run(change)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, "blue", got.Cluster)
		})
	}
}

func TestAFailureOfBeforeIsNotTakenForOneOfNow(t *testing.T) {
	w := complete(t)
	w.steps = []func(){w.says("Failed", "a mistake")}
	_, err := w.run()
	require.ErrorContains(t, err, "a mistake")
	w.steps = []func(){func() {}, w.says("Provisioning", "machines are made"), w.admin, w.says("Ready", "in charge of itself")}
	_, err = w.run()
	require.NoError(t, err)
}

func TestManifestsAreChecked(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":         {"", "it has no CustomResourceDefinition pivotclusters.ropewalk.dev"},
		"no controller":   {minimal[:strings.Index(minimal, "apiVersion: apps/v1")], "it has no Deployment"},
		"no YAML":         {minimal + "---\n{", "document 4 cannot be read"},
		"no name":         {minimal + "---\nkind: A\n", "document 4: expected apiVersion, kind and metadata.name"},
		"a large object":  {minimal + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata: {a: " + strings.Repeat("x", most) + "}\n", `ConfigMap "big" has`},
		"a list as a map": {"- a", "document 1 cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestALargeManifestIsInSeveralSecretsAndInNoPreview(t *testing.T) {
	text := minimal
	for _, name := range []string{"a", "b", "c"} {
		text += "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {a: " + canary + strings.Repeat("x", most/2) + "}\n"
	}
	m, err := Parse([]byte(text))
	require.NoError(t, err)
	require.Equal(t, 6, m.Objects)
	o := Options{Cluster: planetest.Object("ropewalk.dev/v1alpha1", "PivotCluster", "", "blue"), Manifest: m}
	objects := o.Objects(time.Now(), true)
	require.Len(t, objects, 6)
	var kinds []string
	for _, one := range objects {
		kinds = append(kinds, one.GetKind()+" "+one.GetName())
		data, err := yaml.Marshal(one)
		require.NoError(t, err)
		require.Less(t, len(data), 1<<20)
	}
	require.Equal(t, []string{
		"Namespace rw-blue", "Secret ropewalk-install-0", "Secret ropewalk-install-1", "Secret ropewalk-install-2", "ClusterResourceSet ropewalk-install", "PivotCluster blue",
	}, kinds)
	printed, err := yaml.Marshal(o.Objects(time.Now(), false))
	require.NoError(t, err)
	require.NotContains(t, string(printed), base64.StdEncoding.EncodeToString([]byte(canary))[:8])
	require.Nil(t, o.Cluster.GetAnnotations(), "the document is left as it was")
}
