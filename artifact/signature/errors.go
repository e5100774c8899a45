// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"errors"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

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

// refuse returns an error that has its own message and matches is with errors.Is.
func refuse(is error, message string) error { return manifest.Refuse(is, "%s", message) }
