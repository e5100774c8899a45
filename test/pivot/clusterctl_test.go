// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/pivot/audit"
	"github.com/ropewalk/ropewalk/test/pivot/faults"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// TestClusterctlMoves the standing Cluster to the other plane: what it takes, and which
// objects it moves. Nothing fails on its way, so that the invariants hold for it too.
func TestClusterctlMoves(t *testing.T) {
	w := harness.Start(t)
	c, from := w.Standing(t)
	to := w.Other(from)
	before := own(from.Objects(t, c.Namespace))
	require.Empty(t, own(to.Objects(t, c.Namespace)))
	a := audit.Start(t, w, c, from)
	began := time.Now()
	moved := c.MoveByClusterctl(t, from)
	t.Logf("clusterctl move took %s, available in the target %s after the start", moved.Took.Round(10*time.Millisecond), time.Since(began).Round(10*time.Millisecond))
	a.Stop(t).Require(t)
	require.Empty(t, own(from.Objects(t, c.Namespace)))
	after := own(to.Objects(t, c.Namespace))
	require.Equal(t, before, after)
	t.Logf("%d objects: %v", len(after), after)
}

// TestClusterctlIsStuckAfterAKill: it refuses the second run, because its own first one has
// paused the Cluster, and a person has to put both planes right. The rows are those of the
// kill matrix of ropewalk.
func TestClusterctlIsStuckAfterAKill(t *testing.T) {
	r := newRig(t, clusterctl)
	m := r.begin()
	said, err := m.run(t)
	require.NoError(t, err, "%s", said)
	sources, targets := m.proxies[m.from].Writes(), m.proxies[m.to].Writes()
	t.Logf("a move writes %d times to the source and %d times to the target", len(sources), len(targets))
	require.Empty(t, m.settled(t))
	m.auditor.Stop(t).Require(t)

	deletion := slices.IndexFunc(sources, func(w faults.Request) bool { return w.Method == http.MethodDelete }) + 1
	var outcomes []outcome
	for _, at := range []point{
		{source: true, write: 1, after: true},
		{write: len(targets) / 2, after: true},
		{source: true, write: deletion + (len(sources)-deletion)/2, after: true},
	} {
		o := r.kill(t, at)
		outcomes = append(outcomes, o)
		require.True(t, o.killed)
		require.NotEmpty(t, o.stuck)
		require.Empty(t, o.violated)
		r.repair()
	}
	t.Logf("clusterctl:\n%s", table(outcomes))
}

// repair is what a person does after a kill of clusterctl: where the target is complete, the
// rest of the source is deleted and the target unpaused, and else the other way round.
func (r *rig) repair() {
	r.t.Helper()
	complete, other := r.A, r.B
	if len(r.B.Objects(r.t, r.cluster.Namespace)) > len(r.A.Objects(r.t, r.cluster.Namespace)) {
		complete, other = r.B, r.A
	}
	r.cluster.Forget(r.t, other)
	r.cluster.Pause(r.t, complete, false)
	r.cluster.AwaitAvailable(r.t, complete)
}
