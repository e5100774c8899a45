// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// ErrNoEngine is the error of a component which needs kustomize or Helm in a program without them.
var ErrNoEngine = errors.New("the program ropewalk-components, which builds kustomizations and charts, is not installed")

// Limits of one component.
const (
	// MaxObjects limits the objects of a component.
	MaxObjects = 20_000
	// MaxBytes limits what an engine writes, in bytes.
	MaxBytes = 64 << 20
)

// Request is one component to build.
type Request struct {
	// Name is the name of the spec.
	Name string
	// Component says how to build. Its paths are relative to Dir.
	Component spec.Component
	// FS holds the files; Dir is a folder of it, "." for its root.
	FS  fs.FS
	Dir string
	// Context is the context of the spec.
	Context object.Context
	// At is the place, as the user knows it, of a line and column of a file of FS; both
	// from 1, 0 where not known.
	At func(name string, line, column int) object.Pos
}

// Object is one object of a component.
type Object struct {
	Object object.Object
	// Pos is the line of the file that the object comes from.
	Pos object.Pos
	// Phase orders the objects of a component: objects of a phase come when all objects of
	// earlier phases are ready. Objects without an order of their own have phase 0; a phase
	// may be negative.
	Phase int
	// PhaseName names it, such as "pre-install hooks"; "" for phase 0.
	PhaseName string
	// ReadyWhen and Apply are passed on to the node.
	ReadyWhen []object.Ready
	Apply     object.Apply
}

// Output is the result of an engine.
type Output struct {
	// Objects are in the order of the engine. A List is expanded by [Nodes].
	Objects  []Object
	Warnings object.Errors
}

// Engine builds components of one kind. The error is an object.Errors with all mistakes, or
// wraps the error of ctx.
type Engine func(ctx context.Context, req Request) (Output, error)

// Fail returns a mistake in a component.
func Fail(pos object.Pos, path object.Path, hint, format string, args ...any) *object.Error {
	return &object.Error{Stage: object.StageEvaluate, Pos: pos, Path: path.String(), Err: fmt.Errorf(format, args...), Hint: hint}
}
