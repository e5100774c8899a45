// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/pivot/audit"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// TestClusterctlMoves the standing Cluster to the other plane: what it takes, and which
// objects it moves. Nothing fails on its way, so that the invariants hold for it too.
func TestClusterctlMoves(t *testing.T) {
	w := harness.Start(t)
	c, from := w.Standing(t)
	to := w.Other(from)
	before, there := from.Objects(t, c.Namespace), to.Objects(t, c.Namespace)
	require.Empty(t, there)
	a := audit.Start(t, w, c, from)
	began := time.Now()
	moved := c.MoveByClusterctl(t, from)
	t.Logf("clusterctl move took %s, available in the target %s after the start", moved.Took.Round(10*time.Millisecond), time.Since(began).Round(10*time.Millisecond))
	a.Stop(t).Require(t)
	require.Empty(t, from.Objects(t, c.Namespace))
	after := to.Objects(t, c.Namespace)
	require.Equal(t, before, after)
	t.Logf("%d objects: %v", len(after), after)
}
