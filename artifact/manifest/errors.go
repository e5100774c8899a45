// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
)

// What callers may match with errors.Is. Errors of a store, such as network errors, are passed on
// as they are, with the reference before them.
var (
	// ErrNotFound: nothing is at the reference. It is the sentinel of oras-go, so that errors of a
	// repository match too.
	ErrNotFound = errdef.ErrNotFound
	// ErrDigest: content does not match its digest or its size.
	ErrDigest = errors.New("wrong digest")
	// ErrDamaged: a store lost something that it names. In a layout it is unknown then
	// what is attached to what.
	ErrDamaged = errors.New("damaged")
	// ErrShape: something is not an artifact of the format of package artifact, or cannot become an
	// artifact.
	ErrShape = errors.New("not a render")
	// ErrLimit: something is larger than its limit.
	ErrLimit = errors.New("over the limit")
	// ErrReference: a reference or a tag is malformed.
	ErrReference = errors.New("bad reference")
	// ErrNotLayout: a directory or a file is not an OCI image layout, or contains
	// files of others.
	ErrNotLayout = errors.New("not an image layout")
	// ErrBusy: another process has locked the layout for too long, or changed
	// the archive meanwhile, or other clients write the same to a registry at once: a
	// retry may help.
	ErrBusy = errors.New("busy")
)

// lostError is the error of a store that names content and does not have it: it is
// ErrDamaged, and ErrNotFound.
type lostError struct{ digest, why string }

// Error says what is missing, and how to restore it.
func (e *lostError) Error() string {
	return e.why + ": copy the artifact again from a complete source (artifact copy --check), or push it again"
}

// errLost returns the error for content that something in a store names, and that is missing
// there. The message of a layout, which explains the fault itself, is kept.
func errLost(d ocispec.Descriptor, err error) error {
	lost := &lostError{digest: d.Digest.String(), why: d.Digest.String() + " is referenced there but missing"}
	var own *refusal
	if errors.As(err, &own) {
		lost.why = own.message
	}
	return lost
}

// Lost returns the digest of the missing content.
func (e *lostError) Lost() string { return e.digest }

// Is reports whether target is ErrDamaged or ErrNotFound.
func (e *lostError) Is(target error) bool { return target == ErrDamaged || target == ErrNotFound }

// refusal is a message that stands for a sentinel.
type refusal struct {
	is      error
	message string
}

// Error returns the message.
func (r *refusal) Error() string { return r.message }

// Unwrap returns the sentinel.
func (r *refusal) Unwrap() error { return r.is }

// Refuse returns an error that has its own message and matches is with errors.Is.
func Refuse(is error, format string, args ...any) error {
	return &refusal{is: is, message: fmt.Sprintf(format, args...)}
}

// OverLimit returns an [ErrLimit] that says that the limit is fixed: no command has a flag
// for the limits of artifacts.
func OverLimit(format string, args ...any) error {
	return Refuse(ErrLimit, format+" (no flag raises this limit)", args...)
}

// About puts the reference before an error, which stays the cause. An error that names the
// reference already is returned unchanged.
func About(reference string, err error) error {
	if err == nil || strings.Contains(err.Error(), fmt.Sprintf("%.200q", reference)) {
		return err
	}
	return fmt.Errorf("%.200q: %w", reference, err)
}
