// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package worker

import "os"

// peakMemory returns 0: the size is not known.
func peakMemory(*os.ProcessState) int64 { return 0 }
