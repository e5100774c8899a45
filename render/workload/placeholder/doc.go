// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package placeholder reads the placeholders of Score, such as
// ${resources.db.host}, by the grammar of the Score specification 0.4.1 and of
// framework/substitution.go of score-go:
//
//	\$((?:\$?{([^}]*)})|\$)
//
// applied from left to right:
//
//   - ${ref} is a reference; it ends at the first closing brace and does not nest.
//   - $${ref} is the literal text ${ref}, and $$ elsewhere the literal text $.
//   - Any other dollar, and a ${ that is not closed, is literal.
//   - A reference is split at its dots; \. is a dot inside of a step. There is no
//     other escape.
//
// # Invariants
//
// Parse is total: there is no invalid text, only references that cannot be
// resolved, which the caller reports with Offset. Writing all parts with
// [Part.String] and parsing them again gives the same parts. The time is linear
// in the length of the text, also where thousands of braces stay open.
package placeholder
