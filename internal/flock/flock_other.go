// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix || solaris || aix || illumos

package flock

import "os"

// Supported reports whether locks exclude each other on this platform.
const Supported = false

func tryLock(*os.File) bool { return true }

func unlock(*os.File) {}
