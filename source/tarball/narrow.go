// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package tarball

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/local"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// Visible reports whether a file can be part of a module by its path: hidden files cannot,
// nor files in node_modules or __pycache__. It is for [Options].Keep.
func Visible(name string) bool {
	dir, file := path.Split(name)
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if local.Skipped(part, true) {
			return false
		}
	}
	return !local.Skipped(file, false)
}

// Narrow returns the part of a tree that the package in the folder dir needs, "" being the root.
// The package source/local reads the same files from disk. Where no folder at or above dir has a
// cue.mod, the module is the root. Dir of the result is the package.
//
// The error is source.ErrNotFound where there is no such folder, ErrPath where dir is no
// path, or ErrLimit.
func Narrow(ctx context.Context, tree source.Tree, dir string, limits source.Limits) (source.Tree, error) {
	located, err := tree.At(dir)
	if err != nil {
		return source.Tree{}, err
	}
	root, err := rootfs.Of(tree.FS, ".")
	if err != nil {
		return source.Tree{}, err
	}
	p := local.Find(root, located.Dir, ".")
	p.Limits = limits
	out, err := p.Tree(ctx)
	if err != nil {
		return source.Tree{}, err
	}
	info, err := fs.Stat(out.FS, out.Dir)
	isFolder := err == nil && info.IsDir()
	isHidden := out.Dir != "." && !Visible(out.Dir+"/file")
	if !isFolder || isHidden {
		return source.Tree{}, source.Refuse(source.ErrNotFound, fmt.Sprintf("%s has nothing in %q that a module may hold", tree.Origin, dir))
	}
	out.Origin, out.Revision, out.Pinned, out.Version = tree.Origin, tree.Revision, tree.Pinned, tree.Version
	return out, nil
}
