// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync/atomic"

	"github.com/ropewalk/ropewalk/internal/subpath"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// maxFolderLinks limits the links to folders that are followed: folders of links to others would
// have more files than a walk ends.
const maxFolderLinks = 1000

// Files returns the root as a file system, until the discovery is closed. Links that stay inside
// are followed. Nothing is cached.
func (r *Root) Files() fs.FS { return files{r.folder, r, new(atomic.Int32)} }

// files is a folder as a file system.
type files struct {
	rootfs.Folder
	root *Root
	// folders counts the links to folders that were followed.
	folders *atomic.Int32
}

// Open opens a file or a folder. It refuses a pipe or a device, of which nothing would be read.
func (f files) Open(name string) (fs.File, error) {
	file, err := f.Folder.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// ReadDir lists a folder. A link in it is listed as the file or folder that it leads to. A link
// that cannot be followed stays a link, and its Info is the error, for callers that would read it.
func (f files) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := f.List(name, maxEntries)
	if err != nil {
		return nil, err
	}
	out := entries[:0:0]
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			if info, err := f.follow(path.Join(name, e.Name())); err != nil {
				e = broken{e, err}
			} else {
				e = fs.FileInfoToDirEntry(renamed{info, e.Name()})
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// follow describes the target of a link.
func (f files) follow(name string) (fs.FileInfo, error) {
	real, info, err := rootfs.Resolve(f.Folder, name)
	if err == nil && info.IsDir() {
		err = f.enter(path.Dir(name), real)
	}
	if err == nil {
		return info, nil
	}
	return nil, f.root.unfollowed(name, err)
}

// enter returns an error if a walk that is in dir would not end when it goes on in the folder
// real.
func (f files) enter(dir, real string) error {
	if f.folders.Add(1) > maxFolderLinks {
		return fmt.Errorf("more than %d links lead to folders", maxFolderLinks)
	}
	for ; ; dir = path.Dir(dir) {
		above, _, err := rootfs.Resolve(f.Folder, dir)
		switch {
		case err != nil:
			return err
		case subpath.Within(above, real):
			return errors.New("it leads back to a folder that holds it")
		case dir == ".":
			return nil
		}
	}
}

// broken is a link that cannot be followed.
type broken struct {
	fs.DirEntry
	err error
}

// Info implements [fs.DirEntry].
func (b broken) Info() (fs.FileInfo, error) { return nil, b.err }

// renamed is the target of a link under the name of the link.
type renamed struct {
	fs.FileInfo
	name string
}

// Name implements [fs.FileInfo].
func (r renamed) Name() string { return r.name }
