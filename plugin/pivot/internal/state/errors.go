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
	// ErrUnfinished: a pivot is under way, and Resume is not set.
	ErrUnfinished = errors.New("a pivot is under way")
	// ErrStep: what is asked for does not fit the step of the pivot, or there is none.
	ErrStep = errors.New("not at this step")
	// ErrAborted: the pivot failed before its commit, and was undone.
	ErrAborted = errors.New("aborted: the source is in charge as before")
)

// errLink marks that a request got no answer.
var errLink = errors.New("the target does not answer")

// errDeleted: the source loses objects. It is for the user to decide what happens to those that
// the target has got.
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

// wrong returns an ErrStep with a text of its own.
func wrong(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &stepError{err.Error(), errors.Unwrap(err)}
}

// refusal is the error of a request that is not carried out.
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

// refuse returns the error of a request that is not carried out.
func refuse(why Refusal, format string, args ...any) error {
	return &refusal{why: why, err: fmt.Errorf(format, args...)}
}

// isRefused reports whether the target has refused a request for a reason.
func isRefused(err error, why Refusal) bool {
	var refused *refusal
	return errors.As(err, &refused) && refused.why == why
}
