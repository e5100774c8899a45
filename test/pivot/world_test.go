// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// TestMain ends the world that tests have started.
func TestMain(m *testing.M) { os.Exit(harness.Run(m)) }

// TestAClusterBecomesAvailable on real Cluster API, and follows what is asked of it.
func TestAClusterBecomesAvailable(t *testing.T) {
	w := harness.Start(t)
	began := time.Now()
	c := w.NewCluster(t, w.A, w.Namespace(t, w.A), "shed", 1, 2)
	t.Logf("available after %s", time.Since(began).Round(10*time.Millisecond))
	there, err := w.Cloud.Of(t.Context(), c.Namespace, c.Name)
	require.NoError(t, err)
	require.Len(t, there.Machines, 3)

	began = time.Now()
	c.ScaleWorkers(t, w.A, 3)
	t.Logf("a worker more after %s", time.Since(began).Round(10*time.Millisecond))
	began = time.Now()
	before, after := c.ReplaceControlPlane(t, w.A)
	t.Logf("%s is %s after %s", before, after, time.Since(began).Round(10*time.Millisecond))
	there, err = w.Cloud.Of(t.Context(), c.Namespace, c.Name)
	require.NoError(t, err)
	require.Len(t, there.Machines, 4)
	require.Len(t, there.Journal, 6, "%v", there.Journal)
}
