// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/pivot/faults"
)

// TestAPIServersThatFailAtRandom: a tenth of all requests to both planes get an error, a late
// answer, or none although they were handled.
func TestAPIServersThatFailAtRandom(t *testing.T) {
	r := newRig(t, ropewalk)
	moves := uint64(1)
	if all() {
		moves = 20
	}
	for seed := range moves {
		m := r.begin()
		m.proxies[r.A].Set(faults.Random(2*seed, 0.1))
		m.proxies[r.B].Set(faults.Random(2*seed+1, 0.1))
		var said string
		var err error
		for range 10 {
			if said, err = m.run(t); err == nil {
				break
			}
			t.Logf("seed %d, run %d: %v: %s", seed, m.runs, err, said)
		}
		require.NoError(t, err)
		require.Empty(t, m.settled(t))
		m.auditor.Stop(t).Require(t)
		t.Logf("seed %d: %d faults, %d runs, %s", seed, m.proxies[r.A].Faults()+m.proxies[r.B].Faults(), m.runs, time.Since(m.began).Round(10*time.Millisecond))
	}
}

// TestAStoreThatStops for half a minute, of either plane, in the middle of its writes; in make
// e2e for five seconds, of the target.
func TestAStoreThatStops(t *testing.T) {
	r := newRig(t, ropewalk)
	pause, ends := 5*time.Second, []bool{false}
	if all() {
		pause, ends = 30*time.Second, []bool{true, false}
	}
	for _, source := range ends {
		m := r.begin()
		plane, name := m.to, "target"
		if source {
			plane, name = m.from, "source"
		}
		var once sync.Once
		m.proxies[plane].Set(func(w faults.Request) faults.Fault {
			if w.Write == 8 {
				once.Do(func() {
					plane.Etcd.Pause()
					time.AfterFunc(pause, plane.Etcd.Resume)
				})
			}
			return faults.Fault{}
		})
		t.Cleanup(plane.Etcd.Resume)
		var said string
		var err error
		for range 10 {
			if said, err = m.run(t); err == nil {
				break
			}
			t.Logf("run %d: %v: %s", m.runs, err, said)
		}
		require.NoError(t, err)
		require.Empty(t, m.settled(t))
		report := m.auditor.Stop(t)
		report.Require(t)
		require.Positive(t, report.Unknown[plane.Name], "the auditor has not noticed")
		t.Logf("etcd of the %s stopped for %s: %d runs, %s", name, pause, m.runs, time.Since(m.began).Round(10*time.Millisecond))
		r.cluster.AwaitAvailable(t, m.to)
	}
}

// TestTwoRunsAtOnce: both have found that nothing is under way before either writes its receipt.
// One of them moves the Cluster, and the other is refused.
func TestTwoRunsAtOnce(t *testing.T) {
	r := newRig(t, ropewalk)
	m := r.begin()
	m.proxies[m.from].Set(faults.Together(func(r faults.Request) bool { return strings.Contains(r.Path, "/configmaps") }))
	first := m.start(t)
	m.runs = 0 // the second is no later one
	second := m.start(t)
	won, lost := first, second
	errs := []error{first.Wait(patience), second.Wait(patience)}
	t.Logf("the first (%v):\n%s\nthe second (%v):\n%s", errs[0], first.Log(), errs[1], second.Log())
	if errs[0] != nil {
		won, lost = lost, won
	}
	require.True(t, (errs[0] == nil) != (errs[1] == nil), "one of them goes through")
	require.Contains(t, won.Log(), "Done")
	require.Contains(t, lost.Log(), "another process goes on with a pivot of this Cluster")
	require.NotContains(t, lost.Log(), "Freezing")
	require.Empty(t, m.settled(t))
	m.auditor.Stop(t).Require(t)
	r.cluster.AwaitAvailable(t, m.to)
}
