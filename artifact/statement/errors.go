// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package statement

import (
	"errors"
	"fmt"
)

// What callers may match with errors.Is.
var (
	// ErrSubject: a statement has no subject, or one without a digest.
	ErrSubject = errors.New("bad subject")
	// ErrSource: a source cannot be in a provenance.
	ErrSource = errors.New("bad source")
	// ErrImage: something is no reference to an image.
	ErrImage = errors.New("bad image reference")
	// ErrPredicate: a predicate is missing something or is no JSON.
	ErrPredicate = errors.New("bad predicate")
)

func errSubject(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSubject, fmt.Sprintf(format, args...))
}
