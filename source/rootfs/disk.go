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

// Open is the directory dir on disk. Its caller closes it.
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
		return nil, leaving(err)
	}
	return f, nil
}

// Stat describes what a name leads to.
func (d disk) Stat(name string) (fs.FileInfo, error) {
	info, err := d.root.Stat(name)
	return info, leaving(err)
}

// Lstat describes what has a name.
func (d disk) Lstat(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(name)
	return info, leaving(err)
}

// ReadLink is the text of a link.
func (d disk) ReadLink(name string) (string, error) {
	to, err := d.root.Readlink(name)
	return to, leaving(err)
}

// List lists a folder.
func (d disk) List(name string, most int) ([]fs.DirEntry, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, leaving(err)
	}
	defer func() { _ = f.Close() }()
	return list(f, most)
}

// Close gives the directory back.
func (d disk) Close() error { return d.root.Close() }

// leaving is err, as ErrLeaves where a path leaves the directory.
func leaving(err error) error {
	var p *fs.PathError
	// Package os has no name for it.
	if errors.As(err, &p) && p.Err.Error() == "path escapes from parent" {
		return wrap(p.Op, p.Path, ErrLeaves)
	}
	return err
}
