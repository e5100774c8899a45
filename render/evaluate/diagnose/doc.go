// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package diagnose turns errors of CUE into errors that users can act on.
//
// CUE's errors are about what clashes inside of CUE. What users read is made of three
// things: CUE has the position, the schema has what was expected, and the table of a
// [Filling] has the line of the user's own file. CUE hides errors behind others, so a
// wrong part is taken out and the rest is validated again, within bounds, until no
// error is left. A value that fits none of several alternatives is compared with the
// nearest of them.
//
// The package knows a module only by the interface [Module].
package diagnose
