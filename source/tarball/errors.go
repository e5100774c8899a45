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

// ErrFormat says that something is no archive, is damaged, or can be understood in different ways.
var ErrFormat = errors.New("bad archive")

func errFormat(f string, args ...any) error {
	return source.Refuse(ErrFormat, fmt.Sprintf(f, args...))
}

func errLimit(f string, args ...any) error {
	return source.OverLimit(f, args...)
}

// errNotRegular returns the error for an entry of a kind that is refused.
func errNotRegular(name, kind string) error {
	return source.Refuse(source.ErrNotRegular,
		fmt.Sprintf("%q is %s; a module may hold only regular files and folders", name, kind))
}

// asFormatError returns the error of a decoder as ErrFormat. An error that matches a sentinel
// of this program is returned unchanged.
func asFormatError(format string, err error) error {
	for _, known := range []error{
		ErrFormat, source.ErrLimit, source.ErrPath, source.ErrNotRegular, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, known) {
			return err
		}
	}
	return errFormat("the %s cannot be read: %v", format, err)
}

// insecure reports whether a decoder only says that a name is odd, which it does under some
// settings of the environment; names are checked here.
func insecure(err error) bool {
	return errors.Is(err, tar.ErrInsecurePath) || errors.Is(err, zip.ErrInsecurePath)
}
