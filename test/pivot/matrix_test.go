// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAKillAtAnyWriteConverges: the program is killed before and after durable writes of both
// planes, and the next run ends the move. make pivot kills at every write, and make e2e at
// some of each step.
func TestAKillAtAnyWriteConverges(t *testing.T) {
	r := newRig(t, ropewalk)
	sources, targets := r.count(t)
	var outcomes []outcome
	began := time.Now()
	for _, at := range points(sources, targets) {
		o := r.kill(t, at)
		outcomes = append(outcomes, o)
		if o.stuck != "" {
			break // the next move has no start
		}
		if len(outcomes)%20 == 0 {
			t.Logf("%d points in %s", len(outcomes), time.Since(began).Round(time.Second))
		}
	}
	kills := 0
	for _, o := range outcomes {
		if o.killed {
			kills++
		}
	}
	t.Logf("%d kills in %s:\n%s", kills, time.Since(began).Round(time.Second), table(outcomes))
	for _, o := range outcomes {
		require.Empty(t, o.stuck, "%s: %s", o.point, o.said)
		require.Empty(t, o.violated, "%s", o.point)
	}
	require.Greater(t, kills, len(outcomes)*3/4, "moves end before the point at which they are killed")
	c, p := r.Standing(t)
	c.AwaitAvailable(t, p)
}

// count moves once, and returns how many durable writes that takes.
func (r *rig) count(t *testing.T) (sources, targets int) {
	t.Helper()
	m := r.begin()
	said, err := m.run(t)
	require.NoError(t, err, "%s", said)
	require.Empty(t, m.settled(t))
	m.auditor.Stop(t).Require(t)
	sources, targets = len(m.proxies[m.from].Writes()), len(m.proxies[m.to].Writes())
	t.Logf("a move writes %d times to the source and %d times to the target", sources, targets)
	require.GreaterOrEqual(t, sources, 9)
	require.GreaterOrEqual(t, targets, 9)
	return sources, targets
}

// share is which part of all writes is killed at, of how many: ROPEWALK_KILLS=1/4 is the first
// of four, and all are one part.
func share() (part, of int) {
	if n, _ := fmt.Sscanf(os.Getenv("ROPEWALK_KILLS"), "%d/%d", &part, &of); n != 2 || of < 1 {
		return 1, 1
	}
	return part, of
}

// points are all, or three of each plane: the first write, one of the last, and one between.
func points(sources, targets int) []point {
	var out []point
	for _, plane := range []struct {
		source bool
		writes int
	}{{true, sources}, {false, targets}} {
		if all() {
			for write := 1; write <= plane.writes; write++ {
				if part, of := share(); write%of == part%of {
					out = append(out, point{plane.source, write, false}, point{plane.source, write, true})
				}
			}
			continue
		}
		n := plane.writes
		out = append(out,
			point{plane.source, 1, false}, point{plane.source, n / 2, true}, point{plane.source, n - 1, true})
	}
	return out
}
