// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"io/fs"

	"github.com/ropewalk/ropewalk/source/rootfs"
)

// Files is the root as a file system, until the discovery is closed. Links that stay inside
// are followed. Nothing is cached.
func (r *Root) Files() fs.FS { return files{r.folder} }

// files is a folder as a file system.
type files struct{ rootfs.Folder }

// ReadDir lists a folder. Its links are those files and folders that they lead to; one that
// leads to nothing, or out, is left out.
func (f files) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := f.List(name, maxEntries)
	if err != nil {
		return nil, err
	}
	out := entries[:0:0]
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := f.Stat(join(name, e.Name()))
			if err != nil || info.IsDir() { // A folder may lead around itself.
				continue
			}
			e = fs.FileInfoToDirEntry(renamed{info, e.Name()})
		}
		out = append(out, e)
	}
	return out, nil
}

// renamed is the target of a link under the name of the link.
type renamed struct {
	fs.FileInfo
	name string
}

// Name implements [fs.FileInfo].
func (r renamed) Name() string { return r.name }

func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}
