// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
)

// Errors that callers tell apart.
var (
	// ErrUnfinished means that a pivot is under way, and Resume is not set.
	ErrUnfinished = errors.New("a pivot is under way")
	// ErrStep means that the request does not fit the step of the pivot, or there is no pivot.
	ErrStep = errors.New("not at this step")
	// ErrAborted means that the pivot failed before its commit, and was undone.
	ErrAborted = errors.New("aborted: the source is in charge as before")
)

// errLink means that a request got no answer.
var errLink = errors.New("the target does not answer")

// errDeleted means that the source loses objects. The user decides what happens to the copies on the
// target.
var errDeleted = errors.New("is being deleted")

// stepError is an ErrStep with a text of its own.
type stepError struct {
	text string
	err  error
}

func (e *stepError) Error() string { return e.text }
func (e *stepError) Unwrap() error { return e.err }

// Is reports whether target is ErrStep.
func (e *stepError) Is(target error) bool { return target == ErrStep }

// stepErrorf returns an ErrStep with a text of its own.
func stepErrorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &stepError{err.Error(), errors.Unwrap(err)}
}

// refusal is the error for a request that the target does not carry out.
type refusal struct {
	why      Refusal
	findings inventory.Findings
	err      error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// Is reports whether target is ErrStep, and only a user can change the reason of the refusal.
func (r *refusal) Is(target error) bool {
	return target == ErrStep && (r.why == Blocked || r.why == TooLate)
}

// refuse returns the error for a request that the target does not carry out.
func refuse(why Refusal, format string, args ...any) error {
	return &refusal{why: why, err: fmt.Errorf(format, args...)}
}

// isRefused reports whether the target has refused a request for a reason.
func isRefused(err error, why Refusal) bool {
	var refused *refusal
	return errors.As(err, &refused) && refused.why == why
}
