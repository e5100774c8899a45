// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"os"
	"syscall"
)

// workerDir is the working folder of a worker: that of this process.
func workerDir() string { return "" }

// workerAttributes are the defaults. A worker ends with this process because
// its input does.
func workerAttributes() *syscall.SysProcAttr { return nil }

// signalled is what Windows does not know.
func signalled(*os.ProcessState) bool { return false }
