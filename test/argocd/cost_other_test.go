// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package argocd

import "time"

// cpu is 0: what a process uses is told by Linux only.
func cpu(int) time.Duration { return 0 }

// forgetPeak does nothing, for the same reason.
func forgetPeak(int) {}

// highest is 0, for the same reason.
func highest(int) int64 { return 0 }
