// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package stack gives the stack of the main goroutine at once the size that the
// command's libraries need while they set themselves up. The first of them to
// compile regular expressions recurses so deeply that the stack doubles five times,
// to 256 KiB, and each time is copied onto fresh pages: one and a half hundredths of
// the CPU time of a small render.
//
// It is imported by the command for that alone, and imports nothing: a package
// without imports is set up in the order of paths, before those of libraries that
// need others first (The Go Programming Language Specification, Package
// initialization). That it works before main is against the rule of the house, and
// its only use: what it does can be seen from nowhere.
//
// Callers: package main of cmd/ropewalk.
package stack

// size is more than half of what the stack is to have.
const size = 130 << 10

var _ = grow(false)

// grow needs a large stack to be called, and touches none of it: a page that is not
// touched costs nothing.
//
//go:noinline
func grow(use bool) byte {
	if !use {
		return 0
	}
	var low, high [size / 2]byte
	return touch(&low) + touch(&high)
}

//go:noinline
func touch(frame *[size / 2]byte) byte { return frame[0] }
