// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package signature

import "errors"

// What callers may match with errors.Is.
var (
	// ErrSignature: a signature is by none of the keys, or not of the
	// subject.
	ErrSignature = errors.New("not signed")
	// ErrMalformed: something is no bundle, no statement or no payload.
	ErrMalformed = errors.New("malformed")
	// ErrKey: a key cannot be read or used.
	ErrKey = errors.New("bad key")
	// ErrPassword: the password of a private key is missing or wrong.
	ErrPassword = errors.New("bad password")
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

// refuse is an error with a message of its own that errors.Is knows as is.
func refuse(is error, message string) error { return &refusal{is: is, message: message} }
