// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package tarball

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// Visible reports whether a file can be part of a module by its path: nothing
// that is hidden is, nor what lies in node_modules or __pycache__. It is for
// [Options].Keep.
func Visible(name string) bool {
	dir, file := path.Split(name)
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if strings.HasPrefix(part, ".") || part == "node_modules" || part == "__pycache__" {
			return false
		}
	}
	return !strings.HasPrefix(file, ".")
}

// Narrow is the part of a tree that the package in the folder dir needs, ""
// being the root. It is what source/local reads of the same files: the module is
// the nearest folder at or above dir that has a cue.mod, or the root where none
// has, and Dir of the result is the package in it. Of a module whose package is
// not at its root, the tree has the cue.mod, every CUE file, all of the folder
// of the package, and all of folders whose CUE files embed files. Other modules
// below, and what is not [Visible], are left out.
//
// An error is source.ErrNotFound where there is no such folder, ErrPath where
// dir is no path, and ErrLimit.
func Narrow(tree source.Tree, dir string, limits source.Limits) (source.Tree, error) {
	at, err := tree.At(dir)
	if err != nil {
		return source.Tree{}, err
	}
	c := chosen{fsys: tree.FS, module: moduleOf(tree.FS, at.Dir), dir: at.Dir}
	if err := c.list(); err != nil {
		return source.Tree{}, err
	}
	if c.module == "." && !c.left {
		return at, nil
	}
	b := source.Builder{Limits: limits}
	for _, name := range c.files {
		data, err := fs.ReadFile(tree.FS, name)
		if err != nil {
			return source.Tree{}, err
		}
		if err := b.Add(relative(c.module, name), data); err != nil {
			return source.Tree{}, err
		}
	}
	out, err := b.Tree(tree.Origin, tree.Revision)
	if err != nil {
		return source.Tree{}, err
	}
	out.Pinned, out.Dir = tree.Pinned, relative(c.module, c.dir)
	if info, err := fs.Stat(out.FS, out.Dir); err != nil || !info.IsDir() {
		return source.Tree{}, source.Refuse(source.ErrNotFound, fmt.Sprintf("%s has nothing in %q that a module may hold", tree.Origin, dir))
	}
	return out, nil
}

// chosen are the files of a tree that a package needs.
type chosen struct {
	fsys fs.FS
	// module and dir are the folders of the module and of the package.
	module, dir string
	files       []string
	// left says that something was left out.
	left bool
}

// list chooses files.
func (c *chosen) list() error {
	var all, embeds []string
	err := fs.WalkDir(c.fsys, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			// A folder above the module is passed through; everything else outside of
			// it, and other modules inside, are not looked at.
			if name != c.module && !above(c.module, name) && (!inside(c.module, name) || isModule(c.fsys, name)) {
				c.left = true
				return fs.SkipDir
			}
			return nil
		case !inside(c.module, name) || !Visible(relative(c.module, name)):
			c.left = true
			return nil
		}
		all = append(all, name)
		embed, err := c.embeds(name)
		if embed {
			embeds = append(embeds, path.Dir(name))
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range all {
		if c.needs(name, embeds) {
			c.files = append(c.files, name)
		} else {
			c.left = true
		}
	}
	return nil
}

// embeds reports whether a file outside of the package is CUE that embeds
// files.
func (c *chosen) embeds(name string) (bool, error) {
	if c.module == c.dir || !strings.HasSuffix(name, ".cue") || inside(c.dir, name) || inside(path.Join(c.module, "cue.mod"), name) {
		return false, nil
	}
	data, err := fs.ReadFile(c.fsys, name)
	return bytes.Contains(data, []byte("@embed(")), err
}

// needs reports whether the package needs a file of the module.
func (c *chosen) needs(name string, embeds []string) bool {
	if c.module == c.dir || strings.HasSuffix(name, ".cue") || inside(c.dir, name) || inside(path.Join(c.module, "cue.mod"), name) {
		return true
	}
	for _, dir := range embeds {
		if inside(dir, name) {
			return true
		}
	}
	return false
}

// moduleOf is the nearest folder at or above dir that has a cue.mod, and the
// root where none has.
func moduleOf(fsys fs.FS, dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if isModule(fsys, dir) {
			return dir
		}
	}
	return "."
}

func isModule(fsys fs.FS, dir string) bool {
	info, err := fs.Stat(fsys, path.Join(dir, "cue.mod"))
	return err == nil && info.IsDir()
}

// inside reports whether name is below dir.
func inside(dir, name string) bool { return dir == "." || strings.HasPrefix(name, dir+"/") }

// above reports whether dir is somewhere below name.
func above(dir, name string) bool { return name == "." || inside(name, dir) }

// relative is the path of name in the folder dir.
func relative(dir, name string) string {
	switch dir {
	case name:
		return "."
	case ".":
		return name
	}
	return strings.TrimPrefix(name, dir+"/")
}
