// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package programs

import (
	"os"
	"syscall"
)

// lock waits until no other process holds the lock of a file. The system gives it
// back when the process ends, however that is.
func lock(name string) (unlock func(), _ error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // in the user's cache
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil // which gives it back
}
