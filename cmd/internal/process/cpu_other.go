// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package process

import "time"

// CPUTime returns the time of day. Its differences bound what was used of the processors.
func CPUTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
