// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import "errors"

// What callers may match with errors.Is. A file that is not there any more is
// delivery.ErrGone.
var (
	// ErrName says that something is no name of an object, or no digest, and so
	// never becomes a path.
	ErrName = errors.New("bad name")
	// ErrForeign says that an ExternalArtifact of the name that is needed belongs to
	// another owner.
	ErrForeign = errors.New("has another owner")
)
