// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package bench

// residentUnit is the unit of Rusage.Maxrss in bytes: kilobytes on the BSDs,
// bytes on macOS, which is where this is measured.
const residentUnit = 1
