// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

const digest = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"

// world is a Transform with two layers, of which the status names the second one first.
const world = `
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: shop, namespace: apps, generation: 2}
spec: {sourceRef: {kind: GitRepository, name: code, namespace: flux-system}}
status:
  observedGeneration: 2
  progress: 2/2
  conditions: [{type: Ready, status: "True", reason: ReconciliationSucceeded, message: applied, observedGeneration: 2, lastTransitionTime: "2026-01-01T00:00:00Z"}]
  artifact: {digest: "` + digest + `", revision: "main@sha1:0123456789012345678901234567890123456789", time: "2026-01-01T00:00:00Z"}
  history: [{digest: "` + digest + `"}, {digest: "sha256:00"}, {digest: "sha256:01"}]
  references: [{name: source, reference: GitRepository/flux-system/code}, {name: shop, reference: "oci://modules/shop:v1", revision: v1}]
  layers: [{name: shop-b}, {name: shop-a}]
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: code, namespace: flux-system, generation: 1}
spec: {suspend: true}
status: {artifact: {revision: "main@sha1:0123456789012345678901234567890123456789", digest: "sha256:11"}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop-a, namespace: apps, generation: 1, labels: {ropewalk.dev/transform: shop, ropewalk.dev/transform-namespace: apps}}
spec: {sourceRef: {kind: OCIRepository, name: shop-a}}
status:
  observedGeneration: 1
  conditions: [{type: Ready, status: "False", reason: HealthCheckFailed, message: "api: no pods", observedGeneration: 1, lastTransitionTime: "2026-01-01T00:00:00Z"}]
  inventory: {entries: [{id: apps_api_apps_Deployment, v: v1}, {id: _system__api_rbac.authorization.k8s.io_ClusterRole, v: v1}, {id: broken, v: v1}]}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop-b, namespace: apps, labels: {ropewalk.dev/transform: shop, ropewalk.dev/transform-namespace: apps}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: others, namespace: apps}
`

// objects is what the metadata of objects is read of.
const objects = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: apps, labels: {kustomize.toolkit.fluxcd.io/name: shop-a, kustomize.toolkit.fluxcd.io/namespace: apps}}
---
apiVersion: v1
kind: Pod
metadata: {name: api-1, namespace: apps, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: api, uid: u, controller: true}]}
---
apiVersion: v1
kind: Pod
metadata: {name: alone, namespace: apps}
---
apiVersion: v1
kind: Pod
metadata: {name: tracked, namespace: apps, annotations: {argocd.argoproj.io/tracking-id: "web:/Pod:apps/tracked"}}
---
apiVersion: v1
kind: Pod
metadata: {name: other, namespace: apps, labels: {kustomize.toolkit.fluxcd.io/name: others, kustomize.toolkit.fluxcd.io/namespace: apps}}
---
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: shop, namespace: apps}
`

// served is what a server says that it serves.
const served = `{"items":[
  {"metadata":{"name":""},"versions":[{"version":"v1","resources":[{"resource":"pods","responseKind":{"kind":"Pod"},"scope":"Namespaced","singularResource":"pod","shortNames":["po"]}]}]},
  {"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[{"resource":"deployments","responseKind":{"kind":"Deployment"},"scope":"Namespaced","singularResource":"deployment","shortNames":["deploy"]}]}]},
  {"metadata":{"name":"ropewalk.dev"},"versions":[{"version":"v1alpha1","resources":[{"resource":"transforms","responseKind":{"kind":"Transform"},"scope":"Namespaced","singularResource":"transform"}]}]}]}`

func parse(t *testing.T, text string) (out []runtime.Object) {
	t.Helper()
	for _, document := range strings.Split(text, "\n---\n") {
		o := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(document), &o.Object))
		out = append(out, o)
	}
	return out
}

// newCluster is one with objects, and the fake client that it has.
func newCluster(t *testing.T, text string) (*Cluster, *fake.FakeDynamicClient) {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{}
	for _, k := range []string{"Transform", "Kustomization", "GitRepository", "OCIRepository", "Bucket", "ExternalArtifact"} {
		gvr, ok := resourceOf(k)
		require.True(t, ok)
		kinds[gvr] = k + "List"
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, parse(t, text)...)
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	var metadata []runtime.Object
	for _, o := range parse(t, objects) {
		m := &metav1.PartialObjectMetadata{}
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.(*unstructured.Unstructured).Object, m))
		metadata = append(metadata, m)
	}
	return &Cluster{
		Namespace: "apps", client: client, metadata: metadatafake.NewSimpleMetadataClient(scheme, metadata...),
		discover: func(_ context.Context, path string) ([]byte, error) {
			if path == "/api" {
				return []byte(`{"items":[]}`), nil
			}
			return []byte(served), nil
		},
	}, client
}

func advice(t *testing.T, err error) string {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	return e.Advice
}

func TestATransformIsReadAsTheControllerWritesIt(t *testing.T) {
	require.Equal(t, v1alpha1.LabelTransform, labelTransform)
	require.Equal(t, v1alpha1.LabelNamespace, labelNamespace)
	gvr, _ := resourceOf(v1alpha1.TransformKind)
	require.Equal(t, v1alpha1.GroupVersion.WithResource("transforms"), gvr)

	var typed v1alpha1.Transform
	require.NoError(t, yaml.UnmarshalStrict([]byte(strings.Split(world, "\n---\n")[0]), &typed), "all fields are those of the API")
	c, _ := newCluster(t, world)
	got, err := c.Get(t.Context(), "apps", "shop")
	require.NoError(t, err)
	require.Equal(t, "True", got.Ready)
	require.Equal(t, "2/2", got.Layers)
	require.Equal(t, &Ref{Group: "source.toolkit.fluxcd.io", Kind: "GitRepository", Namespace: "flux-system", Name: "code"}, got.Source)
	require.Equal(t, typed.Status.Artifact.Time.UTC(), got.Artifact.Time)
	require.Equal(t, "main@sha1:012345678901 (sha256:2c26b46b68ff)", got.Delivered())
	require.Len(t, got.History, 3)

	list, err := c.List(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []*Transform{got}, list)
}

func TestWhatDoesNotExistNamesWhatMayBeMeant(t *testing.T) {
	c, client := newCluster(t, world)
	_, err := c.Get(t.Context(), "apps", "sop")
	require.ErrorContains(t, err, "Transform apps/sop does not exist")
	require.Equal(t, `did you mean "shop"?`, advice(t, err))
	_, err = c.Suspend(t.Context(), "apps", "something")
	require.Equal(t, `namespace "apps" has shop`, advice(t, err))
	_, err = c.Tree(t.Context(), "other", "shop")
	require.Equal(t, "there is one of that name in namespace apps: give -n", advice(t, err))
	_, err = c.Wait(t.Context(), "other", "none", Patience{Timeout: time.Minute})
	require.Contains(t, advice(t, err), `namespace "other" has no Transforms`)

	// A user who may not list them all, and a cluster without the controller.
	gvr, _ := resourceOf("Transform")
	client.PrependReactor("list", "transforms", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return a.GetNamespace() == "", nil, apierrors.NewForbidden(gvr.GroupResource(), "", errors.New("no"))
	})
	_, err = c.Get(t.Context(), "apps", "sop")
	require.Equal(t, `did you mean "shop"?`, advice(t, err))
	_, err = c.List(t.Context(), "")
	require.True(t, apierrors.IsForbidden(err))
	client.PrependReactor("*", "transforms", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(gvr.GroupResource(), "")
	})
	_, err = c.Get(t.Context(), "apps", "sop")
	require.ErrorContains(t, err, "ropewalk-controller is not installed")
	_, err = c.List(t.Context(), "apps")
	require.Contains(t, advice(t, err), "ropewalk install flux --export | kubectl apply --server-side -f -")
}

func TestATreeHasLayersInTheirOrder(t *testing.T) {
	c, _ := newCluster(t, world)
	root, err := c.Tree(t.Context(), "apps", "shop")
	require.NoError(t, err)
	var got []string
	for _, n := range root.Nodes {
		got = append(got, n.String()+" "+n.Ready)
	}
	require.Equal(t, []string{"GitRepository flux-system/code Unknown", "Reference oci://modules/shop:v1 ", "Kustomization apps/shop-b Unknown", "Kustomization apps/shop-a False"}, got)
	require.True(t, root.Nodes[0].Suspended)
	last := root.Nodes[3]
	require.Equal(t, "api: no pods", last.Message)
	require.Equal(t, []*Node{
		{Ref: Ref{Group: "source.toolkit.fluxcd.io", Kind: "OCIRepository", Namespace: "apps", Name: "shop-a"}, Ready: "Missing", Message: "OCIRepository apps/shop-a does not exist"},
		{Ref: Ref{Group: "apps", Kind: "Deployment", Namespace: "apps", Name: "api"}},
		{Ref: Ref{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:api"}},
	}, last.Nodes)
}

func TestATraceLeadsBackOrSaysWhereItEnds(t *testing.T) {
	c, _ := newCluster(t, world)
	transform := []string{"Transform apps/shop", "GitRepository flux-system/code", "Reference oci://modules/shop:v1"}
	for name, want := range map[string]struct {
		kind  string
		chain []string
		end   string
	}{
		"api-1":   {"po", append([]string{"Pod apps/api-1", "Deployment apps/api", "Kustomization apps/shop-a", "OCIRepository apps/shop-a"}, transform...), ""},
		"api":     {"Deployment.apps", append([]string{"Deployment apps/api", "Kustomization apps/shop-a", "OCIRepository apps/shop-a"}, transform...), ""},
		"shop":    {"transforms", transform, ""},
		"alone":   {"pods", []string{"Pod apps/alone"}, "Pod apps/alone has no label of Flux, no annotation of Argo CD and no owner: neither of them applied it"},
		"tracked": {"pod", []string{"Pod apps/tracked"}, "Pod apps/tracked is applied by Argo CD, Application web: look there"},
		"other":   {"Pod", []string{"Pod apps/other", "Kustomization apps/others"}, "Kustomization apps/others was not made for a Transform"},
	} {
		trace, err := c.Trace(t.Context(), "apps", want.kind, name)
		require.NoError(t, err, name)
		var chain []string
		for _, n := range trace.Chain {
			chain = append(chain, n.String())
		}
		require.Equal(t, want.chain, chain, name)
		require.Equal(t, want.end, trace.End, name)
	}
	_, err := c.Trace(t.Context(), "apps", "pod", "none")
	require.ErrorContains(t, err, "Pod apps/none does not exist")
	_, err = c.Trace(t.Context(), "apps", "deploymnt", "api")
	require.Equal(t, `did you mean "deployment"?`, advice(t, err))
	_, err = c.Trace(t.Context(), "apps", "transform", "sho")
	require.Equal(t, `did you mean "shop"?`, advice(t, err))
}

func TestARollbackGoesToOneArtifactOfTheHistory(t *testing.T) {
	c, _ := newCluster(t, world)
	now, err := c.Get(t.Context(), "apps", "shop")
	require.NoError(t, err)
	for given, want := range map[string]string{"": "sha256:00", "sha256:01": "sha256:01", "2c26": digest} {
		to, err := now.earlier(given)
		require.NoError(t, err)
		require.Equal(t, want, to)
	}
	for _, given := range []string{"sha256:", "none"} {
		_, err := now.earlier(given)
		require.Equal(t, "its history is, the newest first: sha256:2c26b46b68ff, sha256:00, sha256:01", advice(t, err))
	}
	_, err = (&Transform{Namespace: "apps", Name: "new"}).earlier("")
	require.ErrorContains(t, err, "Transform apps/new has delivered nothing before nothing")
}

func TestReadyIsThatOfThePresentSpec(t *testing.T) {
	for name, c := range map[string]struct {
		change func(o *item)
		final  bool
		done   bool
		waits  string
		err    string
	}{
		"Ready":                            {change: func(*item) {}, done: true},
		"changed since":                    {change: func(o *item) { o.Metadata.Generation++ }, waits: "its last change is not reconciled yet"},
		"its status is older":              {change: func(o *item) { o.Status.ObservedGeneration-- }, waits: "its last change is not reconciled yet"},
		"new":                              {change: func(o *item) { o.Status.Conditions = nil }, waits: "it is not reconciled yet"},
		"suspended and Ready":              {change: func(o *item) { o.Spec.Suspend = true }, done: true},
		"suspended":                        {change: func(o *item) { o.Spec.Suspend, o.Metadata.Generation = true, 3 }, err: "is suspended"},
		"tried again":                      {change: func(o *item) { o.Status.Conditions[0].Status = "False" }, waits: "applied"},
		"tried again after the request":    {change: func(o *item) { o.Status.Conditions[0].Status = "False" }, final: true, err: "is not Ready"},
		"Stalled":                          {change: stall, err: "is not Ready: ReconciliationSucceeded: applied"},
		"Stalled before the change":        {change: func(o *item) { stall(o); o.Metadata.Generation++ }, waits: "its last change is not reconciled yet"},
		"under way after a request for it": {change: func(o *item) { o.Status.Conditions[0].Status = "Unknown" }, final: true, waits: "applied"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := itemOf(parse(t, world)[0].(*unstructured.Unstructured))
			require.NoError(t, err)
			c.change(o)
			done, waits, err := isReady(c.final)(o)
			require.Equal(t, c.done, done)
			require.Equal(t, c.waits, waits)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
		})
	}
}

func stall(o *item) {
	o.Status.Conditions[0].Status = "False"
	o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{Type: "Stalled", Status: "True", ObservedGeneration: 2})
}

func TestAWaitThatIsOverSaysWhatItWasFor(t *testing.T) {
	c, _ := newCluster(t, world)
	var said []string
	_, err := c.Wait(t.Context(), "apps", "shop", Patience{Timeout: 100 * time.Millisecond, Report: func(what string) { said = append(said, what) }})
	require.EqualError(t, err, "not Ready in 100ms: Kustomization apps/shop-b: it is not reconciled yet")
	require.Equal(t, []string{"Kustomization apps/shop-b: it is not reconciled yet"}, said)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	_, err = c.Wait(stopped, "apps", "shop", Patience{Timeout: time.Minute})
	require.ErrorIs(t, err, context.Canceled)
}

func TestARequestIsRefusedWhereItWouldWaitForever(t *testing.T) {
	c, _ := newCluster(t, world)
	p := Patience{Timeout: time.Minute}
	_, err := c.Reconcile(t.Context(), "apps", "shop", true, p)
	require.EqualError(t, err, "GitRepository flux-system/code is suspended")
	require.Equal(t, "resume it with flux", advice(t, err))
	got, err := c.Suspend(t.Context(), "apps", "shop")
	require.NoError(t, err)
	require.True(t, got.Suspended)
	_, err = c.Reconcile(t.Context(), "apps", "shop", false, p)
	require.EqualError(t, err, "Transform apps/shop is suspended")
	require.Equal(t, "resume it: ropewalk resume transform shop -n apps", advice(t, err))
}

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte(`
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a, namespace: apps}}, {name: b, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: a, user: {token: hunter2}}]
`), 0o600))
	c, err := Open(file, "")
	require.NoError(t, err)
	require.Equal(t, "apps", c.Namespace)
	c, err = Open(file, "b")
	require.NoError(t, err)
	require.Equal(t, "default", c.Namespace)
	_, err = Open(file, "c")
	require.ErrorContains(t, err, `context "c" does not exist`)
	_, err = c.kindOf(t.Context(), "pod")
	require.ErrorContains(t, err, "connection refused")
}

func TestWhatIsNeededIsLookedUp(t *testing.T) {
	c, _ := newCluster(t, world)
	c.metadata.(*metadatafake.FakeMetadataClient).PrependReactor("get", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		name := a.(clienttesting.GetAction).GetName()
		return name == "hidden", nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, name, errors.New("no"))
	})
	pod := func(name string) Wanted { return Wanted{Ref: Ref{Kind: "Pod", Namespace: "apps", Name: name}} }
	kind := func(kind, version string) Wanted {
		return Wanted{Ref: Ref{Group: "ropewalk.dev", Kind: kind}, Version: version}
	}
	got, err := c.Find(t.Context(), []Wanted{
		pod("alone"), pod("none"), pod("hidden"), kind("Transform", "v1alpha1"), kind("Transform", "v2"), kind("PivotCluster", ""),
		{Ref: Ref{Group: "apps", Kind: "Pod", Namespace: "apps", Name: "alone"}},
		{Ref: Ref{Kind: "Pod", Name: "alone"}}, // in any namespace
	})
	require.NoError(t, err)
	require.Equal(t, []Presence{There, Missing, NoAccess, There, NotServed, NotServed, NotServed, There}, got)
}
