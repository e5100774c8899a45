// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package source

import "errors"

// What callers may match with errors.Is. Every error names the path or the
// reference at fault.
var (
	// ErrNotFound says that nothing is at the reference.
	ErrNotFound = errors.New("not found")
	// ErrPath says that a path leaves its root or cannot be in a tree.
	ErrPath = errors.New("bad path")
	// ErrNotRegular says that something is no regular file: a symlink, a
	// device, a pipe or a socket.
	ErrNotRegular = errors.New("not a regular file")
	// ErrLimit says that a tree is larger than its limits.
	ErrLimit = errors.New("over the limit")
)

// refusal is a message that stands for a sentinel.
type refusal struct {
	is      error
	message string
}

// Error is the message.
func (r *refusal) Error() string { return r.message }

// Unwrap is the sentinel.
func (r *refusal) Unwrap() error { return r.is }

// Refuse is an error with a message of its own that errors.Is knows as is.
// Backends use it, so that a message reads well and callers can still tell
// errors apart.
func Refuse(is error, message string) error { return &refusal{is: is, message: message} }
