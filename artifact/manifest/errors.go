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

// What callers may match with errors.Is. Errors of a store, such as those of
// the network, are passed on as they are, with the reference before them.
var (
	// ErrNotFound says that nothing is at the reference. It is that of oras-go, so
	// that what a repository says matches too.
	ErrNotFound = errdef.ErrNotFound
	// ErrDigest says that content is not what its digest, or its size, says.
	ErrDigest = errors.New("wrong digest")
	// ErrDamaged says that a store lost something that it names. In a layout nobody
	// may know then what is attached to what.
	ErrDamaged = errors.New("damaged")
	// ErrShape says that something is no artifact of the shape of this package,
	// or cannot become one.
	ErrShape = errors.New("not a render")
	// ErrLimit says that something is larger than its limit.
	ErrLimit = errors.New("over the limit")
	// ErrReference says that a reference or a tag is written wrongly.
	ErrReference = errors.New("bad reference")
	// ErrNotLayout says that a folder or a file is no OCI image layout, or holds
	// files of others.
	ErrNotLayout = errors.New("not an image layout")
	// ErrBusy says that another process has the layout for too long, or changed
	// the archive meanwhile, or that others write the same to a registry at once: a
	// retry may help.
	ErrBusy = errors.New("busy")
)

// lostError says that a store names content and does not have it: ErrDamaged, and
// ErrNotFound for who asks whether it is there.
type lostError struct{ digest, why string }

// Error says what is gone, and how to make that good.
func (e *lostError) Error() string {
	return e.why + ": copy the artifact again from where it is whole (artifact copy --check), or push it again"
}

// errLost is an error of content that something in a store names, which is missing
// there. A layout says itself what is wrong.
func errLost(d ocispec.Descriptor, err error) error {
	lost := &lostError{digest: d.Digest.String(), why: d.Digest.String() + " is named there and is gone"}
	var own *refusal
	if errors.As(err, &own) {
		lost.why = own.message
	}
	return lost
}

// Lost is the digest of what is gone.
func (e *lostError) Lost() string { return e.digest }

// Is knows it as ErrDamaged and as ErrNotFound.
func (e *lostError) Is(target error) bool { return target == ErrDamaged || target == ErrNotFound }

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
func Refuse(is error, format string, args ...any) error {
	return &refusal{is: is, message: fmt.Sprintf(format, args...)}
}

// about puts the reference before an error, and keeps the error. One that names
// the reference already is left alone.
func About(reference string, err error) error {
	if err == nil || strings.Contains(err.Error(), fmt.Sprintf("%.200q", reference)) {
		return err
	}
	return fmt.Errorf("%.200q: %w", reference, err)
}
