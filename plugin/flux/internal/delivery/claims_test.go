// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

func named(namespace, name string, age time.Duration) *v1alpha1.Transform {
	return &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0).Add(-age)),
	}}
}

func wanting(digest string, names ...string) Desired {
	layer := Layer{Name: "layer-00"}
	for _, name := range names {
		layer.Objects = append(layer.Objects, ObjectRef{Kind: "ConfigMap", Name: name})
	}
	return Desired{Digest: digest, Layers: []Layer{layer}}
}

const x = key("/ConfigMap//x")

func TestTheTransformThatHasAnObjectComesFirst(t *testing.T) {
	c := NewClaims(ClaimOptions{})
	young, old := named("n", "young", 0), named("n", "old", time.Hour)
	look := func(of *v1alpha1.Transform) other { return c.others(of, has(x))[x] }
	c.recordWanted(young, wanting("1", "x"))
	require.Equal(t, other{}, look(young))
	c.recordWanted(old, wanting("2", "x"))
	require.True(t, look(old).ahead, "the other one wanted it before, and neither has it")
	require.False(t, look(young).ahead)
	c.recordUses(old, map[key]use{x: useWanted | useHeld})
	require.False(t, look(old).ahead)
	require.True(t, look(young).ahead)
	require.Equal(t, types.NamespacedName{Namespace: "n", Name: "old"}, look(young).wantedBy)
	c.recordUses(young, map[key]use{x: useWanted | useHeld})
	require.True(t, look(young).ahead, "both have it: the older Transform")
	require.False(t, look(old).ahead)
}

func TestTransformsOfOtherClustersAndTenantsAreNotLookedAt(t *testing.T) {
	elsewhere := named("n", "b", 0)
	elsewhere.Spec.Delivery = &v1alpha1.Delivery{Flux: &v1alpha1.FluxDelivery{KubeConfig: &meta.KubeConfigReference{SecretRef: &meta.SecretKeyReference{Name: "there"}}}}
	for name, is := range map[string]struct {
		isolated bool
		other    *v1alpha1.Transform
		seen     bool
	}{
		"of another namespace":             {other: named("m", "b", 0), seen: true},
		"of another tenant":                {isolated: true, other: named("m", "b", 0)},
		"of the same tenant":               {isolated: true, other: named("n", "b", 0), seen: true},
		"that delivers to another cluster": {other: elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewClaims(ClaimOptions{Isolated: is.isolated})
			c.Assume(named("n", "a", 0), wanting("1", "x"))
			c.recordWanted(is.other, wanting("2", "x"))
			require.Equal(t, is.seen, c.others(is.other, has(x))[x].wants)
			c.Changed(named("n", "a", 0))
			require.Equal(t, is.seen, c.wait(is.other, "2", true, false, nil), "it waits for the render of one that it sees")
		})
	}
}

func TestADeletionWaitsForTransformsThatChangedUntilItBegan(t *testing.T) {
	now := time.Unix(1e9, 0)
	c := NewClaims(ClaimOptions{Settle: DefaultSettle, Now: func() time.Time { return now }})
	loser, late := named("n", "loser", 0), named("n", "late", 0)
	open := func() bool { return c.wait(loser, "1", true, false, nil) }
	require.True(t, open())
	require.Equal(t, DefaultSettle, c.Waiting(types.NamespacedName{Namespace: "n", Name: "loser"}))
	now = now.Add(DefaultSettle)
	require.False(t, open())

	c.Changed(late)
	require.True(t, open())
	count := c.Begin(types.NamespacedName{Namespace: "n", Name: "late"})
	c.Changed(late)
	c.Settle(types.NamespacedName{Namespace: "n", Name: "late"}, count)
	require.True(t, open(), "it changed again while it was rendered")
	now = now.Add(pendingFor)
	require.False(t, open(), "it is bounded")
	c.Settle(types.NamespacedName{Namespace: "n", Name: "late"}, count+1)
	c.Changed(late)
	require.False(t, open(), "it changed long after the deletion began")
	require.True(t, c.wait(loser, "2", true, false, nil), "another render begins anew")
}

func TestWhatAnotherTransformMayHaveDeletedIsRestoredOnce(t *testing.T) {
	var woken []string
	c := NewClaims(ClaimOptions{Wake: func(name types.NamespacedName) { woken = append(woken, name.Name) }})
	a, b := named("n", "a", 0), named("n", "b", 0)
	c.Assume(a, wanting("1", "x"))
	c.Assume(b, wanting("2", "x"))
	require.False(t, c.takeStale(b, has(x)))
	woken = nil
	c.Forget(a)
	require.Equal(t, []string{"b"}, woken)
	require.False(t, c.takeStale(b, has("/ConfigMap//y")))
	require.True(t, c.takeStale(b, has(x)))
	require.False(t, c.takeStale(b, has(x)))
}
