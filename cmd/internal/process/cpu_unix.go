// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package process

import (
	"syscall"
	"time"
)

// CPUTime returns what this process has used of the processors. If the system does not know it, CPUTime
// returns the time of day, whose differences bound what was used.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
