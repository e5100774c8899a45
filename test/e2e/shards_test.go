// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// sharded applies a Transform of as many ConfigMaps, and waits until it is Ready. The
// Kustomizations are what a reconciliation that does nothing leaves as it is.
func (n *tenant) sharded(objects int) (units map[string]string) {
	t := n.t
	t.Helper()
	began := time.Now()
	n.makeMany(objects, "")
	var now *v1alpha1.Transform
	n.Await(t, 4*time.Minute, fmt.Sprintf("%d objects are Ready", objects), func() bool {
		now = n.get("many")
		return now.Status.ObservedGeneration == now.Generation && apimeta.IsStatusConditionTrue(now.Status.Conditions, meta.ReadyCondition)
	})
	took := time.Since(began).Round(10 * time.Millisecond)
	total, shown := 0, make([]string, 0, len(now.Status.Layers))
	for _, l := range now.Status.Layers {
		require.LessOrEqual(t, l.Objects, int32(1000), l.Name)
		require.Equal(t, v1alpha1.LayerReady, l.State, l.Name)
		require.Equal(t, l.Digest, l.Applied, l.Name)
		total += int(l.Objects)
		shown = append(shown, fmt.Sprintf("%s %d", l.Name, l.Objects))
	}
	require.Equal(t, objects, total)
	t.Logf("%d objects: Ready after %s: %s", objects, took, strings.Join(shown, ", "))
	units = map[string]string{}
	for _, k := range n.kustomizations("many") {
		units[k.Name] = fmt.Sprintf("generation %d, applied %s", k.Generation, k.Status.LastAppliedRevision)
	}
	require.Len(t, units, len(now.Status.Layers))
	return units
}

// uids are those of the ConfigMaps of the Transform, by name.
func (n *tenant) uids() map[string]types.UID {
	n.t.Helper()
	var list corev1.ConfigMapList
	require.NoError(n.t, n.Client.List(n.t.Context(), &list, client.InNamespace(n.namespace)))
	out := map[string]types.UID{}
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, "c") {
			out[list.Items[i].Name] = list.Items[i].UID
		}
	}
	return out
}

// fewer requires that of what was there before, as many as are wanted are there still,
// and that they are the same objects.
func (n *tenant) fewer(before map[string]types.UID, objects int) {
	n.t.Helper()
	wanted := map[string]types.UID{}
	for i := range objects {
		name := fmt.Sprintf("c%d", i)
		wanted[name] = before[name]
	}
	require.Equal(n.t, wanted, n.uids(), "what is wanted was not deleted, and the rest was")
}

// TestALayerOfManyObjectsIsCutIntoShardsThatStay: one more object is one shard more that
// changes, and where there are fewer, what is wanted moves between shards and lives.
func TestALayerOfManyObjectsIsCutIntoShardsThatStay(t *testing.T) {
	long(t)
	const objects = 2500
	n := newTenant(t)
	first := n.sharded(objects)
	require.GreaterOrEqual(t, len(first), 3)
	before := n.uids()
	require.Len(t, before, objects)

	more := n.sharded(objects + 1)
	require.Equal(t, slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(more)))
	var touched []string
	for name := range first {
		if first[name] != more[name] {
			touched = append(touched, name)
		}
	}
	t.Logf("one more object: %d of %d shards were touched: %v", len(touched), len(first), touched)
	require.Len(t, touched, 1)

	// Shards go, and what they had is handed over; then no shard is needed any more.
	few := n.sharded(900)
	require.Less(t, len(few), len(first))
	n.fewer(before, 900)
	whole := n.sharded(450)
	require.Equal(t, []string{"many-layer-00"}, slices.Sorted(maps.Keys(whole)))
	n.fewer(before, 450)
}
