// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"

	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/internal/limiter"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/argocd/internal/unpack"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
)

// ErrRunning is returned if another server answers on the socket.
var ErrRunning = errors.New("another server answers on the socket")

var (
	// errRequest is a request that does not follow the protocol.
	errRequest = errors.New("bad request")
	// errSilent is a client that does not send what it has announced.
	errSilent = errors.New("the rest of the request did not arrive")
	// errEmpty is a render without objects.
	errEmpty = errors.New("nothing was rendered, and with pruning that deletes the application: " +
		"if that is meant, set the parameter allowEmpty to true")
	// errLarge is a response that the repo-server would refuse.
	errLarge = errors.New("over the limit")
)

// maxText limits the text of an error, which ends up in the status of an Application.
const maxText = 4 << 10

// answer returns an error for the repo-server.
func answer(err error) error {
	if err == nil {
		return nil
	}
	// What is wrong with a stream has a code already.
	if given := (*connect.Error)(nil); errors.As(err, &given) {
		return connect.NewError(given.Code(), errors.New(text(given.Unwrap())))
	}
	return connect.NewError(code(err), errors.New(text(err)))
}

// code returns the gRPC code of an error.
func code(err error) connect.Code {
	switch {
	case err == nil:
		return 0
	case isTransient(err), isAny(err, unpack.ErrChecksum, errSilent):
		return connect.CodeUnavailable
	case isAll(err, source.ErrUnauthorized, source.ErrHostKey, source.ErrAbsent):
		return connect.CodeFailedPrecondition
	case isLimit(err):
		return connect.CodeResourceExhausted
	case errors.Is(err, context.DeadlineExceeded):
		return connect.CodeDeadlineExceeded
	case errors.Is(err, context.Canceled):
		return connect.CodeCanceled
	case errors.As(err, new(*crash.Panic)):
		return connect.CodeInternal
	}
	return connect.CodeInvalidArgument
}

// codeName returns a code as gRPC writes it: InvalidArgument.
func codeName(c connect.Code) string {
	if c == 0 {
		return "OK"
	}
	var b strings.Builder
	for word := range strings.SplitSeq(c.String(), "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// isLimit reports whether an error is a limit of this server or of the request.
func isLimit(err error) bool {
	return isAny(err, unpack.ErrLimit, unpack.ErrRoom, limiter.ErrQueueFull, errLarge,
		evaluate.ErrLimit, evaluate.ErrTimeout, evaluate.ErrMemory, source.ErrLimit)
}

// isAny reports whether an error is one of some kinds.
func isAny(err error, kinds ...error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// isNameless reports whether a host has no address, which only the text of an error has.
func isNameless(err error) bool { return strings.Contains(err.Error(), "has no address") }

// isTransient reports whether all mistakes may pass by themselves: a registry or a Git
// server does not answer, or a worker was killed from outside.
func isTransient(err error) bool { return isAll(err, source.ErrUnavailable, evaluate.ErrWorker) }

// isAll reports whether each mistake is one of some kinds.
func isAll(err error, kinds ...error) bool {
	is := func(err error) bool { return isAny(err, kinds...) }
	var mistakes object.Errors
	if !errors.As(err, &mistakes) {
		return is(err)
	}
	failures := mistakes.Failures()
	return len(failures) > 0 && !slices.ContainsFunc(failures, func(m *object.Error) bool { return !is(m) })
}

// text returns the message for a user: a line for each mistake, without control characters and
// credentials in URLs.
func text(err error) string {
	return cut(printable.Text((*object.Secrets)(nil).Hide(words(err))), maxText)
}

// words returns the lines of all mistakes of an error that fit into a response.
func words(err error) string {
	var mistakes object.Errors
	if !errors.As(err, &mistakes) {
		return cut(err.Error(), maxText)
	}
	failures := mistakes.Sorted().Failures()
	var b strings.Builder
	for i, m := range failures {
		line := m.Error()
		for _, n := range m.Notes {
			line += fmt.Sprintf("\n  %s: %s", n.Pos, n.Text)
		}
		rest := fmt.Sprintf("and %d more", len(failures)-i)
		if room := maxText - b.Len() - len(rest) - 2; len(line) > room && i > 0 {
			b.WriteString("\n" + rest)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(cut(line, maxText-64))
	}
	return b.String()
}

// cut returns s with at most size bytes.
func cut(s string, size int) string {
	const more = " …"
	if len(s) <= size {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return printable.Cut(s, size-len(more), more)
}
