// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

func TestKindsAreThoseThatAreServed(t *testing.T) {
	ctx := context.Background()
	s := planetest.New("source")
	definition := func(kind string, versions ...any) {
		crd := planetest.Definition(plane.Kind{Group: "example.com", Kind: kind, Resource: kind + "s", Labels: map[string]string{"a": "b"}})
		crd.Object["spec"].(map[string]any)["versions"] = versions
		s.Put(crd)
	}
	version := func(name string, served, storage bool) any {
		return map[string]any{"name": name, "served": served, "storage": storage, "schema": map[string]any{}}
	}
	definition("Mature", version("v1alpha1", true, false), version("v1", true, false), version("v2beta1", true, false), version("v1beta1", true, true), version("v2", false, false))
	definition("Stored", version("v1", false, true), version("v1beta1", true, false), version("v1beta2", true, false))
	definition("Gone", version("v1", false, true))
	for i := range 30 {
		definition(fmt.Sprintf("K%d", i), version("v1", true, true))
	}
	kinds, err := s.Plane().Kinds(ctx)
	require.NoError(t, err)
	require.Len(t, kinds, 3+2+30)
	gk := func(kind string) schema.GroupKind { return schema.GroupKind{Group: "example.com", Kind: kind} }
	require.Equal(t, plane.Kind{
		Group: "example.com", Kind: "Mature", Resource: "Matures", Version: "v1beta1", Served: []string{"v1beta1", "v1", "v2beta1", "v1alpha1"}, Labels: map[string]string{"a": "b"},
	}, kinds[gk("Mature")])
	require.Equal(t, []string{"v1beta2", "v1beta1"}, kinds[gk("Stored")].Served)
	require.NotContains(t, kinds, gk("Gone"))
	for _, k := range []plane.Kind{plane.NamespaceKind, plane.SecretKind, plane.ConfigMapKind} {
		require.Equal(t, k, kinds[k.GroupKind()])
	}

	crd := planetest.Object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "bad")
	crd.Object["spec"] = map[string]any{"versions": "none"}
	s.Put(crd)
	_, err = s.Plane().Kinds(ctx)
	require.ErrorContains(t, err, "source plane: CustomResourceDefinition.apiextensions.k8s.io bad: ")
	s.Before = failing("list", apierrors.NewForbidden(gr, "", errInjected))
	_, err = s.Plane().Kinds(ctx)
	require.True(t, apierrors.IsForbidden(err))
}

func TestAKindHasOneVersionThatBothServe(t *testing.T) {
	k := plane.Kind{Group: "g", Kind: "K", Version: "v2", Served: []string{"v2", "v1", "v1beta1"}}
	require.Equal(t, "g/v2", k.APIVersion())
	require.Equal(t, "v1", plane.SecretKind.APIVersion())
	for _, c := range []struct {
		to   []string
		want string
		ok   bool
	}{{[]string{"v1", "v2"}, "v2", true}, {[]string{"v1beta1", "v1"}, "v1", true}, {[]string{"v3"}, "v2", false}, {nil, "v2", false}} {
		got, ok := k.Common(plane.Kind{Served: c.to})
		require.Equal(t, c.ok, ok)
		require.Equal(t, c.want, got.Version)
	}
	require.Negative(t, k.Compare(plane.Kind{Group: "g", Kind: "L"}))
	require.Positive(t, k.Compare(plane.Kind{Group: "f", Kind: "L"}))
}

func TestAtIsTheVersionOfAnObject(t *testing.T) {
	kinds := plane.Kinds{machines.GroupKind(): machines}
	k, err := kinds.At(ref, planetest.Core+"/v1beta1")
	require.NoError(t, err)
	require.Equal(t, "v1beta1", k.Version)
	_, err = kinds.At(ref, planetest.Core+"/v1alpha4")
	require.EqualError(t, err, `Machine.cluster.x-k8s.io apps/m: the server does not serve kind Machine.cluster.x-k8s.io in version "v1alpha4": it serves v1beta2, v1beta1: upgrade the provider`)
	_, err = kinds.At(ref, "a/b/c")
	require.ErrorContains(t, err, "does not serve kind")
	_, err = kinds.At(plane.Ref{Kind: "Pod", Namespace: "apps", Name: "p"}, "v1")
	require.EqualError(t, err, "Pod apps/p: the server does not serve kind Pod: install its CustomResourceDefinition")
}
