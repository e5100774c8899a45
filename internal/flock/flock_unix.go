// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !solaris && !aix && !illumos

package flock

import (
	"errors"
	"os"
	"syscall"
)

// Supported reports whether locks exclude each other on this platform.
const Supported = true

// tryLock reports whether the lock was granted. Where the file system has no locks, such as
// some mounts by network, it grants the lock: only another holder refuses it.
func tryLock(f *os.File) bool {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:gosec // a descriptor fits an int
		if !errors.Is(err, syscall.EINTR) {
			return !errors.Is(err, syscall.EWOULDBLOCK)
		}
	}
}

func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) //nolint:gosec // a descriptor fits an int
}
