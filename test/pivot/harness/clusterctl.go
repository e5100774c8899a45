// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Clusterctl is what a run of clusterctl took and said.
type Clusterctl struct {
	Took   time.Duration
	Output string
	Err    error
}

// Clusterctl runs the real clusterctl move, which moves all of a namespace.
func (w *World) Clusterctl(t testing.TB, namespace, fromKubeconfig, toKubeconfig string) Clusterctl {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), w.Program(t, "clusterctl"), "move", "--namespace="+namespace, //nolint:gosec // a program of ours
		"--kubeconfig="+fromKubeconfig, "--to-kubeconfig="+toKubeconfig)
	cmd.Env = w.Environment("CLUSTERCTL_DISABLE_VERSIONCHECK=true", "XDG_CONFIG_HOME="+filepath.Join(w.Dir, "home"))
	began := time.Now()
	out, err := cmd.CombinedOutput()
	return Clusterctl{time.Since(began), string(out), err}
}

// MoveByClusterctl moves the Cluster by clusterctl and waits until the target has it available.
func (c *Cluster) MoveByClusterctl(t testing.TB, from *Plane) Clusterctl {
	t.Helper()
	to := c.world.Other(from)
	out := c.world.Clusterctl(t, c.Namespace, from.Kubeconfig, to.Kubeconfig)
	require.NoError(t, out.Err, "%s", out.Output)
	c.AwaitAvailable(t, to)
	return out
}
