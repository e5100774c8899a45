// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package builder makes documents of ours from what a document of others says.
//
// [Fields] and [Pairs] make maps, each value with the position of the part that it is made
// of, and [Written] leads errors on what was made back to what the author wrote.
//
// Callers: render/workload/score and the front ends, render/workload/frontend/apps,
// render/workload/frontend/compose and render/workload/frontend/function.
package builder
