// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// disk is a directory on disk.
type disk struct{ root *os.Root }

var _ Folder = disk{}

// Open opens the directory dir on disk. The caller closes it.
func Open(dir string) (Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return disk{root}, nil
}

// Open opens a file or a folder.
func (d disk) Open(name string) (fs.File, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, asLeaves(err)
	}
	return f, nil
}

// Stat describes the file or the folder that a name leads to.
func (d disk) Stat(name string) (fs.FileInfo, error) {
	info, err := d.root.Stat(name)
	return info, asLeaves(err)
}

// Lstat describes what has a name. A link is not followed.
func (d disk) Lstat(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(name)
	return info, asLeaves(err)
}

// ReadLink returns the target of a link.
func (d disk) ReadLink(name string) (string, error) {
	target, err := d.root.Readlink(name)
	return target, asLeaves(err)
}

// List lists a folder.
func (d disk) List(name string, limit int) ([]fs.DirEntry, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, asLeaves(err)
	}
	defer func() { _ = f.Close() }()
	return list(f, limit)
}

// Close closes the directory.
func (d disk) Close() error { return d.root.Close() }

// asLeaves returns err as ErrLeaves where a path leaves the directory; other errors stay as
// they are.
func asLeaves(err error) error {
	var p *fs.PathError
	// Package os has no name for it.
	if errors.As(err, &p) && p.Err.Error() == "path escapes from parent" {
		return wrap(p.Op, p.Path, ErrLeaves)
	}
	return err
}
