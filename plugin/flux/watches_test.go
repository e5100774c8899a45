// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"fmt"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
)

func TestASourceCountsWhenItLeadsElsewhere(t *testing.T) {
	source := func(change func(*sourcev1.GitRepository)) *sourcev1.GitRepository {
		o := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
		o.Status.ObservedGeneration = 1
		o.Status.Artifact = &meta.Artifact{Digest: "sha256:1", Revision: "main@sha1:1"}
		change(o)
		return o
	}
	was := source(func(*sourcev1.GitRepository) {})
	for name, c := range map[string]struct {
		now  *sourcev1.GitRepository
		want bool
	}{
		"nothing":      {source(func(*sourcev1.GitRepository) {}), false},
		"a heartbeat":  {source(func(o *sourcev1.GitRepository) { o.Status.Artifact.LastUpdateTime = metav1.Now() }), false},
		"a condition":  {source(func(o *sourcev1.GitRepository) { conditions.MarkFalse(o, meta.ReadyCondition, "Down", "x") }), false},
		"a revision":   {source(func(o *sourcev1.GitRepository) { o.Status.Artifact.Revision = "main@sha1:2" }), true},
		"a digest":     {source(func(o *sourcev1.GitRepository) { o.Status.Artifact.Digest = "sha256:2" }), true},
		"no artifact":  {source(func(o *sourcev1.GitRepository) { o.Status.Artifact = nil }), true},
		"another spec": {source(func(o *sourcev1.GitRepository) { o.Generation = 2 }), true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, artifactChanged().Update(event.UpdateEvent{ObjectOld: was, ObjectNew: c.now}))
		})
	}
}

func TestAKustomizationCountsWhenItSaysSomethingElse(t *testing.T) {
	k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Generation: 1, Labels: map[string]string{v1alpha1.LabelTransform: "web", v1alpha1.LabelNamespace: "shop"}}}
	changed := func(change func(*kustomizev1.Kustomization)) bool {
		now := k.DeepCopy()
		change(now)
		return stateChanged().Update(event.UpdateEvent{ObjectOld: k, ObjectNew: now})
	}
	require.False(t, changed(func(k *kustomizev1.Kustomization) { k.ResourceVersion = "2" }))
	require.True(t, changed(func(k *kustomizev1.Kustomization) { k.Annotations = map[string]string{"ropewalk.dev/handover": "*"} }))
	require.True(t, changed(func(k *kustomizev1.Kustomization) { k.Status.LastAppliedRevision = "x" }))
	require.True(t, changed(func(k *kustomizev1.Kustomization) { conditions.MarkTrue(k, meta.ReadyCondition, "a", "b") }))
	require.True(t, changed(func(k *kustomizev1.Kustomization) { k.Generation = 2 }))
	require.True(t, changed(func(k *kustomizev1.Kustomization) { k.Labels = nil }))
	now := metav1.Now()
	require.True(t, changed(func(k *kustomizev1.Kustomization) { k.DeletionTimestamp = &now }))
	require.True(t, isOurs().Generic(event.GenericEvent{Object: k}))
	require.False(t, isOurs().Generic(event.GenericEvent{Object: &kustomizev1.Kustomization{}}))
}

// TestAChangeThatManyShareComesBehindOthers: an edit is rendered before them.
func TestAChangeThatManyShareComesBehindOthers(t *testing.T) {
	many := fake.NewClientBuilder().WithScheme(Scheme()).WithIndex(&v1alpha1.Transform{}, byConfigMap, func(o client.Object) []string {
		return indexed()[byConfigMap](o.(*v1alpha1.Transform))
	})
	for i := range 5 {
		of := "many"
		if i == 0 {
			of = "one"
		}
		user := named(fmt.Sprintf("web-%d", i))
		user.Spec.InputsFrom = []v1alpha1.InputReference{{Kind: "ConfigMap", Name: of}}
		many = many.WithObjects(user)
	}
	r := &Reconciler{Client: many.Build(), claims: delivery.NewClaims(delivery.ClaimOptions{}), opts: Options{Concurrent: 3}}
	shared := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	}
	type queue = priorityqueue.PriorityQueue[reconcile.Request]
	for name, c := range map[string]struct {
		count, priority int
		send            func(handler.EventHandler, queue)
	}{
		"of many": {count: 4, priority: handler.LowPriority, send: func(h handler.EventHandler, q queue) {
			now := shared("many")
			now.ResourceVersion = "2"
			h.Update(t.Context(), event.UpdateEvent{ObjectOld: shared("many"), ObjectNew: now}, q)
		}},
		"of one": {count: 1, send: func(h handler.EventHandler, q queue) {
			now := shared("one")
			now.ResourceVersion = "2"
			h.Update(t.Context(), event.UpdateEvent{ObjectOld: shared("one"), ObjectNew: now}, q)
		}},
		"of one that is there at the start": {count: 1, priority: handler.LowPriority, send: func(h handler.EventHandler, q queue) {
			h.Create(t.Context(), event.CreateEvent{Object: shared("one"), IsInInitialList: true}, q)
		}},
		"of one that goes": {count: 1, send: func(h handler.EventHandler, q queue) {
			h.Delete(t.Context(), event.DeleteEvent{Object: shared("one")}, q)
		}},
		"of none": {send: func(h handler.EventHandler, q queue) {
			h.Create(t.Context(), event.CreateEvent{Object: shared("none")}, q)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			q := priorityqueue.New[reconcile.Request](name)
			defer q.ShutDown()
			c.send(r.users(byConfigMap, client.Object.GetName), q)
			for range c.count {
				request, priority, _ := q.GetWithPriority()
				require.Equal(t, c.priority, priority, request)
				q.Done(request)
			}
			require.Zero(t, q.Len())
		})
	}
}

func TestOthersAreToldWhenATransformBecomesReady(t *testing.T) {
	not, ready := &v1alpha1.Transform{}, &v1alpha1.Transform{}
	conditions.MarkTrue(ready, meta.ReadyCondition, "a", "b")
	tell := readyChanged()
	require.True(t, tell.Update(event.UpdateEvent{ObjectOld: not, ObjectNew: ready}))
	require.False(t, tell.Update(event.UpdateEvent{ObjectOld: ready, ObjectNew: ready}))
	require.False(t, tell.Update(event.UpdateEvent{ObjectOld: ready, ObjectNew: not}))
	require.True(t, tell.Create(event.CreateEvent{Object: ready}))
	require.False(t, tell.Create(event.CreateEvent{Object: not}))
	require.False(t, tell.Delete(event.DeleteEvent{Object: ready}))
	stale := ready.DeepCopy()
	stale.Generation = 2
	require.False(t, isReady(stale))
}

func TestVersionsOfVendorsAreVersions(t *testing.T) {
	for text, want := range map[string]string{"v1.36.3": "1.36.3", "v1.36.2-gke.100": "1.36.2", "v1.36+": "1.36", "1.36.3+k3s1": "1.36.3"} {
		require.Equal(t, want, plainVersion(text))
	}
	_, err := kubeVersion(nil, nil, "one")
	require.ErrorContains(t, err, `"one" is not a version of Kubernetes`)
}

func TestOnlyOursAreCached(t *testing.T) {
	k := &kustomizev1.Kustomization{}
	k.Status.Inventory = &kustomizev1.ResourceInventory{Entries: []kustomizev1.ResourceRef{{ID: "a"}}}
	out, err := slim(k)
	require.NoError(t, err)
	require.Nil(t, out.(*kustomizev1.Kustomization).Status.Inventory)
	require.Equal(t, v1alpha1.LabelTransform, ours().String())
	require.NotEmpty(t, Scheme().AllKnownTypes())
	require.Len(t, Uncached(), 3)
	require.Len(t, Cache().ByObject, 1)
}
