// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"os"
	"strings"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
)

// errRecycled is the reason for replacing a worker that did nothing wrong, and errTooDeep the reason
// for the end of a worker whose stack grew too large.
var (
	errRecycled = errors.New("the worker was replaced")
	errTooDeep  = diagnose.Because(evaluate.ErrCrashed, "evaluation recursed too deeply")
)

// loss describes how a call ended without a reply.
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

// autopsy returns why a process ended by itself while it evaluated. The argument usedBefore
// says that it had done other work before, and ready that it has greeted.
func autopsy(state *os.ProcessState, stderr string, usedBefore, ready bool) *loss {
	switch {
	case saysOutOfMemory(stderr):
		return &loss{cause: evaluate.ErrMemory, innocent: usedBefore}
	case strings.Contains(stderr, textStack):
		return &loss{cause: errTooDeep}
	case signalled(state):
		return &loss{
			cause:    diagnose.Because(evaluate.ErrWorker, "the evaluation worker was ended from outside (%s)", state),
			hint:     "the machine or its container may be short of memory",
			innocent: true,
		}
	case !ready:
		return &loss{cause: diagnose.Because(evaluate.ErrWorker, "the evaluation worker did not start (%s)%s", state, tail(stderr))}
	case stderr == "" && state.ExitCode() == 1:
		// A library that gives up logs why and exits. The program of components does not print it: it
		// may be a value.
		return &loss{
			cause: diagnose.Because(evaluate.ErrCrashed, "the library of the component gave up (%s)", state),
			hint:  `"kustomize build" or "helm template" may say more, with values of the files`,
		}
	default:
		return &loss{
			cause: diagnose.Because(evaluate.ErrCrashed, "the evaluator crashed (%s)%s", state, tail(stderr)),
			hint:  "this is a fault of ropewalk or of CUE: please report it with the module",
		}
	}
}

// tail returns what a process wrote last, for the end of a message. A panic may hold a value of the
// input, so it is repeated only if it is an error of the Go runtime.
func tail(stderr string) string {
	const panicked = "panic: "
	if line := diagnose.FirstLine(stderr); strings.HasPrefix(line, panicked) && !strings.HasPrefix(line, panicked+"runtime error: ") {
		return ": panic"
	}
	if line := diagnose.FirstLine(stderr); line != "" {
		return ": " + line
	}
	return ""
}
