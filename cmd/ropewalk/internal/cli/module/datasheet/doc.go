// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package datasheet writes what a module takes and makes for those who use it: as text, Markdown and a
// page, and as a file of values to start from.
//
// # Invariants
//
// A module may be a stranger's: whatever is in its names, texts and defaults is neither markup nor a
// control sequence in what is written, and a file of values holds no line that is none of its inputs.
package datasheet
