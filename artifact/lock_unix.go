// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package artifact

import (
	"os"

	"golang.org/x/sys/unix"
)

// canLock says that tryLock can tell.
const canLock = true

// tryLock takes the lock of a file and reports whether nobody else held it.
// The lock ends with the process, however that ends.
func tryLock(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil //nolint:gosec // a descriptor fits an int
}
