// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// specs are those of what delivers by Flux.
func (p *parent) specs() map[string]any {
	p.t.Helper()
	out := map[string]any{"Transform": p.object("ropewalk.dev/v1alpha1", "Transform", p.namespace, p.name).Object["spec"]}
	for _, k := range p.kustomizations(p.name) {
		out[k.Name] = p.object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", p.namespace, k.Name).Object["spec"]
	}
	return out
}

// drift changes an object as a user does.
func (p *parent) drift(name string) {
	p.t.Helper()
	p.Kubectl(p.t, "-n", p.namespace, "patch", "configmap", name, "--type", "merge", "-p", `{"data": {"text": "drift"}}`)
}

// TestFreezeHoldsWhateverAsksForMore: a new revision, drift, requests of users, and restarts
// of both controllers.
func TestFreezeHoldsWhateverAsksForMore(t *testing.T) {
	p := newParent(newTenant(t, "--enable-leader-election=false"))
	p.deliver(`{text: one}`)
	p.ready(p.name)
	first := p.kustomizations(p.name)[0]
	p.deliver(`{text: two}`)
	p.Await(t, soon, "two is applied", func() bool { return p.all("two") })
	p.ready(p.name)
	before := p.specs()
	p.freeze()

	p.drift("map-0")
	frozen := p.versions()
	p.deliver(`{text: three}`)
	p.Kubectl(t, "-n", p.namespace, "annotate", "--overwrite", "transform,kustomization", "--all", "reconcile.fluxcd.io/requestedAt=now")
	// The source leads to an earlier artifact, which Flux fetches.
	digest := first.Status.LastAppliedRevision[strings.Index(first.Status.LastAppliedRevision, "sha256:"):]
	p.Kubectl(t, "-n", p.namespace, "patch", "ocirepository", first.Name, "--type", "merge", "-p", fmt.Sprintf(`{"spec": {"ref": {"digest": %q}}}`, digest))
	p.Await(t, soon, "the source has a new revision", func() bool {
		o := p.object("source.toolkit.fluxcd.io/v1", "OCIRepository", p.namespace, first.Name)
		revision, _, _ := unstructured.NestedString(o.Object, "status", "artifact", "revision")
		return strings.HasSuffix(revision, digest)
	})
	p.answered("now")
	p.KustomizeController.Kill()
	p.KustomizeController.Restart(t)
	p.awaitFlux(t, p.KustomizeController)
	p.controller.Kill()
	p.controller.Restart(t)
	p.Kubectl(t, "-n", p.namespace, "annotate", "--overwrite", "transform,kustomization", "--all", "reconcile.fluxcd.io/requestedAt=again")
	p.answered("again")
	time.Sleep(5 * time.Second)
	require.Equal(t, frozen, p.versions(), "nothing is written")

	p.thaw()
	p.Await(t, soon, "three is applied, and the drift is undone", func() bool { return p.all("three") })
	p.ready(p.name)
	require.Equal(t, before["Transform"].(map[string]any)["suspend"], p.specs()["Transform"].(map[string]any)["suspend"])
	require.Equal(t, before[first.Name], p.specs()[first.Name])
	allowed(t, p.controller)
}

// answered waits until both controllers have handled a request.
func (p *parent) answered(request string) {
	p.t.Helper()
	p.Await(p.t, soon, "both controllers have handled "+request, func() bool {
		for _, k := range p.kustomizations(p.name) {
			if k.Status.LastHandledReconcileAt != request {
				return false
			}
		}
		return p.get(p.name).GetLastHandledReconcileRequest() == request
	})
}

// TestAUserWhoHasSuspendedFindsItSo: an abort resumes nothing that was not at work before.
func TestAUserWhoHasSuspendedFindsItSo(t *testing.T) {
	p := newParent(newTenant(t))
	p.deliver(`{text: one}`)
	p.ready(p.name)
	p.Kubectl(t, "-n", p.namespace, "patch", "transform", p.name, "--type", "merge", "-p", `{"spec": {"suspend": true}}`)
	before := p.specs()
	p.freeze()
	p.freeze()
	require.Equal(t, true, p.specs()[p.kustomizations(p.name)[0].Name].(map[string]any)["suspend"])
	p.thaw()
	require.Equal(t, before, p.specs())
}

// TestFreezeEndsOnceAllThatWasBegunIsApplied begins while kustomize-controller applies: it goes on
// after it was suspended, and Freeze returns when it has ended.
func TestFreezeEndsOnceAllThatWasBegunIsApplied(t *testing.T) {
	const count = 600
	p := newParent(newTenant(t))
	p.deliver(fmt.Sprintf(`{text: one, count: %d}`, count))
	p.await(p.name, "is Ready", func(tf *v1alpha1.Transform) bool { return reasonOf(tf) == v1alpha1.SucceededReason })
	j := p.journal(t, p.namespace, corev1.SchemeGroupVersion.WithKind("ConfigMap"), kustomizev1.GroupVersion.WithKind("Kustomization"))
	p.deliver(fmt.Sprintf(`{text: two, count: %d}`, count))
	isTwo := func(c change) bool {
		text, _, _ := unstructured.NestedString(c.object.Object, "data", "text")
		return c.object.GetKind() == "ConfigMap" && text == "two"
	}
	p.Await(t, soon, "Flux is applying", func() bool {
		for _, c := range j.all(t) {
			if isTwo(c) {
				return true
			}
		}
		return false
	})
	p.freeze()
	returned := p.versions()
	time.Sleep(8 * time.Second)
	require.Equal(t, returned, p.versions(), "nothing is written once Freeze has returned")

	suspended := j.first(t, identity{"kustomize.toolkit.fluxcd.io", "Kustomization", p.namespace, p.kustomizations(p.name)[0].Name},
		func(o *unstructured.Unstructured) bool { return o.GetAnnotations()["pivot.ropewalk.dev/frozen"] != "" })
	require.NotNil(t, suspended)
	before, after := 0, 0
	for _, c := range j.all(t) {
		switch {
		case isTwo(c) && c.revision < suspended.revision:
			before++
		case isTwo(c):
			after++
		}
	}
	t.Logf("%d of %d were written before the Kustomization was suspended, and %d after it, before Freeze returned", before, count, after)
	require.Positive(t, after, "the test has begun too late: nothing was under way")
	p.thaw()
	p.Await(t, soon, "two is applied", func() bool { return p.all("two") })
}

// kept waits until nothing delivers any more, and wants that all that was delivered is there.
func (p *parent) kept(before map[string]string, j *journal) {
	t := p.t
	t.Helper()
	require.Nil(t, p.object("ropewalk.dev/v1alpha1", "Transform", p.namespace, p.name))
	require.Empty(t, p.kustomizations(p.name))
	require.Equal(t, "", p.Kubectl(t, "-n", p.namespace, "get", "ocirepositories,kustomizations,transforms", "-o", "name"))
	require.Empty(t, j.deletions(t), "nothing that was delivered is deleted")
	require.Equal(t, before, p.versions())
}

// TestATombstoneEndsTheDeliveryAndForbidsAnotherOne, with kills of the process between any two of
// its requests; then what Git may do on the parent.
func TestATombstoneEndsTheDeliveryAndForbidsAnotherOne(t *testing.T) {
	p := newParent(newTenant(t))
	p.clusters()
	p.deliver(`{text: one, cluster: true}`)
	p.ready(p.name)
	require.Len(t, p.versions(), 6)
	found, err := p.lookup(p.kubeconfig, p.repository())
	require.NoError(t, err)
	require.Nil(t, found, "there is no tombstone yet")
	j := p.journal(t, p.namespace, corev1.SchemeGroupVersion.WithKind("ConfigMap"), clusterKind("v1beta2"))
	p.freeze()
	p.Kubectl(t, "-n", p.namespace, "patch", "cluster.v1beta2.cluster.x-k8s.io", p.name, "--type", "merge", "-p", `{"spec": {"paused": true}}`)
	before := p.versions()

	random := rand.New(rand.NewPCG(17, 1)) //nolint:gosec // when it is killed
	p.at("Confirmed")
	kills := 0
	for range 12 {
		cmd, out := p.start("tombstone")
		kill := time.AfterFunc(time.Duration(20+random.IntN(700))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		if cmd.Wait() != nil {
			kills++
			require.NotContains(t, out.String(), "plane", "it was killed, and has not failed")
		}
		kill.Stop()
	}
	p.tombstone()
	t.Logf("killed %d times", kills)
	require.Positive(t, kills)
	p.kept(before, j)

	manifest := func(version, name, more string) string {
		return fmt.Sprintf("apiVersion: cluster.x-k8s.io/%s\nkind: Cluster\nmetadata: {name: %s, namespace: %s}\nspec: {%s}\n", version, name, p.namespace, more)
	}
	// It cannot be unpaused while it is still there.
	p.denied(manifest("v1beta2", p.name, "paused: false"))
	p.Kubectl(t, "-n", p.namespace, "annotate", "cluster.v1beta2.cluster.x-k8s.io", p.name, "a=b")
	p.Kubectl(t, "-n", p.namespace, "delete", "cluster.v1beta2.cluster.x-k8s.io", p.name) // as the mover does
	p.denied(manifest("v1beta2", p.name, "clusterNetwork: {serviceDomain: again}"))
	p.denied(manifest("v1beta1", p.name, "clusterNetwork: {serviceDomain: again}"))
	p.denied(manifest("v1beta2", "other", "clusterNetwork: {serviceDomain: again}"))
	p.Kubectl(t, "-n", p.namespace, "create", "configmap", "free")
	elsewhere := p.Namespace(t)
	p.Apply(t, strings.Replace(manifest("v1beta2", p.name, "clusterNetwork: {serviceDomain: another}"), p.namespace, elsewhere, 1))

	p.gitOfAUser(manifest("v1beta2", p.name, "clusterNetwork: {serviceDomain: git}"))
	require.Nil(t, p.object("cluster.x-k8s.io/v1beta2", "Cluster", p.namespace, p.name))
	allowed(t, p.controller)
}

// gitOfAUser has Flux apply a manifest from Git, by a Kustomization that knows nothing of
// the Transform, and waits until it is denied.
func (p *parent) gitOfAUser(manifest string) {
	t := p.t
	t.Helper()
	repository := p.Git(t)
	repository.Commit(map[string]string{"cluster.yaml": manifest})
	p.gitRepository(t, p.name, "again", repository.URL)
	p.Apply(t, fmt.Sprintf(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: again, namespace: %s}
spec: {sourceRef: {kind: GitRepository, name: again}, path: ./, prune: false, interval: 1h, retryInterval: 5s, timeout: 1m}
`, p.name))
	var k kustomizev1.Kustomization
	p.Await(t, soon, "Flux is denied", func() bool {
		require.NoError(t, p.Client.Get(t.Context(), client.ObjectKey{Namespace: p.name, Name: "again"}, &k))
		ready := apimeta.FindStatusCondition(k.Status.Conditions, "Ready")
		return ready != nil && ready.Status == "False" && strings.Contains(ready.Message, "is in charge of itself")
	})
	t.Logf("Flux says: %s", apimeta.FindStatusCondition(k.Status.Conditions, "Ready").Message)
}

// TestAParentThatIsRebuiltFromNothingFindsTheTombstone in the registry, by another API server.
func TestAParentThatIsRebuiltFromNothingFindsTheTombstone(t *testing.T) {
	p := newParent(newTenant(t))
	p.deliver(`{text: one}`)
	p.ready(p.name)
	p.freeze()
	p.tombstone()

	rebuilt := p.second(t)
	p.uid = "uid-of-the-rebuilt"
	found, err := p.lookup(rebuilt.Kubeconfig, p.repository())
	require.NoError(t, err)
	require.Equal(t, "pivot-1", found["pivot"])
	require.Equal(t, "uid-of-"+p.name, found["uid"])
	t.Logf("found: %v", found)

	// On the same parent it is the tombstone of another one.
	_, err = p.lookup(p.kubeconfig, p.repository())
	require.ErrorContains(t, err, "uid-of-the-rebuilt")
	require.ErrorContains(t, err, "uid-of-"+p.name)
	t.Log(err)

	// A registry that cannot be asked is not one that has none.
	_, err = p.lookup(rebuilt.Kubeconfig, loopback+":"+FreePort(t)+"/clusters")
	require.ErrorContains(t, err, "tombstone-"+p.name)
	t.Log(err)
}

// TestAnApplicationIsFrozenAndEnds: the same with Argo CD.
func TestAnApplicationIsFrozenAndEnds(t *testing.T) {
	n, argocd := newArgoTenant(t)
	p := newParent(n)
	p.applications, p.delivery = argocd.Namespace, "  delivery: {type: ArgoCD, argocd: {namespace: argocd, selfHeal: true}, deletionPolicy: Delete}\n"
	p.clusters()
	defer func() {
		if t.Failed() {
			t.Logf("%v\n%s", p.versions(), p.Kubectl(t, "get", "transforms,applications", "-A", "-o", "yaml"))
		}
	}()
	p.deliver(`{text: one, cluster: true}`)
	p.Await(t, soon, "the Cluster is applied", func() bool { return p.object("cluster.x-k8s.io/v1beta2", "Cluster", p.namespace, p.name) != nil })
	// Argo CD waits for what a controller of Cluster API says.
	p.Kubectl(t, "-n", p.namespace, "patch", "cluster.v1beta2.cluster.x-k8s.io", p.name, "--type", "merge", "-p", `{"status": {"phase": "Provisioned"}}`)
	p.ready(p.name)
	name := p.namespace + "." + p.name
	argocd.AwaitHealthy(t, soon, name)
	before := argocd.Get(t, name).Object["spec"]

	// Argo CD halts while it syncs: until it goes on, and has ended that, it is not frozen.
	p.deliver(`{text: two, cluster: true}`)
	p.Await(t, soon, "a sync has begun", func() bool {
		revision, _, _ := unstructured.NestedString(argocd.Get(t, name).Object, "spec", "source", "targetRevision")
		return revision != before.(map[string]any)["source"].(map[string]any)["targetRevision"]
	})
	argocd.Controller.Pause()
	p.at("Freezing")
	cmd, out := p.start("freeze")
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	p.Await(t, soon, "it is synced by itself no more", func() bool {
		_, automated, _ := unstructured.NestedFieldNoCopy(argocd.Get(t, name).Object, "spec", "syncPolicy", "automated")
		return !automated
	})
	select {
	case err := <-ended:
		t.Fatalf("it has not waited for Argo CD: %v %s", err, out)
	case <-time.After(5 * time.Second):
	}
	argocd.Controller.Resume()
	require.NoError(t, <-ended, "%s", out)
	returned := p.versions()
	time.Sleep(5 * time.Second)
	require.Equal(t, returned, p.versions(), "nothing is written once Freeze has returned")
	state := p.status(argocd, name, "operationState", "phase")
	t.Logf("its last operation: %s", state)
	require.NotContains(t, []string{"Running", "Terminating"}, state)

	// Drift that is healed otherwise, a new digest, a refresh and a restart.
	p.drift("map-0")
	frozen := p.versions()
	p.deliver(`{text: three, cluster: true}`)
	argocd.Refresh(t, name)
	p.Await(t, soon, "it is seen to be OutOfSync", func() bool { return p.status(argocd, name, "sync", "status") == "OutOfSync" })
	argocd.Controller.Kill()
	argocd.Controller.Restart(t)
	argocd.Refresh(t, name)
	p.Await(t, soon, "the refresh is done", func() bool { return argocd.Get(t, name).GetAnnotations()["argocd.argoproj.io/refresh"] == "" })
	time.Sleep(5 * time.Second)
	require.Equal(t, frozen, p.versions())

	p.thaw()
	p.Await(t, soon, "three is applied, and the drift is healed", func() bool { return p.all("three") })
	p.ready(p.name)
	require.Equal(t, before.(map[string]any)["syncPolicy"], argocd.Get(t, name).Object["spec"].(map[string]any)["syncPolicy"])

	j := p.journal(t, p.namespace, corev1.SchemeGroupVersion.WithKind("ConfigMap"), clusterKind("v1beta2"))
	p.freeze()
	kept := p.versions()
	p.Kubectl(t, "-n", argocd.Namespace, "patch", "application", name, "--type", "merge", "-p", `{"metadata": {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}}`)
	p.tombstone()
	require.Nil(t, p.object("argoproj.io/v1alpha1", "Application", argocd.Namespace, name))
	time.Sleep(5 * time.Second)
	p.kept(kept, j)
	p.Kubectl(t, "-n", p.namespace, "delete", "cluster.v1beta2.cluster.x-k8s.io", p.name)
	p.denied(fmt.Sprintf("apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: %s, namespace: %s}\n", p.name, p.namespace))
	found, err := p.lookup(p.kubeconfig, p.repository())
	require.NoError(t, err)
	require.NotNil(t, found)
	allowed(t, p.controller)
}

// status is a field of the status of an Application.
func (p *parent) status(argocd *ArgoCD, name string, field ...string) string {
	p.t.Helper()
	text, _, _ := unstructured.NestedString(argocd.Get(p.t, name).Object, append([]string{"status"}, field...)...)
	return text
}
