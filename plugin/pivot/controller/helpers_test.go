// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/artifact"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/plugin/pivot/agent"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/readings"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
	"github.com/ropewalk/ropewalk/test/servers"
)

// world is a parent and a child in one process, which speak over TLS on the loopback. Each has
// an API server in memory, twice: the fake client of controller-runtime for what the
// controllers read and write, and planetest for what moves.
type world struct {
	*testing.T
	parent, child        client.Client
	from, to             *planetest.Server
	controller, itself   *Reconciler
	events               *record.FakeRecorder
	registration, linkTo string
	registry             string
	// ahead is how far the clock of the parent is before that of the machine.
	ahead atomic.Int64
	// leaves ends the agent that was started last.
	leaves func()
	shown  readings.Readings // the metrics of the parent
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

func (w *world) pass(d time.Duration) { w.ahead.Add(int64(d)) }

const name = "blue"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		T: t, from: planetest.New("parent", kinds()...), to: planetest.New("child", kinds()...),
		events: record.NewFakeRecorder(100), registration: free(t), linkTo: free(t), registry: servers.InProcess(t).Host,
	}
	w.from.Before = func(r planetest.Request) error {
		policy := plane.Ref{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding", Name: "ropewalk-pivot-" + name}
		if r.Verb == "create" && r.DryRun && r.Ref.Kind == "ConfigMap" && w.from.Object(policy) != nil {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, r.Ref.Name, errors.New("ValidatingAdmissionPolicy 'ropewalk-pivot-"+name+"' denied request"))
		}
		return nil
	}
	w.parent, w.child = cluster(t, "parent-uid"), cluster(t, "child-uid")
	w.shown = readings.New(w.parent, w.now)
	for server, uid := range map[*planetest.Server]string{w.from: "parent-uid", w.to: "child-uid"} {
		system := planetest.Object("v1", "Namespace", "", "kube-system")
		system.SetUID(types.UID(uid))
		server.Put(system)
	}
	host, port, err := net.SplitHostPort(w.registration)
	require.NoError(t, err)
	_, linkPort, err := net.SplitHostPort(w.linkTo)
	require.NoError(t, err)
	endpoints := &Endpoints{
		Given:        &v1alpha1.Cell{Host: host, Port: number(t, port), LinkPort: number(t, linkPort)},
		Registration: w.registration, Link: w.linkTo, Namespace: "ropewalk-system",
	}
	w.controller = w.reconciler(w.parent, w.from, "parent-uid", endpoints)
	w.itself = w.reconciler(w.child, w.to, "child-uid", nil)
	require.NoError(t, w.parent.Create(t.Context(), w.cluster()))
	return w
}

// kinds are those of a management cluster with Flux.
func kinds() []plane.Kind {
	const flux, admission = ".toolkit.fluxcd.io", "admissionregistration.k8s.io"
	return append(planetest.ClusterAPI(),
		plane.Kind{Group: v1alpha1.Group, Kind: "Transform", Resource: "transforms", Version: "v1alpha1", Served: []string{"v1alpha1"}, Namespaced: true},
		plane.Kind{Group: "kustomize" + flux, Kind: "Kustomization", Resource: "kustomizations", Version: "v1", Served: []string{"v1"}, Namespaced: true},
		plane.Kind{Group: "source" + flux, Kind: "OCIRepository", Resource: "ocirepositories", Version: "v1", Served: []string{"v1"}, Namespaced: true},
		plane.Kind{Group: admission, Kind: "ValidatingAdmissionPolicy", Resource: "validatingadmissionpolicies", Version: "v1", Served: []string{"v1"}},
		plane.Kind{Group: admission, Kind: "ValidatingAdmissionPolicyBinding", Resource: "validatingadmissionpolicybindings", Version: "v1", Served: []string{"v1"}},
	)
}

// reconciler is one without a manager.
func (w *world) reconciler(c client.Client, server *planetest.Server, uid string, endpoints *Endpoints) *Reconciler {
	r := &Reconciler{
		Events: w.events, Endpoints: endpoints, Account: types.NamespacedName{Namespace: "ropewalk-system", Name: "ropewalk-controller"},
		ChildManifest: func() ([]byte, error) {
			return []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: ropewalk-system}\n"), nil
		},
		Delivery: Delivery{Open: func(ctx context.Context, at *v1alpha1.Transform) (artifact.Store, error) {
			return (&remote.Registries{PlainHTTP: func(string) bool { return true }, Attempts: 1}).Repository(ctx, strings.TrimPrefix(at.Spec.Output.OCI.Repository, "oci://"), nil)
		}},
		Now: w.now, client: c, plane: server.Plane(), uid: uid,
	}
	r.pivots = newPivots(w.Context(), func(string) {}, w.shown.CountFailure)
	if endpoints != nil {
		r.children = newChildren(&store{cache: c, direct: c}, uid, func(string) {}, w.now)
		endpoints.serving = r.serving(logr.Discard())
	}
	return r
}

// cluster is an API server with a kube-system of a UID.
func cluster(t *testing.T, uid string) client.Client {
	t.Helper()
	return server(t, uid, planetest.Core)
}

// without is one without Cluster API.
func without(t *testing.T) client.Client {
	t.Helper()
	return server(t, "parent-uid", "other.test")
}

func server(t *testing.T, uid, clusterAPI string) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: clusterAPI, Version: "v1beta2"}, {Group: planetest.Addons, Version: "v1beta2"}})
	for gvk := range scheme.AllKnownTypes() {
		mapper.Add(gvk, scope(gvk.Kind))
	}
	for _, gvk := range []schema.GroupVersionKind{
		{Group: clusterAPI, Version: "v1beta2", Kind: "Cluster"},
		{Group: planetest.Addons, Version: "v1beta2", Kind: "ClusterResourceSet"},
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"},
		{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"},
	} {
		mapper.Add(gvk, apimeta.RESTScopeNamespace)
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithStatusSubresource(&v1alpha1.PivotCluster{}).
		WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: types.UID(uid)}})
	for field, values := range indexes() {
		b = b.WithIndex(&v1alpha1.PivotCluster{}, field, values)
	}
	return b.Build()
}

func scope(kind string) apimeta.RESTScope {
	switch kind {
	case "Namespace", "PivotCluster", "Node":
		return apimeta.RESTScopeRoot
	}
	return apimeta.RESTScopeNamespace
}

// cluster is the PivotCluster.
func (w *world) cluster() *v1alpha1.PivotCluster {
	workers := int32(1)
	return &v1alpha1.PivotCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "pc-1"},
		Spec: v1alpha1.PivotClusterSpec{
			Provider:          v1alpha1.Provider{Type: "docker", Docker: &v1alpha1.DockerProvider{Backend: "inMemory"}},
			KubernetesVersion: "v1.36.3", ControlPlane: v1alpha1.ControlPlane{Replicas: 1},
			Workers: []v1alpha1.WorkerPool{{Name: "md", Replicas: &workers}},
			GitOps:  v1alpha1.GitOps{Engine: v1alpha1.EngineFlux, Artifact: &v1alpha1.GitOpsArtifact{Repository: "oci://registry.test/child", Digest: digest}},
			Output:  v1alpha1.Output{OCI: &v1alpha1.OCIOutput{Repository: "oci://" + w.registry + "/clusters"}},
		},
	}
}

const digest = "sha256:0000000000000000000000000000000000000000000000000000000000000001"

// reconcile looks at the PivotCluster of a side until a condition holds.
func (w *world) until(r *Reconciler, what string, holds func(*v1alpha1.PivotCluster) bool) *v1alpha1.PivotCluster {
	w.Helper()
	c := &v1alpha1.PivotCluster{}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := r.Reconcile(w.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
		// The controller tries again after both; an agent may leave in the middle.
		require.True(w, err == nil || apierrors.IsConflict(err) || errors.Is(err, link.ErrAway), "%v", err)
		if err := r.client.Get(w.Context(), types.NamespacedName{Name: name}, c); err == nil && holds(c) {
			return c
		}
		require.True(w, time.Now().Before(deadline), "not in time: %s: %s", what, yamlOf(w.T, c.Status))
	}
}

func yamlOf(t *testing.T, v any) string {
	t.Helper()
	out, err := yaml.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

func phase(p v1alpha1.PivotClusterPhase) func(*v1alpha1.PivotCluster) bool {
	return func(c *v1alpha1.PivotCluster) bool { return c.Status.Phase == p }
}

// serve starts the endpoints of the parent.
func (w *world) serve() {
	w.Helper()
	ctx, stop := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.controller.Endpoints.Start(ctx) }()
	w.Cleanup(func() {
		stop()
		require.NoError(w, <-ended)
	})
	require.Eventually(w, func() bool { return w.controller.Endpoints.current.Load() != nil }, 5*time.Second, 10*time.Millisecond)
}

// provision puts the cluster on the parent, as Cluster API would have made it.
func (w *world) provision() {
	w.Helper()
	objects := planetest.Cluster(v1alpha1.ClusterNamespacePrefix+name, name, 1)
	for _, o := range objects {
		if o.GetKind() == "Machine" {
			o.Object["status"].(map[string]any)["nodeRef"] = map[string]any{"name": o.GetName()}
		}
	}
	w.from.Put(objects...)
	require.NoError(w, w.parent.Create(w.Context(), available(1)))
}

// available is the Cluster as it is seen by a controller.
func available(ready int64) *unstructured.Unstructured {
	o := planetest.Object(planetest.Core+"/v1beta2", "Cluster", v1alpha1.ClusterNamespacePrefix+name, name)
	o.SetUID("")
	o.SetResourceVersion("")
	o.Object["status"] = map[string]any{
		"initialization": map[string]any{"controlPlaneInitialized": true},
		"conditions":     []any{map[string]any{"type": "Available", "status": "True", "message": ""}},
		"controlPlane":   map[string]any{"readyReplicas": int64(1)}, "workers": map[string]any{"readyReplicas": ready},
	}
	return o
}

// enrols makes the agent as the script of a machine does, and starts it.
func (w *world) enrols() *agent.Agent {
	w.Helper()
	var machine corev1.Secret
	require.NoError(w, w.parent.Get(w.Context(), types.NamespacedName{Namespace: "rw-" + name, Name: EnrolSecret(name)}, &machine))
	c, err := w.controller.children.store.ByToken(w.Context(), enrol.TokenHash(string(machine.Data["token"])))
	require.NoError(w, err)
	manifest, err := w.controller.parts().manifests.machine(w.Context(), c, string(machine.Data["token"]))
	require.NoError(w, err)
	documents := strings.Split(string(manifest), "\n---\n")
	var secret corev1.Secret
	require.NoError(w, yaml.UnmarshalStrict([]byte(documents[len(documents)-1]), &secret))
	require.NoError(w, w.child.Create(w.Context(), &secret))
	return w.agent()
}

func (w *world) agent() *agent.Agent {
	w.Helper()
	discovery := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}, FakedServerVersion: &version.Info{GitVersion: "v1.36.3"}}
	a := &agent.Agent{
		Namespace: "ropewalk-system", Account: types.NamespacedName{Namespace: "ropewalk-system", Name: "ropewalk-controller"},
		Version: "v0.1.0", Client: w.child, Discovery: discovery, Plane: w.to.Plane(), Log: logr.Discard(), Often: 20 * time.Millisecond,
	}
	require.NoError(w, a.Setup())
	ctx, stop := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Start(ctx) }()
	w.leaves = sync.OnceFunc(func() {
		stop()
		require.NoError(w, <-ended)
	})
	w.Cleanup(w.leaves)
	return a
}

// begins: the GitOps of the child has applied what it begins with.
func (w *world) begins() {
	w.Helper()
	k := &unstructured.Unstructured{}
	k.SetGroupVersionKind(schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"})
	require.Eventually(w, func() bool {
		return w.child.Get(w.Context(), types.NamespacedName{Namespace: "flux-system", Name: "ropewalk-bootstrap"}, k) == nil
	}, 10*time.Second, 10*time.Millisecond)
	k.Object["status"] = map[string]any{
		"observedGeneration": k.GetGeneration(), "lastAppliedRevision": "latest@" + digest,
		"conditions": []any{map[string]any{"type": "Ready", "status": "True", "message": "applied"}},
	}
	require.NoError(w, w.child.Update(w.Context(), k))
}

// observe lets the controllers of both planes look at what they have, all the time.
func (w *world) observe() {
	ctx, from, to := w.Context(), w.from, w.to
	go func() {
		for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
			from.Observe()
			to.Observe()
		}
	}()
}

func free(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func number(t *testing.T, text string) int32 {
	t.Helper()
	n, err := net.LookupPort("tcp", text)
	require.NoError(t, err)
	return int32(n) //nolint:gosec // a port
}

// placed makes the endpoints known, and serves none.
func (w *world) placed() {
	w.Helper()
	at, err := w.controller.Endpoints.prepare(w.Context())
	require.NoError(w, err)
	w.controller.Endpoints.current.Store(at)
}

// reconcile looks at the PivotCluster of the parent once.
func (w *world) reconcile() (*v1alpha1.PivotCluster, error) {
	w.Helper()
	_, err := w.controller.Reconcile(w.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
	c := &v1alpha1.PivotCluster{}
	require.NoError(w, client.IgnoreNotFound(w.parent.Get(w.Context(), types.NamespacedName{Name: name}, c)))
	return c, err
}

// settle looks at it until nothing changes at once.
func (w *world) settle() *v1alpha1.PivotCluster {
	w.Helper()
	for range 10 {
		out, err := w.controller.Reconcile(w.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
		require.NoError(w, err)
		if out.RequeueAfter > time.Second || out.RequeueAfter == 0 {
			return w.read()
		}
	}
	require.Fail(w, "it is never at rest")
	return nil
}

func (w *world) read() *v1alpha1.PivotCluster {
	w.Helper()
	c := &v1alpha1.PivotCluster{}
	require.NoError(w, w.parent.Get(w.Context(), types.NamespacedName{Name: name}, c))
	return c
}

// edit changes the PivotCluster of the parent as a user does.
func (w *world) edit(change func(*v1alpha1.PivotCluster)) {
	w.Helper()
	require.NoError(w, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		c := w.read()
		change(c)
		return w.parent.Update(w.Context(), c)
	}))
}

func (w *world) there(o client.Object, namespace, name string) bool {
	w.Helper()
	err := w.parent.Get(w.Context(), types.NamespacedName{Namespace: namespace, Name: name}, o)
	require.NoError(w, client.IgnoreNotFound(err))
	return err == nil
}

// bare fails where anything was provisioned. The namespace, and the account by which the registry
// is asked, may be there.
func (w *world) bare() {
	w.Helper()
	require.False(w, w.there(&v1alpha1.Transform{}, "rw-"+name, name))
	require.False(w, w.there(&corev1.Secret{}, "rw-"+name, EnrolSecret(name)))
}

// ready is the message of the condition Ready.
func ready(c *v1alpha1.PivotCluster) string {
	if r := apimeta.FindStatusCondition(c.Status.Conditions, "Ready"); r != nil {
		return r.Message
	}
	return ""
}

// connects brings the cluster to where its agent is on the link.
func (w *world) connects() {
	w.Helper()
	w.serve()
	w.until(w.controller, "a Transform", func(*v1alpha1.PivotCluster) bool { return w.there(&v1alpha1.Transform{}, "rw-"+name, name) })
	w.provision()
	w.enrols()
	w.until(w.controller, "connected", func(c *v1alpha1.PivotCluster) bool {
		return apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConnectedCondition)
	})
}

// bootstraps brings it to where the pivot begins.
func (w *world) bootstraps() {
	w.Helper()
	w.connects()
	w.until(w.controller, "the bootstrap is sent", func(*v1alpha1.PivotCluster) bool {
		return w.child.Get(w.Context(), types.NamespacedName{Name: name}, &v1alpha1.PivotCluster{}) == nil
	})
	w.begins()
}

func pivoted(c *v1alpha1.PivotCluster) bool {
	return apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.PivotedCondition)
}

// step is that of the receipt of the parent.
func (w *world) step() state.Step {
	w.Helper()
	r, err := state.Read(w.Context(), w.from.Plane(), types.NamespacedName{Namespace: "rw-" + name, Name: name})
	require.NoError(w, err)
	if r == nil {
		return ""
	}
	return r.Step
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}
