// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package evaluate

// What the kernel can hold: nothing.
const (
	hardLimit  = false
	exactLimit = false
)
