// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package arch asserts what the compiler does not: which package may import
// which and why, that every package says what it is, how large things may
// grow, and that the house is in order. Its tests read the source tree; it has
// no code of its own.
package arch
