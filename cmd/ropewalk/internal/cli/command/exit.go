// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
)

// Exit codes.
const (
	// Good means that all was well.
	Good = 0
	// Findings means mistakes in specs, values, modules or objects, and that
	// something is not signed, not as locked, not what its digest says, no artifact of
	// the format or an unsafe one.
	Findings = 1
	// Usage means a mistake on the command line.
	Usage = 2
	// Environment means that something could not be read or written, or that a
	// server did not give it: no answer, no access (401, 403), nothing there (404),
	// failures (5xx), a key or certificate of an unknown host.
	Environment = 3
	// Different means that two things were compared, and are not the same.
	Different = 4
	// Interrupted means that the user or the system ended the run.
	Interrupted = 130
)

// ExitCodes is the help about exit codes.
const ExitCodes = `Exit codes:
  0    good
  1    findings: mistakes in specs, values, modules or rendered objects; what is not
       signed, not as locked or not what its digest says
  2    usage: a mistake on the command line
  3    environment: something cannot be read or written, or its server gives no answer,
       no access or nothing
  4    different: what was compared is not the same
  130  interrupted`

// These make the exit code say that two sides differ, and that something was found.
var (
	errDifferent = errors.New("different")
	errFound     = errors.New("found")
)

// ErrDifferentReported returns the error for two sides that differ, after everything was printed.
func ErrDifferentReported() error { return errors.Join(errDifferent, ErrReported) }

// ErrFoundReported returns the error for findings, after all of them were printed.
func ErrFoundReported() error { return errors.Join(errFound, ErrReported) }

// UsageError is a mistake on the command line.
type UsageError struct {
	Err  error
	Hint string
}

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef returns a mistake on the command line, with what to do about it.
func Usagef(hint, format string, args ...any) error {
	return &UsageError{Err: fmt.Errorf(format, args...), Hint: hint}
}

// EnvironmentError is a place that cannot be read or written.
type EnvironmentError struct {
	Err  error
	Hint string
}

func (e *EnvironmentError) Error() string { return e.Err.Error() }
func (e *EnvironmentError) Unwrap() error { return e.Err }

// ExitCode returns the exit code for an error of a run.
func ExitCode(err error) int {
	var usage *UsageError
	var mistakes object.Errors
	var mistake *object.Error
	switch {
	case err == nil:
		return Good
	case errors.Is(err, context.Canceled):
		return Interrupted
	case errors.As(err, &usage):
		return Usage
	case errors.Is(err, errDifferent):
		return Different
	case errors.Is(err, errFound), isFalse(err):
		return Findings
	case errors.As(err, &mistakes):
		return mistakesCode(mistakes)
	case errors.As(err, &mistake):
		return mistakesCode(object.Errors{mistake})
	}
	return Environment
}

// isFalse reports whether an artifact or a module failed the check of its digest, its signature or
// its form.
func isFalse(err error) bool {
	for _, is := range []error{
		artifact.ErrSignature, artifact.ErrDigest, artifact.ErrShape, artifact.ErrLimit,
		source.ErrDigest, source.ErrSignature, source.ErrLocked,
	} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// mistakesCode returns the exit code for mistakes. It returns [Usage] if all of them are on the
// command line, and [Environment] if the system refused complete files, and not only a line that
// names a file. A value of --set that a module refuses is a finding like any other value.
func mistakesCode(mistakes object.Errors) int {
	usage, environment := true, true
	for _, e := range mistakes.Failures() {
		usage = usage && e.Stage == object.StageSpec && strings.HasPrefix(e.Pos.File, "--")
		isFile := e.Pos.Line == 0 || e.Stage == object.StageResolve
		environment = environment && isFile && IsSystem(e.Err)
	}
	switch {
	case usage:
		return Usage
	case environment:
		return Environment
	}
	return Findings
}

// IsSystem reports whether the operating system or a server refused something.
func IsSystem(err error) bool {
	for _, is := range []error{
		source.ErrUnavailable, source.ErrUnauthorized, source.ErrHostKey, source.ErrAbsent, cache.ErrOffline,
	} {
		if errors.Is(err, is) {
			return true
		}
	}
	var path *fs.PathError
	var link *os.LinkError
	var number syscall.Errno
	fromSystem := errors.As(err, &path) || errors.As(err, &link) || errors.As(err, &number)
	return fromSystem || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// IsFindings reports whether err is mistakes in files.
func IsFindings(err error) (object.Errors, bool) {
	var mistakes object.Errors
	ok := errors.As(err, &mistakes) && mistakesCode(mistakes) == Findings
	return mistakes, ok
}
