// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"io/fs"
	"path"

	"github.com/ropewalk/ropewalk/source/lock"
)

// maxLock is how large a lock may be, in bytes; lock.Parse allows no more.
const maxLock = 8 << 20

// Lock reads ropewalk.lock of the project that opts name: the one beside the
// first argument where that is a file, and in it where it is a folder, on disk
// or in opts.FS. found is false where there is none. The positions in an error
// are relative to opts.Dir.
//
// It is for whoever makes the fetchers of a [Host]; Load reads no lock.
func Lock(opts Options) (file lock.File, found bool, err error) {
	f, err := newFinding(opts)
	if err != nil {
		return lock.File{}, false, err
	}
	defer f.close()
	arg := "."
	if len(opts.Args) > 0 && opts.Args[0] != "-" {
		arg = opts.Args[0]
	}
	a, rel, folder, err := f.at(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return lock.File{}, false, nil
	case err != nil:
		return lock.File{}, false, err
	case !folder:
		rel = path.Dir(rel)
	}
	name := path.Join(rel, lock.Name)
	data, err := a.read(name, maxLock)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return lock.File{}, false, nil
	case err != nil:
		return lock.File{}, false, &fs.PathError{Op: "read", Path: a.display(name), Err: err}
	}
	file, err = lock.Parse(a.display(name), data)
	return file, true, err
}
