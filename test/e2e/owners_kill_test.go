// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// TestObjectsThatMoveWhileTheControllerIsKilledKeepTheirUIDs kills it 50 times at random
// moments, while ConfigMaps move between Transforms: in each round some of them, by one
// kubectl apply, in any order.
func TestObjectsThatMoveWhileTheControllerIsKilledKeepTheirUIDs(t *testing.T) {
	long(t)
	const kills, transforms, objects = 50, 5, 15
	n := newTenant(t, "--enable-leader-election=false")
	j := n.journal(t, n.namespace, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	random := rand.New(rand.NewPCG(15, 50)) //nolint:gosec // which ones, and when
	owner, text := map[string]int{}, map[string]string{}
	var names []string
	for i := range objects {
		name := fmt.Sprintf("cm-%02d", i)
		names = append(names, name)
		owner[name], text[name] = i%transforms, "start"
	}
	holders := func() []holder {
		out := make([]holder, transforms)
		for i := range out {
			out[i] = holder{
				name: fmt.Sprintf("t%d", i), maps: map[string]string{fmt.Sprintf("own-%d", i): "own"},
				more: "  delivery: {flux: {retryInterval: 2s}}\n",
			}
		}
		for _, name := range names {
			out[owner[name]].maps[name] = text[name]
		}
		return out
	}
	t.Cleanup(func() {
		if t.Failed() {
			n.show(holders())
		}
	})
	n.kubectlApply(holders()...)
	for _, h := range holders() {
		n.ready(h.name)
	}
	before := n.mapUIDs(names...)
	moves, began := 0, time.Now()
	for kill := range kills {
		for range 1 + random.IntN(4) {
			name := names[random.IntN(len(names))]
			owner[name] = (owner[name] + 1 + random.IntN(transforms-1)) % transforms
			moves++
			if random.IntN(2) == 0 {
				text[name] = fmt.Sprintf("text-%d", kill)
			}
		}
		all := holders()
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		n.kubectlApply(all...)
		// Some come in the middle of a hand-over, and some after the deletions.
		time.Sleep(time.Duration(random.IntN([]int{1000, 1000, 3000, 3000, 9000}[kill%5])) * time.Millisecond)
		n.controller.Kill()
		n.controller.Restart(t)
		if kill%5 != 0 {
			n.Await(t, startup, "it lives", func() bool { _, ok := page(t.Context(), n.controller.health, "/readyz"); return ok })
		}
	}
	ended := time.Now()
	for _, h := range holders() {
		n.ready(h.name)
	}
	for _, name := range names {
		n.owned(name, fmt.Sprintf("t%d", owner[name]), text[name])
	}
	after := n.mapUIDs(names...)
	t.Logf("%d kills and %d moves in %s; all are Ready and owned %s after the last kill", kills, moves,
		ended.Sub(began).Round(time.Second), time.Since(ended).Round(100*time.Millisecond))
	for _, name := range names {
		t.Logf("%s: UID before %s and after %s", name, before[name], after[name])
	}
	require.Equal(t, before, after)
	require.Empty(t, slices.Compact(j.deletions(t)), "nothing is ever deleted")
	allowed(t, n.controller)
}

// show logs how far each of them is, and what its Kustomizations have.
func (n *tenant) show(all []holder) {
	for _, h := range all {
		t := &v1alpha1.Transform{}
		if err := n.Client.Get(context.Background(), client.ObjectKey{Namespace: n.namespace, Name: h.name}, t); err != nil {
			n.t.Log(h.name, err)
			continue
		}
		n.t.Logf("%s: generation %d of %d, wants %v", h.name, t.Status.ObservedGeneration, t.Generation, slices.Sorted(maps.Keys(h.maps)))
		for _, c := range t.Status.Conditions {
			n.t.Logf("  %s %s %s %s %s", c.LastTransitionTime.Format(time.TimeOnly), c.Type, c.Status, c.Reason, c.Message)
		}
		for _, l := range t.Status.Layers {
			n.t.Logf("  %+v", l)
		}
		var list kustomizev1.KustomizationList
		_ = n.Client.List(context.Background(), &list, client.InNamespace(n.namespace), client.MatchingLabels{v1alpha1.LabelTransform: h.name})
		for _, k := range list.Items {
			n.t.Logf("  %s: suspended %v, %s", k.Name, k.Spec.Suspend, k.Status.LastAppliedRevision)
			if k.Status.Inventory != nil {
				for _, e := range k.Status.Inventory.Entries {
					n.t.Logf("    %s", e.ID)
				}
			}
			for _, c := range k.Status.Conditions {
				n.t.Logf("    %s %s %s %s %s", c.LastTransitionTime.Format(time.TimeOnly), c.Type, c.Status, c.Reason, c.Message)
			}
		}
	}
}
