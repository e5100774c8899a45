// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/pivot/audit"
)

// moves moves the standing Cluster once, without faults, and returns the report.
func (r *rig) moves(t *testing.T) audit.Report {
	t.Helper()
	m := r.begin()
	before := m.from.Objects(t, r.cluster.Namespace)
	said, err := m.run(t)
	took := time.Since(m.began)
	t.Logf("%s from plane %s to plane %s:\n%s", r.program.name, m.from.Name, m.to.Name, said)
	require.NoError(t, err)
	require.Empty(t, m.settled(t))
	r.cluster.AwaitAvailable(t, m.to)
	t.Logf("%s took %s, with %d writes to the source and %d to the target; available in the target after %s",
		r.program.name, took.Round(10*time.Millisecond), len(m.proxies[m.from].Writes()), len(m.proxies[m.to].Writes()), time.Since(m.began).Round(10*time.Millisecond))
	report := m.auditor.Stop(t)
	report.Require(t)
	require.Equal(t, own(before), own(m.to.Objects(t, r.cluster.Namespace)))
	return report
}

// own are names of objects without those that a program keeps for itself.
func own(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), kept)
}

// TestAClusterMovesAndTheTargetAloneManagesIt: it scales and has its control plane replaced
// while the plane that it came from is down, and moves back.
func TestAClusterMovesAndTheTargetAloneManagesIt(t *testing.T) {
	r := newRig(t, ropewalk)
	_, from := r.Standing(t)
	r.moves(t)

	to := r.Other(from)
	from.APIServer.Pause()
	t.Cleanup(from.APIServer.Resume)
	before, err := r.Cloud.Of(t.Context(), r.cluster.Namespace, r.cluster.Name)
	require.NoError(t, err)
	began := time.Now()
	r.cluster.ScaleWorkers(t, to, r.cluster.Workers+1)
	t.Logf("through plane %s alone: a worker more after %s", to.Name, time.Since(began).Round(10*time.Millisecond))
	began = time.Now()
	old, now := r.cluster.ReplaceControlPlane(t, to)
	t.Logf("through plane %s alone: %s is %s after %s", to.Name, old, now, time.Since(began).Round(10*time.Millisecond))
	r.cluster.ScaleWorkers(t, to, r.cluster.Workers-1)
	from.APIServer.Resume()
	after, err := r.Cloud.Of(t.Context(), r.cluster.Namespace, r.cluster.Name)
	require.NoError(t, err)
	require.Len(t, after.Machines, len(before.Machines))
	require.Len(t, after.Journal, len(before.Journal)+4, "two machines were made and two deleted: %v", after.Journal)

	r.moves(t)
}

// TestItMovesWhatClusterctlMoves, and the target is in charge no later.
func TestItMovesWhatClusterctlMoves(t *testing.T) {
	r := newRig(t, ropewalk)
	_, from := r.Standing(t)
	to := r.Other(from)
	ours := r.moves(t)
	moved := own(to.Objects(t, r.cluster.Namespace))
	r.program = clusterctl(t, r.World)
	theirs := r.moves(t)
	require.Equal(t, moved, own(from.Objects(t, r.cluster.Namespace)))
	t.Logf("both move the same %d objects: %v", len(moved), moved)
	ratio := ours.Active(to.Name).Seconds() / theirs.Active(from.Name).Seconds()
	t.Logf("until the target is in charge: ropewalk %s, clusterctl %s, ratio %.2f; without a plane in charge: %s and %s",
		ours.Active(to.Name).Round(10*time.Millisecond), theirs.Active(from.Name).Round(10*time.Millisecond), ratio,
		ours.Frozen().Round(10*time.Millisecond), theirs.Frozen().Round(10*time.Millisecond))
	require.Less(t, ratio, 1.5) // on a machine that does other things as well
}
