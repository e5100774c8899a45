// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
)

// What callers may match with errors.Is. Every error names the path or the
// reference at fault.
var (
	// ErrNotFound says that nothing is at the reference.
	ErrNotFound = errors.New("not found")
	// ErrAbsent says that a server answered that it has nothing at the reference:
	// no such repository, tag or version. It is ErrNotFound too.
	ErrAbsent = Refuse(ErrNotFound, "not found by the server")
	// ErrPath says that a path leaves its root or cannot be in a tree.
	ErrPath = errors.New("bad path")
	// ErrNotRegular says that something is no regular file: a symlink, a
	// device, a pipe or a socket.
	ErrNotRegular = errors.New("not a regular file")
	// ErrLimit says that a tree is larger than its limits.
	ErrLimit = errors.New("over the limit")
	// ErrReference says that a reference is written wrongly.
	ErrReference = errors.New("bad reference")
	// ErrUnauthorized says that a server wants credentials, others, or fresher
	// ones (HTTP 401 and 403, a wrong key).
	ErrUnauthorized = errors.New("unauthorized")
	// ErrUnavailable says that a server did not answer as it should, and may do
	// so later: time-outs, refused connections, HTTP 429 and 5xx.
	ErrUnavailable = errors.New("unavailable")
	// ErrHostKey says that a host has another key than the known key.
	ErrHostKey = errors.New("unknown host key")
	// ErrDigest says that content is not what its digest says.
	ErrDigest = errors.New("wrong digest")
	// ErrSignature says that a signature is missing or not by a known key.
	ErrSignature = errors.New("not signed")
	// ErrLocked says that a reference is not in the lock, or leads elsewhere now.
	ErrLocked = errors.New("not as locked")
	// ErrOffline says that something is not at hand and no server may be asked.
	ErrOffline = errors.New("not in the cache")
)

// refusal is a message that stands for a sentinel.
type refusal struct {
	is      error
	message string
}

// Error returns the message.
func (r *refusal) Error() string { return r.message }

// Unwrap returns the sentinel.
func (r *refusal) Unwrap() error { return r.is }

// PlainError says that a server would have to be spoken to without TLS, which
// was not allowed for it. It comes with one of the sentinels.
type PlainError struct {
	// Host names the server, with the port that the reference has.
	Host string
}

// Error says what is wrong, without what to do.
func (p *PlainError) Error() string { return "not encrypted: " + p.Host }

// Refuse returns an error that has its own message and matches is with errors.Is. Backends
// use it, so that a message reads well and callers can still tell errors apart.
func Refuse(is error, message string) error { return &refusal{is: is, message: message} }

// OverLimit returns an [ErrLimit] that says that the limit is fixed: no adapter has a flag
// for the limits of sources.
func OverLimit(format string, args ...any) error {
	return Refuse(ErrLimit, fmt.Sprintf(format, args...)+" (no flag raises this limit)")
}
