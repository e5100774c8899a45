// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"fmt"

	"github.com/ropewalk/ropewalk/render/object"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// WaitError is returned for an object that does not exist yet.
type WaitError struct {
	// Reason is that of the condition Ready.
	Reason string
	// Watched says that an event tells when it is there.
	Watched bool
	// At is the field of the Transform that names it, "" where the message has none.
	At string
	// Message says what is missing.
	Message string
}

// Error returns what is missing, and where it is named.
func (e *WaitError) Error() string {
	if e.At == "" {
		return e.Message
	}
	return e.At + ": " + e.Message
}

// missing returns the error for an input that does not exist.
func missing(at string, watched bool, what, namespace string) error {
	return &WaitError{
		Reason: v1alpha1.FetchFailedReason, Watched: watched, At: at,
		Message: fmt.Sprintf("%s does not exist in namespace %q: create it, or set optional: true", what, namespace),
	}
}

// Mistake returns a mistake of the user at a field of the Transform.
func Mistake(field, hint, format string, args ...any) error {
	return Options{}.mistake(field, hint, format, args...)
}

// mistake returns a mistake of the user at the position of the field of the Transform.
func (o Options) mistake(field, hint, format string, args ...any) error {
	pos, path := o.place(field)
	return object.Errors{{Stage: object.StageSpec, Pos: pos, Path: path, Hint: hint, Err: fmt.Errorf(format, args...)}}
}

// place returns the position of a field of the Transform.
func (o Options) place(field string) (object.Pos, string) {
	if o.Place == nil {
		return object.Pos{File: field}, ""
	}
	return o.Place(field)
}

// duplicatePolicy returns the error for a policy of the Transform that has the name of one of the
// project.
func (o Options) duplicatePolicy(t *v1alpha1.Transform, name string) error {
	field := "spec.policies"
	for i, p := range t.Spec.Policies {
		if p.Name == name {
			field = fmt.Sprintf("spec.policies[%d].name", i)
		}
	}
	return o.mistake(field, "rename one of them, so that a violation names its policy", "policy %q is in the project too", name)
}
