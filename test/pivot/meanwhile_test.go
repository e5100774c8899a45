// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// undone wants the move undone: the source has been in charge but for the pause, and the target
// has nothing.
func (m *move) undone(t *testing.T) {
	t.Helper()
	report := m.auditor.Stop(t)
	report.Require(t)
	require.Zero(t, report.Active(m.to.Name))
	require.Empty(t, own(m.to.Objects(t, m.cluster.Namespace)))
	m.cluster.AwaitAvailable(t, m.from)
}

// TestAStagedChunkThatIsDamaged after the source has written that all is staged: an abort undoes
// the move all the same, and a run that goes on stages it again.
func TestAStagedChunkThatIsDamaged(t *testing.T) {
	r := newRig(t, ropewalk)
	m := r.begin()
	m.stop(t, staged)
	m.damage(t)
	_, err := m.command(t, "abort", "--from="+m.from.Kubeconfig, "--to="+m.to.Kubeconfig)
	require.NoError(t, err)
	m.undone(t)

	m = r.begin()
	m.stop(t, staged)
	m.damage(t)
	said, err := m.run(t)
	require.NoError(t, err, "%s", said)
	t.Logf("%s", said)
	require.Contains(t, said, "staging again: target plane: chunk 0")
	require.Empty(t, m.settled(t))
	m.auditor.Stop(t).Require(t)
	r.cluster.AwaitAvailable(t, m.to)
}

// damage changes one byte of each chunk that is staged.
func (m *move) damage(t *testing.T) {
	t.Helper()
	secrets := kubernetesOf(t, m.to).CoreV1().Secrets(m.cluster.Namespace)
	chunks, err := secrets.List(t.Context(), metav1.ListOptions{LabelSelector: "pivot.ropewalk.dev/chunk"})
	require.NoError(t, err)
	require.NotEmpty(t, chunks.Items)
	for i := range chunks.Items {
		data := chunks.Items[i].Data["chunk"]
		data[len(data)/2] ^= 1
		_, err := secrets.Update(t.Context(), &chunks.Items[i], metav1.UpdateOptions{})
		require.NoError(t, err)
	}
}

// TestAControllerThatIgnoresThePause is named with the object that it writes, before the commit,
// and the source is in charge again.
func TestAControllerThatIgnoresThePause(t *testing.T) {
	r := newRig(t, ropewalk)
	m := r.begin()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := 0; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
			o, err := m.cluster.Get(ctx, m.from)
			if err != nil {
				continue // it goes on
			}
			if paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); paused {
				n++
				_ = m.cluster.PatchWorkers(ctx, m.from, "rogue", fmt.Sprintf(`{"metadata":{"annotations":{"example.com/written":"%d"}}}`, n)) // and again
			}
		}
	})
	said, err := m.run(t)
	stop()
	writing.Wait()
	t.Logf("%s", said)
	require.Error(t, err)
	require.Contains(t, said, "MachineDeployment.cluster.x-k8s.io "+m.cluster.Namespace+"/"+m.cluster.Name+
		`-workers: changes on the source plane although its Cluster is paused, and was last written by "rogue" at `)
	require.Contains(t, said, "the pivot was undone")
	m.undone(t)
	require.NoError(t, m.cluster.PatchWorkers(t.Context(), m.from, "rogue", `{"metadata":{"annotations":{"example.com/written":null}}}`))
	m.cluster.AwaitAvailable(t, m.from)
}

// TestARolloutInProgress is refused by the names of what is not at rest, while nothing is touched.
// Once it is over the Cluster moves.
func TestARolloutInProgress(t *testing.T) {
	r := newRig(t, ropewalk)
	m := r.begin()
	workers := m.cluster.Workers
	require.NoError(t, m.cluster.PatchWorkers(t.Context(), m.from, "pivot-test", fmt.Sprintf(`{"spec":{"replicas":%d}}`, workers+1)))
	m.cluster.Workers++
	said, err := m.run(t)
	t.Logf("%s", said)
	require.Error(t, err)
	require.Contains(t, said, "MachineDeployment.cluster.x-k8s.io "+m.cluster.Namespace+"/"+m.cluster.Name+"-workers: is not at rest on the source plane: ")
	m.cluster.AwaitAvailable(t, m.from)
	report := m.auditor.Stop(t)
	require.Subset(t, []string{"I3"}, report.Violated(), "the worker that was wanted is the only change")
	require.Zero(t, report.Frozen())
	require.Empty(t, m.proxies[m.from].Writes())
	require.Empty(t, m.proxies[m.to].Writes())

	m = r.begin()
	said, err = m.run(t)
	require.NoError(t, err, "%s", said)
	require.Empty(t, m.settled(t))
	m.auditor.Stop(t).Require(t)
	m.cluster.ScaleWorkers(t, m.to, workers)
}
