// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package builder makes documents of Ropewalk from those of other formats.
//
// [Fields] and [Pairs] make maps, each value with the position of the part that it is made
// of, and [Written] leads errors on what was made back to what the author wrote.
package builder
