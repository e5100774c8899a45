// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package rootfs

// nonBlock is nothing where no pipe has a place in the file system.
const nonBlock = 0
