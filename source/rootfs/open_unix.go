// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package rootfs

import "syscall"

// nonBlock opens a pipe without waiting for its other end.
const nonBlock = syscall.O_NONBLOCK
