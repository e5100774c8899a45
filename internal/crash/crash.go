// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package crash turns panics into errors. What a program panics with may hold a value
// of its input, such as a secret, so that a message has its type and its place only; the
// text of an error of the Go runtime has indexes and types, and no values.
package crash

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
)

// Panic is a panic.
type Panic struct {
	text string
	// Stack is the stack of the goroutine that panicked. It has no values either.
	Stack string
}

// Error says what the panic was, and where it happened.
func (p *Panic) Error() string { return p.text }

// Of returns the Panic for a value that a deferred function recovered. A value that is a Panic
// already is returned unchanged, because a goroutine may pass its panic on to another goroutine.
func Of(value any) *Panic {
	if p, ok := value.(*Panic); ok {
		return p
	}
	text := fmt.Sprintf("a value of type %T", value)
	if err, ok := value.(error); ok {
		if known := (runtime.Error)(nil); errors.As(err, &known) {
			text = known.Error()
		}
	}
	return &Panic{text: "ropewalk panicked, please report it: " + text + place(), Stack: string(debug.Stack())}
}

// Recover turns a panic into the error of the function that defers it.
func Recover(err *error) {
	if p := recover(); p != nil {
		*err = Of(p)
	}
}

// place names the function and the line that panicked, or returns "" where the stack does not
// show them.
func place() string {
	frames := make([]uintptr, 64)
	all := runtime.CallersFrames(frames[:runtime.Callers(0, frames)])
	panicked := false
	for {
		f, hasMore := all.Next()
		inRuntime := strings.HasPrefix(f.Function, "runtime.")
		switch {
		case f.Function == "runtime.gopanic":
			panicked = true
		case panicked && !inRuntime:
			return fmt.Sprintf(" (%s, %s:%d)", f.Function, path.Base(f.File), f.Line)
		}
		if !hasMore {
			return ""
		}
	}
}
