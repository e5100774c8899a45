// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// What can happen to a worker, beside [ErrTimeout] and [ErrMemory]. Errors of a
// [Pool] wrap them.
var (
	// ErrCrashed means that an evaluation ended its worker in another way.
	ErrCrashed = errors.New("evaluation crashed")
	// ErrWorker means that workers do not start or are ended by others: the
	// environment is at fault, not the module.
	ErrWorker = errors.New("no evaluation worker")
	// ErrQuarantined means that the request was stopped before and is refused.
	ErrQuarantined = errors.New("evaluation is refused")
	// ErrClosed means that the pool is closed.
	ErrClosed = errors.New("the pool of evaluation workers is closed")

	// errRecycled is why a worker was replaced that did nothing wrong.
	errRecycled = errors.New("the worker was replaced")
)

// reasonError is a message that wraps one of the sentinels.
type reasonError struct {
	text   string
	reason error
}

func (e *reasonError) Error() string { return e.text }
func (e *reasonError) Unwrap() error { return e.reason }

func because(reason error, format string, args ...any) error {
	return &reasonError{text: fmt.Sprintf(format, args...), reason: reason}
}

// loss is how a call ended without a reply.
type loss struct {
	cause error
	hint  string
	// innocent says that the request may have had no part in it, and is worth
	// another try.
	innocent bool
	// unsent says that the worker never saw the request and is as it was.
	unsent bool
}

// Texts of the Go runtime on the way out.
const (
	textStack = "goroutine stack exceeds"
	textFault = "SIGSEGV: segmentation violation\nPC="
	maxLine   = 200
)

// saysOutOfMemory knows the last words of a process that got no more memory.
func saysOutOfMemory(stderr string) bool {
	for _, text := range []string{
		"out of memory", "cannot allocate memory", "cannot map pages", "cannot remap pages",
		"pthread_create failed", "failed to create new OS thread", "Resource temporarily unavailable",
	} {
		if strings.Contains(stderr, text) {
			return true
		}
	}
	// The collector of Go 1.26 uses a new queue without looking whether it got
	// the memory for it (newSpanSPMC). A fault of a module is a panic and begins
	// otherwise; a fault in the runtime itself is want of memory.
	_, fault, ok := strings.Cut(stderr, textFault)
	if !ok {
		return false
	}
	_, stack, _ := strings.Cut(fault, "]:\n")
	return strings.HasPrefix(stack, "runtime.")
}

// autopsy tells why a process ended by itself while it evaluated; used says that
// it had done other work before, and ready that it has greeted.
func autopsy(state *os.ProcessState, stderr string, used, ready bool) *loss {
	switch {
	case saysOutOfMemory(stderr):
		return &loss{cause: ErrMemory, innocent: used}
	case strings.Contains(stderr, textStack):
		return &loss{
			cause: because(ErrCrashed, "evaluation recursed too deeply; the module was stopped"),
			hint:  "look for a definition or a comprehension that contains itself",
		}
	case signalled(state):
		return &loss{
			cause:    because(ErrWorker, "the evaluation worker was ended from outside (%s)", state),
			hint:     "the machine or its container may be short of memory",
			innocent: true,
		}
	case !ready:
		return &loss{cause: because(ErrWorker, "the evaluation worker did not start (%s)%s", state, tail(stderr))}
	default:
		return &loss{
			cause: because(ErrCrashed, "the evaluator crashed (%s)%s", state, tail(stderr)),
			hint:  "this is a fault of ropewalk or of CUE: please report it with the module",
		}
	}
}

// tail is what a process said last, for the end of a message.
func tail(stderr string) string {
	if line := firstLine(stderr); line != "" {
		return ": " + line
	}
	return ""
}

// firstLine is the first line of text that says something, within bounds: a
// stack is for a debugger.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if len(line) > maxLine {
			line = line[:maxLine] + "…"
		}
		return strings.ToValidUTF8(line, "?")
	}
	return ""
}

// mebibytes writes bytes for people.
func mebibytes(bytes int64) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
