// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"os"
	"syscall"
)

// workerDir returns the working folder of a worker: the folder of this process.
func workerDir() string { return "" }

// workerAttributes returns the defaults. A worker ends with this process because its input does.
func workerAttributes() *syscall.SysProcAttr { return nil }

// signalled returns false, because Windows has no signals.
func signalled(*os.ProcessState) bool { return false }
