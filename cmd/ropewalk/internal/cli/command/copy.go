// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// CopyNew copies the files of from into dir and returns their names in order. If one of them exists
// in dir, CopyNew writes nothing and returns an error that names it.
func CopyNew(dir string, from fs.FS) ([]string, error) {
	var names, taken []string
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		names = append(names, name)
		switch _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); {
		case err == nil:
			taken = append(taken, name)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		return nil
	})
	if err == nil && len(taken) == 0 {
		err = os.CopyFS(dir, from)
	}
	switch {
	case err != nil:
		return nil, &EnvironmentError{Err: err}
	case len(taken) > 0:
		return nil, &EnvironmentError{
			Err:  fmt.Errorf("%s has %s already: nothing was written", dir, printable.List(taken, 3)),
			Hint: "name a new directory, such as shop",
		}
	}
	return names, nil
}

// WithoutLicence returns a file without its first lines, if they are the comment that names our
// licence.
func WithoutLicence(data []byte) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	for len(lines) > 0 && (bytes.Contains(lines[0], []byte("Copyright")) || bytes.Contains(lines[0], []byte("SPDX-")) || len(bytes.Trim(lines[0], "#/ \n")) == 0) {
		lines = lines[1:]
	}
	return bytes.Join(lines, nil)
}

// WriteFile replaces the file called name as a whole, or not at all.
func WriteFile(name string, data []byte) error {
	fail := func(err error) error { return &EnvironmentError{Err: err} }
	temporary, err := os.CreateTemp(filepath.Dir(name), ".ropewalk-*")
	if err != nil {
		return fail(err)
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // It is gone where all went well.
	_, err = temporary.Write(data)
	if err == nil {
		err = temporary.Chmod(0o644)
	}
	if err == nil {
		err = temporary.Sync()
	}
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}
