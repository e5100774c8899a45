// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"os/exec"
	"syscall"
)

// isolate gives cmd a process group, and a signal for when this process dies
// without a cleanup, as a test binary does that runs out of time.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
