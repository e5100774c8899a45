// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import "github.com/ropewalk/ropewalk/render/object"

// Level says which part of its version a change of a module raises.
type Level string

// The levels, the least first.
const (
	// LevelPatch is a change that no user has to know of.
	LevelPatch Level = "patch"
	LevelMinor Level = "minor"
	// LevelUndecided is a change of which it cannot be proven that no user is broken by it.
	LevelUndecided Level = "undecided"
	LevelMajor     Level = "major"
)

// Change is a difference between what two versions of a module take.
type Change struct {
	Level Level
	// Path leads to the input, "" is all of it: ports[].name is in the items of a list, and
	// labels[string] the members of a map whose names match.
	Path string
	// Text says what changed, in a sentence without the input.
	Text string
	// Old and New are the places in the two versions; not valid if a version has no such place.
	Old, New object.Pos
}
