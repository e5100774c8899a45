// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
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
	message string
}

// Error says what is missing.
func (e *WaitError) Error() string { return e.message }

func waiting(reason string, watched bool, format string, args ...any) error {
	return &WaitError{Reason: reason, Watched: watched, message: fmt.Sprintf(format, args...)}
}

// DeniedError says that the flags of the controller forbid something.
type DeniedError struct{ message string }

// Error says what is forbidden, and by what.
func (e *DeniedError) Error() string { return e.message }

// mistake is one of the user's at a field of the Transform.
func mistake(path, hint, format string, args ...any) error {
	return object.Errors{{Stage: object.StageSpec, Pos: object.Pos{File: path}, Hint: hint, Err: fmt.Errorf(format, args...)}}
}

// twice says that a policy of the Transform has the name of one of the project.
func twice(t *v1alpha1.Transform, name string) *object.Error {
	path := "spec.policies"
	for i, p := range t.Spec.Policies {
		if p.Name == name {
			path = fmt.Sprintf("spec.policies[%d].name", i)
		}
	}
	return &object.Error{
		Stage: object.StageSpec, Pos: object.Pos{File: path}, Err: fmt.Errorf("policy %q is in the project too", name),
		Hint: "rename one of them, so that a violation names its policy",
	}
}

// errNoText says that an entry of a ConfigMap is not there.
var errNoText = errors.New("no such entry")
