// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package placeholder reads the placeholders of Score: ${resources.db.host} in
// the middle of text.
//
// The grammar is the regular expression
//
//	\$((?:\$?{([^}]*)})|\$)
//
// applied from left to right, which means:
//
//   - ${ref} is a reference; it ends at the first closing brace and does not nest.
//   - $${ref} is the literal text ${ref}, and $$ elsewhere the literal text $.
//   - Any other dollar, and a ${ that nothing closes, is literal.
//   - A reference is split at its dots; \. is a dot inside of a step. There is no
//     other escape.
//
// Source: the Score specification 0.4.1, and framework/substitution.go of
// score-go, which is its measure.
//
// # Invariants
//
// Parse is total: there is no wrong text, only references that nobody can
// resolve, which the caller reports with Offset. Writing all parts with
// [Part.String] and parsing them again gives the same parts. The time is linear
// in the length of the text, also where thousands of braces stay open.
//
// # Decisions
//
// The scanner is written by hand, because a regular expression would be compiled
// at every start of every command, and one without placeholders, the usual text,
// costs one search for a dollar this way. The test holds it against the regular
// expression.
//
// References and literals are different parts. A resolver that put outputs back
// into one string, to be searched later, would let an author write what only a
// provisioner may say.
//
// render/workload and render/workload/score call it.
package placeholder
