// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"errors"

	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/artifact/signature"
)

// What callers may match with errors.Is, see package manifest.
var (
	ErrNotFound  = manifest.ErrNotFound
	ErrDigest    = manifest.ErrDigest
	ErrDamaged   = manifest.ErrDamaged
	ErrShape     = manifest.ErrShape
	ErrLimit     = manifest.ErrLimit
	ErrReference = manifest.ErrReference
	ErrNotLayout = manifest.ErrNotLayout
	ErrBusy      = manifest.ErrBusy
	// ErrNoDelete: a registry deletes nothing.
	ErrNoDelete = errors.New("the registry does not delete: allow it there, or have its own clean-up take untagged content")
	// ErrSignature: a signature is missing, or made by no known key.
	ErrSignature = signature.ErrSignature
)

// SourceError is an error of [Copy] that is of the store that it copies from: what
// is there, or how it answers. Errors of Copy without it are of the destination.
type SourceError struct{ Err error }

// Error returns the message of the error of the source.
func (e *SourceError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the source.
func (e *SourceError) Unwrap() error { return e.Err }

// ofSource marks an error as one of the source of a copy.
func ofSource(err error) error {
	if err == nil {
		return nil
	}
	return &SourceError{Err: err}
}
