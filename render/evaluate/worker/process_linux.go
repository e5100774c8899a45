// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// workerAttributes give a worker a process group of its own, so that a signal
// to ours does not reach it, and its end when this process ends.
func workerAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit returns true when the process has ended, and leaves it to be
// reaped; false at once where that cannot be waited for.
func awaitExit(pid int) bool {
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// peakMemory is the largest resident size of a process that has ended, in
// bytes.
func peakMemory(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10
}
