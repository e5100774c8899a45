// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package worker

import "syscall"

// workerAttributes returns the attributes for a process group of its own. The worker ends with this
// process because its input does.
func workerAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
