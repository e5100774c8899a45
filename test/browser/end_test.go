// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAllProcessesOfABrowserHaveEnded promises that nothing writes to the folder of a
// browser any more.
func TestAllProcessesOfABrowserHaveEnded(t *testing.T) {
	for range 10 {
		dir := t.TempDir()
		cmd := exec.Command("sh", "-c", `for i in 1 2 3 4; do (while :; do echo x > "$0/$i.$(date +%N)"; done) & done; echo > "$0/ready"; wait`, dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil }, 10*time.Second, time.Millisecond)
		require.True(t, running(cmd.Process.Pid))
		end(cmd)
		require.False(t, running(cmd.Process.Pid))
		require.NoError(t, os.RemoveAll(dir))
		require.NoDirExists(t, dir)
	}
}
