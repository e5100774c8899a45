// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// Fetcher gets trees from folders below Root.
type Fetcher struct {
	// Root is the directory that nothing is read outside of.
	Root string
	// FS is read instead of the disk where it is set, and Root is a folder of it;
	// "" is all of it. It has links where it is an fs.ReadLinkFS.
	FS fs.FS
	// Limits bound each tree.
	Limits source.Limits
}

var _ source.Fetcher = Fetcher{}

// Fetch gets the module of the folder ref.Ref, a slash-separated path relative to Root. The
// package is in its folder ref.Path.
func (f Fetcher) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	dir, err := packageFolder(ref)
	if err != nil {
		return source.Tree{}, err
	}
	root, err := f.open()
	if err != nil {
		return source.Tree{}, err
	}
	defer func() { _ = root.Close() }()
	if err := checkFolder(root, dir); err != nil {
		return source.Tree{}, err
	}
	p := Find(root, dir, path.Clean(ref.Ref))
	p.Limits = f.Limits
	return p.Tree(ctx)
}

// Package is a package in its module.
type Package struct {
	// Root is the directory that nothing is read outside of.
	Root rootfs.Folder
	// Module and Dir are the folders of the module and of the package in it, as paths
	// of Root.
	Module, Dir string
	// Limits bound the tree.
	Limits source.Limits
	// Hidden takes links to hidden files. A folder on disk has credentials in some of
	// them (.git/config), a commit has none that its readers do not have.
	Hidden bool
}

// Find finds the module of the package in the folder dir: the nearest folder at or above it that
// has a cue.mod. Without such a folder, the module is fallback.
func Find(root rootfs.Folder, dir, fallback string) Package {
	for at := dir; ; at = path.Dir(at) {
		if info, err := root.Lstat(path.Join(at, "cue.mod")); err == nil && info.IsDir() {
			return Package{Root: root, Module: at, Dir: dir}
		}
		if at == "." {
			return Package{Root: root, Module: fallback, Dir: dir}
		}
	}
}

// Tree reads the tree of the module.
func (p Package) Tree(ctx context.Context) (source.Tree, error) {
	w := walk{Package: p, tree: source.Builder{Limits: p.Limits}, read: map[string]bool{}}
	if err := w.readAll(ctx); err != nil {
		return source.Tree{}, err
	}
	tree, err := w.tree.Tree(source.TypePath+":"+p.Module, "")
	if err != nil {
		return source.Tree{}, err
	}
	tree.Dir = within(p.Module, p.Dir)
	return tree, nil
}

// open opens the directory that is read.
func (f Fetcher) open() (rootfs.Folder, error) {
	if f.FS != nil {
		return rootfs.Of(f.FS, path.Clean(f.Root))
	}
	return rootfs.Open(f.Root)
}

// packageFolder returns the folder of the package, relative to the root. The error is ErrPath
// where it leaves the root.
func packageFolder(ref source.Ref) (string, error) {
	leaves := func(p string) error {
		return source.Refuse(source.ErrPath, fmt.Sprintf("%q leaves the root of the project", p))
	}
	isAbsolute := path.IsAbs(ref.Ref) || filepath.IsAbs(ref.Ref)
	if ref.Ref == "" || isAbsolute || strings.Contains(ref.Ref, `\`) {
		return "", source.Refuse(source.ErrPath, fmt.Sprintf("%q is not a relative path: write one with / between folders", ref.Ref))
	}
	if !filepath.IsLocal(path.Clean(ref.Ref)) {
		return "", leaves(ref.Ref)
	}
	if ref.Path != "" && (!filepath.IsLocal(ref.Path) || strings.Contains(ref.Path, `\`)) {
		return "", leaves(ref.Path)
	}
	return path.Join(ref.Ref, ref.Path), nil
}

// checkFolder refuses a path that is no folder, or is reached through a link.
func checkFolder(root rootfs.Folder, dir string) error {
	for i, c := range dir + "/" {
		if c != '/' {
			continue
		}
		info, err := root.Lstat(dir[:i])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return source.Refuse(source.ErrNotFound, fmt.Sprintf("there is no folder %q", dir[:i]))
		case err != nil:
			return err
		case info.Mode().IsRegular():
			return source.Refuse(source.ErrNotRegular, fmt.Sprintf("%q is a file; expected the folder of a CUE package", dir[:i]))
		case !info.IsDir():
			return errNotRegular(dir[:i], info.Mode())
		}
	}
	return nil
}

// within returns the path of dir inside module.
func within(module, dir string) string {
	if module == dir {
		return "."
	}
	if module == "." {
		return dir
	}
	return strings.TrimPrefix(dir, module+"/")
}

func errNotRegular(name string, mode fs.FileMode) error {
	kind := "not a regular file"
	switch {
	case mode&fs.ModeSymlink != 0:
		kind = "a symlink"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	}
	return source.Refuse(source.ErrNotRegular,
		fmt.Sprintf("%q is %s; a module may hold only regular files and folders", name, kind))
}
