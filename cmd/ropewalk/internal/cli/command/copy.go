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

// CopyNew copies files into dir and returns their names in order. If dir has some of them already,
// CopyNew writes nothing and returns an error that names them.
func CopyNew(dir string, files fs.FS) ([]string, error) {
	// Find the files that dir has already.
	var names, taken []string
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
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

	// Copy all of them, or none.
	if err == nil && len(taken) == 0 {
		err = os.CopyFS(dir, files)
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
	for len(lines) > 0 && isLicence(lines[0]) {
		lines = lines[1:]
	}
	return bytes.Join(lines, nil)
}

// isLicence reports whether a line belongs to the comment that names our licence, or is an empty
// comment around it.
func isLicence(line []byte) bool {
	names := bytes.Contains(line, []byte("Copyright")) || bytes.Contains(line, []byte("SPDX-"))
	return names || len(bytes.Trim(line, "#/ \n")) == 0
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
