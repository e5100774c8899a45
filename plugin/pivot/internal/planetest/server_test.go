// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package planetest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

func machines(s *Server, version string) dynamic.ResourceInterface {
	return s.Client().Resource(schema.GroupVersionResource{Group: Core, Version: version, Resource: "machines"}).Namespace("apps")
}

func machine(name string) *unstructured.Unstructured {
	o := Object(Core+"/v1beta2", "Machine", "apps", name)
	o.Object["spec"] = map[string]any{"clusterName": "blue"}
	return o
}

var ref = plane.Ref{Group: Core, Kind: "Machine", Namespace: "apps", Name: "m"}

func TestCreatedObjectsHaveWhatTheServerFillsIn(t *testing.T) {
	ctx := context.Background()
	s := New("source", ClusterAPI()...)
	_, err := machines(s, "v1beta2").Create(ctx, machine("m"), metav1.CreateOptions{})
	require.True(t, apierrors.IsNotFound(err), "without a namespace: %v", err)

	s.Put(Object("v1", "Namespace", "", "apps"))
	made, err := machines(s, "v1beta2").Create(ctx, machine("m"), metav1.CreateOptions{FieldManager: "me", DryRun: []string{"All"}})
	require.NoError(t, err)
	require.NotEmpty(t, made.GetUID())
	require.Nil(t, s.Object(ref), "a dry run stores nothing")
	made, err = machines(s, "v1beta2").Create(ctx, machine("m"), metav1.CreateOptions{FieldManager: "me"})
	require.NoError(t, err)
	require.Equal(t, int64(1), made.GetGeneration())
	require.Equal(t, "me", made.GetManagedFields()[0].Manager)
	_, err = machines(s, "v1beta2").Create(ctx, machine("m"), metav1.CreateOptions{})
	require.True(t, apierrors.IsAlreadyExists(err))

	old, err := machines(s, "v1beta1").Get(ctx, "m", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, Core+"/v1beta1", old.GetAPIVersion())
	_, err = machines(s, "v1alpha4").Get(ctx, "m", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "a version that is not served: %v", err)

	s.Terminate("apps")
	_, err = machines(s, "v1beta2").Create(ctx, machine("n"), metav1.CreateOptions{})
	require.True(t, apierrors.IsForbidden(err), "in a namespace that is being deleted: %v", err)
}

func TestUpdatesConflictAndDeletionsWaitForFinalizers(t *testing.T) {
	ctx := context.Background()
	s := New("source", ClusterAPI()...)
	o := machine("m")
	o.SetFinalizers([]string{"x/y"})
	s.Put(o)
	api := machines(s, "v1beta2")
	read, err := api.Get(ctx, "m", metav1.GetOptions{})
	require.NoError(t, err)

	stale := read.DeepCopy()
	read.SetAnnotations(map[string]string{"a": "b"})
	wrote, err := api.Update(ctx, read, metav1.UpdateOptions{FieldManager: "me"})
	require.NoError(t, err)
	require.Equal(t, int64(1), wrote.GetGeneration(), "metadata has no generation")
	require.Equal(t, "me", wrote.GetManagedFields()[0].Manager)
	_, err = api.Update(ctx, stale, metav1.UpdateOptions{})
	require.True(t, apierrors.IsConflict(err))
	same, err := api.Update(ctx, wrote, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, wrote.GetResourceVersion(), same.GetResourceVersion(), "what changes nothing writes nothing")

	unstructured.RemoveNestedField(wrote.Object, "metadata", "annotations")
	wrote.Object["spec"] = map[string]any{}
	wrote.Object["status"] = map[string]any{"phase": "Running"}
	wrote.SetManagedFields([]metav1.ManagedFieldsEntry{})
	wrote, err = api.Update(ctx, wrote, metav1.UpdateOptions{FieldManager: "other"})
	require.NoError(t, err)
	require.Equal(t, int64(2), wrote.GetGeneration())
	require.Empty(t, wrote.GetManagedFields(), "managedFields of the request count, and a removal makes no manager")
	require.NotContains(t, wrote.Object, "status")

	uid, other := wrote.GetUID(), types.UID("other")
	require.True(t, apierrors.IsConflict(api.Delete(ctx, "m", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}})))
	version := "1"
	require.True(t, apierrors.IsConflict(api.Delete(ctx, "m", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})))
	require.NoError(t, api.Delete(ctx, "m", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}))
	require.NotNil(t, s.Object(ref).GetDeletionTimestamp())
	s.Edit(ref, "manager", func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
	require.Nil(t, s.Object(ref))
	require.True(t, apierrors.IsNotFound(api.Delete(ctx, "m", metav1.DeleteOptions{})))
}

func TestFaults(t *testing.T) {
	ctx := context.Background()
	s := New("source", ClusterAPI()...)
	s.Put(Object("v1", "Namespace", "", "apps"))
	p := s.Plane()
	k := ClusterAPI()[2]
	lost := errors.New("lost")
	s.After = func(r Request) error {
		if r.Verb == "create" {
			return lost
		}
		return nil
	}
	_, err := p.Create(ctx, k, machine("m"), metav1.CreateOptions{})
	require.ErrorIs(t, err, lost)
	require.NotNil(t, s.Object(ref))
	s.Before = func(Request) error { return lost }
	_, err = p.Get(ctx, k, ref)
	require.ErrorIs(t, err, lost)
	s.Before, s.After = nil, nil

	s.Kill(1)
	_, err = p.Create(ctx, k, machine("n"), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = p.Get(ctx, k, ref)
	require.NoError(t, err, "it reads until it wants to write")
	_, err = p.Create(ctx, k, machine("o"), metav1.CreateOptions{})
	require.ErrorIs(t, err, ErrKilled)
	_, err = p.Get(ctx, k, ref)
	require.ErrorIs(t, err, ErrKilled)
	require.True(t, s.Revive())
	require.False(t, s.Revive())
	require.Len(t, s.Objects(), 2)
}

func TestAClusterIsOwnedAndIsCollectedWithItsOwner(t *testing.T) {
	s := New("source", ClusterAPI()...)
	s.Put(Cluster("apps", "blue", 2)...)
	all := len(s.Objects())
	require.Equal(t, 21, all)
	require.Empty(t, s.Collect())
	s.Edit(plane.Ref{Group: Core, Kind: "Cluster", Namespace: "apps", Name: "blue"}, "me", func(o *unstructured.Unstructured) {
		o.Object["spec"].(map[string]any)["paused"] = true
	})
	s.Observe()
	status, _, _ := unstructured.NestedSlice(s.Object(plane.Ref{Group: Core, Kind: "Machine", Namespace: "apps", Name: "blue-cp-0"}).Object, "status", "conditions")
	require.Equal(t, "True", status[1].(map[string]any)["status"])
	s.Remove(plane.Ref{Group: Core, Kind: "Cluster", Namespace: "apps", Name: "blue"})
	require.Contains(t, s.Collect(), plane.Ref{Group: Infrastructure, Kind: "DevMachineTemplate", Namespace: "apps", Name: "blue"})
	for _, o := range s.Objects() {
		if o.GetDeletionTimestamp() != nil {
			s.Edit(plane.RefOf(o), "manager", func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
		}
	}
	require.Less(t, len(s.Objects()), all-5)

	kinds, err := s.Plane().Kinds(context.Background())
	require.NoError(t, err)
	require.Equal(t, ClusterAPI()[0], kinds[schema.GroupKind{Group: Core, Kind: "Cluster"}])
}

func TestReviews(t *testing.T) {
	s := New("source")
	right := plane.Right{Verb: "delete", Resource: "secrets", Namespace: "apps"}
	s.Denied = map[plane.Right]bool{right: true}
	missing, err := s.Plane().Missing(context.Background(), []plane.Right{right, {Verb: "get", Resource: "secrets"}})
	require.NoError(t, err)
	require.Equal(t, []plane.Right{right}, missing)
	user, err := s.Plane().User(context.Background())
	require.NoError(t, err)
	require.Equal(t, "tester", user)
}
