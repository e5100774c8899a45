// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package process

import "time"

// CPUTime is the time of day, of which differences bound what was used of the processors.
func CPUTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
