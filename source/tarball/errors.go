// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package tarball

import (
	"archive/tar"
	"archive/zip"
	"context"
	"errors"
	"fmt"

	"github.com/ropewalk/ropewalk/source"
)

// ErrFormat says that something is no archive, a damaged one, or one that
// readers could understand in different ways.
var ErrFormat = errors.New("bad archive")

func format(f string, args ...any) error {
	return source.Refuse(ErrFormat, fmt.Sprintf(f, args...))
}

func limit(f string, args ...any) error {
	return source.OverLimit(f, args...)
}

// notRegular refuses an entry for what it is.
func notRegular(name, what string) error {
	return source.Refuse(source.ErrNotRegular,
		fmt.Sprintf("%q is %s; a module may hold only regular files and folders", name, what))
}

// unreadable is the error for what a decoder said. Errors that are ours pass.
func unreadable(what string, err error) error {
	for _, known := range []error{
		ErrFormat, source.ErrLimit, source.ErrPath, source.ErrNotRegular, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, known) {
			return err
		}
	}
	return format("the %s cannot be read: %v", what, err)
}

// insecure reports whether a decoder says no more than that a name is odd,
// which it does under some settings of the environment; we judge names.
func insecure(err error) bool {
	return errors.Is(err, tar.ErrInsecurePath) || errors.Is(err, zip.ErrInsecurePath)
}
