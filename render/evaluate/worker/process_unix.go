// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker

import (
	"os"
	"syscall"
)

// workerDir returns the working folder of a worker, which says nothing of this process.
func workerDir() string { return "/" }

// signalled reports whether a signal ended the process.
func signalled(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}
