// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package version chooses the highest version in a range from the tags of a
// repository. It is the one voice of the backends that have tags.
//
// A tag is a version where it has all three numbers, with or without a v before them (semver.org).
// Ranges are written as Flux users write them: ^1.2, ~1.2.3, 1.x, >=1.0.0 <2.0.0, 1.0.0 - 2.0.0,
// with commas or spaces for and, || for or. Pre-releases are left out unless the range names a
// pre-release: >=1.0.0-0.
//
// # Decisions
//
// The library comes from deps.dev. Masterminds/semver, which Flux uses, compiles its regular
// expressions whenever a program starts, which cost a small render one fifteenth of its CPU time.
// Ranges with != are not known to it.
package version
