// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

// kinds that are none of Cluster API.
func foreign() []plane.Kind {
	kind := func(group, kind, resource string) plane.Kind {
		return plane.Kind{Group: group, Kind: kind, Resource: resource, Namespaced: true, Version: "v1", Served: []string{"v1"}}
	}
	return []plane.Kind{kind("coordination.k8s.io", "Lease", "leases"), kind("metal.example.org", "Host", "hosts"), kind("metrics.example.org", "Usage", "usages")}
}

// dependents are those of the Cluster blue.
func dependents(t *testing.T, s *planetest.Server, copied ...plane.Ref) (findings, notes []string) {
	t.Helper()
	p := s.Plane()
	kinds, err := p.Kinds(t.Context())
	require.NoError(t, err)
	set, err := inventory.Read(t.Context(), p, kinds, types.NamespacedName{Namespace: "apps", Name: "blue"}, inventory.Options{Copy: copied})
	require.NoError(t, err)
	found, notes := set.Dependents(t.Context(), p, kinds)
	for _, f := range found {
		findings = append(findings, f.String())
	}
	return findings, notes
}

func TestObjectsOfOtherKindsThatWouldBeDeletedWithTheSet(t *testing.T) {
	s := planetest.New("source", append(planetest.ClusterAPI(), foreign()...)...)
	cluster := planetest.Cluster("apps", "blue", 1)
	s.Put(cluster...)
	s.Remove(plane.Ref{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "leases.coordination.k8s.io"}) // It is built in.
	lease := func(name string, owners ...*unstructured.Unstructured) *unstructured.Unstructured {
		o := planetest.Object("coordination.k8s.io/v1", "Lease", "apps", name)
		for _, owner := range owners {
			planetest.OwnedBy(o, owner)
		}
		s.Put(o)
		return o
	}
	free := lease("free")
	lease("of-free", free)
	lease("kept", cluster[0], free)
	lease("lost", cluster[0])
	host := planetest.Object("metal.example.org/v1", "Host", "apps", "of-cluster")
	s.Put(planetest.OwnedBy(host, cluster[0]), planetest.Object("v1", "Event", "apps", "e"))

	found, notes := dependents(t, s)
	with := ": is not moved, as its kind is none of Cluster API, and would be deleted with its owner Cluster.cluster.x-k8s.io apps/blue: "
	leaseSays := "Lease.coordination.k8s.io apps/lost" + with + "remove its owner reference, so that it stays on the source; or delete it"
	require.Equal(t, []string{leaseSays, "Host.metal.example.org apps/of-cluster" + with +
		"label CustomResourceDefinition hosts.metal.example.org clusterctl.cluster.x-k8s.io/move, so that it moves with its owner; or remove its owner reference, so that it stays on the source"}, found)
	require.Empty(t, notes)

	// The advice helps.
	s.Edit(plane.Ref{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "hosts.metal.example.org"}, "user", func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{"clusterctl.cluster.x-k8s.io/move": ""})
	})
	found, _ = dependents(t, s)
	require.Equal(t, []string{leaseSays}, found)
}

func TestWhatStaysLosesNoDependents(t *testing.T) {
	s := planetest.New("source", append(planetest.ClusterAPI(), foreign()...)...)
	s.Put(planetest.Cluster("apps", "blue", 0)...)
	ca := plane.Ref{Kind: "Secret", Namespace: "apps", Name: "blue-ca"}
	s.Put(planetest.OwnedBy(planetest.Object("coordination.k8s.io/v1", "Lease", "apps", "of-ca"), s.Object(ca)))
	found, _ := dependents(t, s)
	require.Len(t, found, 1)
	found, _ = dependents(t, s, ca)
	require.Empty(t, found)
}

func TestKindsThatCannotBeLookedThroughAreNoted(t *testing.T) {
	s := planetest.New("source", append(planetest.ClusterAPI(), foreign()...)...)
	s.Put(planetest.Cluster("apps", "blue", 0)...)
	s.Before = func(r planetest.Request) error {
		switch r.Ref.Kind {
		case "Lease":
			return apierrors.NewForbidden(schema.GroupResource{Group: r.Ref.Group, Resource: "leases"}, "", errors.New("a test"))
		case "Host":
			return apierrors.NewServiceUnavailable("its server is away")
		}
		return nil
	}
	s.Undiscovered = map[string]error{"/apis/metrics.example.org/v1": errors.New("it is away"), "/apis/cluster.x-k8s.io/v1beta1": apierrors.NewNotFound(schema.GroupResource{}, "")}
	found, notes := dependents(t, s)
	require.Empty(t, found)
	require.Len(t, notes, 3)
	require.Contains(t, notes[0], "not all kinds are known, so that objects of others may be deleted with their owners: /apis/metrics.example.org/v1: it is away")
	require.Contains(t, notes[1], "objects of kind Host.metal.example.org cannot be listed, and may be deleted with their owners: its server is away")
	require.Contains(t, notes[2], "may not list these kinds, whose objects may be deleted with their owners: Lease.coordination.k8s.io")

	s.Undiscovered["/apis"] = errors.New("it is away as well")
	found, notes = dependents(t, s)
	require.Empty(t, found)
	require.Len(t, notes, 1)
}
