// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// Timeout returns the timeout of l, or the default.
func Timeout(l evaluate.Limits) time.Duration { return cmp.Or(l.Timeout, evaluate.DefaultTimeout) }

// Memory returns the bound of memory of l, or the default.
func Memory(l evaluate.Limits) int64 { return cmp.Or(l.Memory, evaluate.DefaultMemory) }

// ReasonError is a message that wraps one of the sentinels.
type ReasonError struct {
	Text   string
	Reason error
}

func (e *ReasonError) Error() string { return e.Text }
func (e *ReasonError) Unwrap() error { return e.Reason }

// Because returns an error with a text of its own that wraps one of the sentinels.
func Because(reason error, format string, args ...any) error {
	return &ReasonError{Text: fmt.Sprintf(format, args...), Reason: reason}
}

// Cancelled returns the error of a request whose ctx has ended.
func Cancelled(ctx context.Context, req evaluate.Request) error {
	cause := ctx.Err()
	if errors.Is(cause, context.DeadlineExceeded) {
		return Fail(req, fmt.Errorf("the caller's deadline passed: %w", cause))
	}
	return fmt.Errorf("evaluation of %q: %w", req.Spec, cause)
}

// TimedOut returns the error of an evaluation that took too long.
func TimedOut(r evaluate.Request) error {
	e := Blame(r, Because(evaluate.ErrTimeout, "evaluation exceeded %s: %s did not finish in time", Timeout(r.Limits), subjectOf(r)))
	e.Hint = "look for comprehensions over comprehensions and for unified disjunctions, or raise the limit (--timeout)"
	if r.Operation == evaluate.OpBuild {
		e.Hint = "look for loops in templates and for very many resources, or raise the limit (--timeout)"
	}
	const many = 5000
	if at, path := widest(r.Input, r.InputPath); len(at.Members) > many {
		e.Notes = append(e.Notes, object.Note{Pos: at.Pos, Text: fmt.Sprintf("%s has %d fields, from %q to %q: check that the module knows them",
			path, len(at.Members), at.Members[0].Name, at.Members[len(at.Members)-1].Name)})
	}
	return object.Errors{e}
}

// widest returns the map with the most fields in v, and its path. The path of v itself is path.
func widest(v object.Value, path object.Path) (object.Value, object.Path) {
	widestMap, widestPath := v, path
	better := func(part object.Value, step object.Step) {
		if part.Kind != object.KindMap && part.Kind != object.KindList {
			return
		}
		if w, p := widest(part, path.Append(step)); len(w.Members) > len(widestMap.Members) {
			widestMap, widestPath = w, p
		}
	}
	for _, m := range v.Members {
		better(m.Value, object.Field(m.Name))
	}
	for i, item := range v.Items {
		better(item, object.Index(i))
	}
	return widestMap, widestPath
}

// OutOfMemory returns the error of an evaluation that grew too large.
func OutOfMemory(r evaluate.Request) error {
	e := Blame(r, Because(evaluate.ErrMemory, "evaluation exceeded %d MiB of memory: %s grows too large", Memory(r.Limits)>>20, subjectOf(r)))
	e.Hint = "look for lists and texts that multiply, or raise the limit (--memory, or --memory-total of a server)"
	return object.Errors{e}
}

// TooDeep returns the error of an evaluation whose stack grew too large.
func TooDeep(r evaluate.Request) error {
	e := Blame(r, Because(evaluate.ErrCrashed, "evaluation recursed too deeply: %s was stopped", subjectOf(r)))
	e.Hint = "look for a definition or a comprehension that contains itself, and for long chains of references"
	return object.Errors{e}
}

// subjectOf names what r evaluates: a module, or a component, which has no module.
func subjectOf(r evaluate.Request) string {
	if r.Operation == evaluate.OpBuild {
		return fmt.Sprintf("component %q", r.Spec)
	}
	return fmt.Sprintf("module %q", ModuleName(r.Module))
}

// Advice returns what can be done about a request that its limits have stopped again and again.
func Advice(l evaluate.Limits) string {
	return fmt.Sprintf("change the module or its input, or raise its limits: %s (--timeout), %d MiB (--memory, or --memory-total of a server)",
		Timeout(l), Memory(l)>>20)
}

// Panicked returns the error for a fault of the CUE library.
func Panicked(r evaluate.Request, cause any) error {
	return Because(evaluate.ErrCrashed, "%s: %v", subjectOf(r), crash.Of(cause))
}

// AtSpec returns a mistake that belongs to the spec and to no part of it.
func AtSpec(r evaluate.Request, err error) *object.Error {
	return &object.Error{Stage: object.StageEvaluate, Pos: r.Pos, Err: err}
}

// Blame returns a mistake of the module, at the line that names it.
func Blame(r evaluate.Request, err error) *object.Error {
	e := AtSpec(r, err)
	e.Pos = object.FirstValid(r.Module.Pos, r.Pos)
	return e
}

// Fail makes any error a list of mistakes with positions.
func Fail(r evaluate.Request, err error) error {
	if err == nil {
		return nil
	}
	var many object.Errors
	if errors.As(err, &many) {
		return many.Sorted()
	}
	var one *object.Error
	if errors.As(err, &one) {
		return object.Errors{one}
	}
	return object.Errors{AtSpec(r, err)}
}

// maxLine limits the bytes of a line in a message.
const maxLine = 200

// FirstLine returns the first line of text that is not blank, cut to a bounded length. The rest,
// such as a stack, is for a debugger.
func FirstLine(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		return printable.Cut(strings.ToValidUTF8(line, "?"), maxLine, "…")
	}
	return ""
}

// ModuleName returns what messages call a module.
func ModuleName(m evaluate.Module) string {
	if m.Label != "" {
		return m.Label
	}
	if m.Dir != "" && m.Dir != "." {
		return m.Dir
	}
	return "inline"
}
