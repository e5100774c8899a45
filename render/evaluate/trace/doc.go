// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package trace finds the line of the input that a rendered value was computed from.
//
// CUE knows most of the way, comprehension variables included; the rest is read from the
// syntax of the module. A trace evaluates again: it is for errors and explanations.
//
// Tested by render/evaluate/inprocess.
package trace
