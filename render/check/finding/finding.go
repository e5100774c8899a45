// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package finding is the vocabulary of render/check: a [Finding], the [Value] of
// an object that is under check and that findings are reported at, and the words
// for values in messages ([Describe], [Nearest]).
//
// No message shows a value of an object that may hold secrets: everything that
// shows one asks [Value.Secret]. A [Value] belongs to one check of one object and
// is not safe for concurrent use.
package finding

import "github.com/ropewalk/ropewalk/render/object"

// Finding is one thing wrong with one rendered object.
type Finding struct {
	Node     object.ID
	Path     object.Path
	Severity object.Severity
	// Message says what is wrong and what was expected.
	Message string
	// Hint says what to do, "" where the message says it already.
	Hint string
	// Rule names the check, for programs that read findings; it is one of the
	// Rule constants.
	Rule string
}
