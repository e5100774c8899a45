// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncAll writes everything below an open directory to the disk, which is far faster than file by
// file.
func syncAll(dir *os.File) error {
	return unix.Syncfs(int(dir.Fd())) //nolint:gosec // a descriptor fits an int
}
