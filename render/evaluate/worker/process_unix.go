// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker

import (
	"os"
	"syscall"
)

// workerDir is the working folder of a worker: none that says anything.
func workerDir() string { return "/" }

// killGroup ends a process and whatever it may have started.
func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	// The group is made before the program starts, but not at the same time.
	_ = p.Kill()
}

// signalled reports whether a signal ended the process.
func signalled(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}
