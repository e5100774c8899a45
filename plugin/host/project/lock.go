// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source/lock"
)

// maxLock limits the size of a lock, in bytes; lock.Parse allows no more.
const maxLock = 8 << 20

// Lock reads ropewalk.lock of the project that opts name: beside the first argument if that is a
// file, inside it if it is a folder. The result found is false if it does not exist. The positions
// in an error are relative to opts.Dir.
func Lock(opts Options) (file lock.File, found bool, err error) {
	places, err := openPlaces(opts)
	if err != nil {
		return lock.File{}, false, err
	}
	defer places.close()

	// The lock is in the folder of the first argument.
	arg := "."
	if len(opts.Args) > 0 && opts.Args[0] != "-" {
		arg = opts.Args[0]
	}
	r, rel, folder, err := places.openNamed(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return lock.File{}, false, nil
	case err != nil:
		return lock.File{}, false, err
	case !folder:
		rel = path.Dir(rel)
	}

	// A lock that does not exist is not an error.
	name := path.Join(rel, lock.Name)
	info, err := r.folder.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return lock.File{}, false, nil
	case err != nil:
		return lock.File{}, false, &fs.PathError{Op: "read", Path: r.Display(name), Err: bare(err)}
	}

	// A lock that cannot be read must not count as missing.
	data, err := r.read(name, maxLock)
	switch {
	case err != nil && !info.Mode().IsRegular():
		return lock.File{}, false, object.Errors{{
			Stage: object.StageResolve,
			Pos:   object.Pos{File: r.Display(name)},
			Err:   fmt.Errorf("the lock is not a regular file of the project: %s", describeMode(info.Mode(), err)),
			Hint:  "commit the file itself, or delete it and run \"ropewalk lock\"",
		}}
	case err != nil:
		return lock.File{}, false, &fs.PathError{Op: "read", Path: r.Display(name), Err: err}
	}
	file, err = lock.Parse(r.Display(name), data)
	return file, true, err
}

// describeMode describes a file that cannot be read because of its mode.
func describeMode(mode fs.FileMode, err error) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "the symbolic link cannot be followed: " + err.Error()
	case mode.IsDir():
		return "it is a folder"
	}
	return "it is a pipe, a socket or a device"
}
