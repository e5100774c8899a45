// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTwoThousandObjectsOfTenMebibytes move.
func TestTwoThousandObjectsOfTenMebibytes(t *testing.T) {
	r := newRig(t, ropewalk)
	const objects, size = 2000, 5 << 10
	_, from := r.Standing(t)
	r.cluster.Fill(t, from, objects, size)
	m := r.begin()
	p := m.start(t)
	require.NoError(t, p.Wait(2*patience), "%s", p.Log())
	t.Logf("%s", p.Log())
	require.Empty(t, m.settled(t))
	report := m.auditor.Stop(t)
	report.Require(t)
	require.Greater(t, report.Objects, objects)
	t.Logf("the target is in charge after %s, frozen for %s, at its end after %s, %d MiB at most, %d + %d writes",
		report.Active(m.to.Name).Round(10*time.Millisecond), report.Frozen().Round(10*time.Millisecond), time.Since(m.began).Round(10*time.Millisecond),
		p.Peak()>>20, len(m.proxies[m.from].Writes()), len(m.proxies[m.to].Writes()))
	r.cluster.Empty(t, m.to)
	r.cluster.AwaitAvailable(t, m.to)
}
