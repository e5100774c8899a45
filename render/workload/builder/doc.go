// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package builder converts documents of other formats into documents of Ropewalk.
//
// [Fields] and [Pairs] make maps, each value with the position of its source, and [Written] maps
// errors on the result back to the text of the author.
package builder
