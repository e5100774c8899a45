// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/ropewalk/ropewalk/internal/subpath"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// walk reads one module.
type walk struct {
	Package
	tree source.Builder
	// read are the files that are in the tree.
	read map[string]bool
	// embeds are folders whose CUE files embed files.
	embeds []string
	// seen counts entries of folders, whether they are read or not.
	seen int
	// linked are the folders behind links that are being read, from the outermost
	// one.
	linked []string
	// missed are the links that lead nowhere, and cue the files of CUE that may need one.
	missed []missed
	cue    [][]byte
}

// spot is a file or a folder: its path in the module, seen from the root, and
// where it lies, which is elsewhere behind a link.
type spot struct{ name, real string }

// here is what lies where its name says.
func here(name string) spot { return spot{name, name} }

// in is an entry of a folder.
func (s spot) in(name string) spot { return spot{path.Join(s.name, name), path.Join(s.real, name)} }

// all reads the module for the package.
func (w *walk) all(ctx context.Context) error {
	if w.Dir == w.Module {
		return cmp.Or(w.folder(ctx, here(w.Dir), true), w.needed())
	}
	if err := w.folder(ctx, here(w.Module), false); err != nil {
		return err
	}
	complete := append([]string{w.Dir}, w.embeds...)
	if w.isModule(w.Module) {
		complete = append(complete, path.Join(w.Module, "cue.mod"))
	}
	for _, name := range complete {
		if err := w.folder(ctx, here(name), true); err != nil {
			return err
		}
	}
	return w.needed()
}

// isModule reports whether a folder is the root of a module.
func (w *walk) isModule(dir string) bool {
	info, err := w.Root.Lstat(path.Join(dir, "cue.mod"))
	return err == nil && info.IsDir()
}

// folder reads a folder: complete, or its CUE files only.
func (w *walk) folder(ctx context.Context, dir spot, complete bool) error {
	entries, err := w.list(ctx, dir)
	if err != nil {
		return err
	}
	if dir.name != w.Module && slices.ContainsFunc(entries, isModule) {
		return nil
	}
	if !complete && !w.around(dir.name) && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return w.isStray(dir, e) }) {
		entries = slices.DeleteFunc(entries, isCUE)
	}
	for _, e := range entries {
		at := dir.in(e.Name())
		cue := strings.HasSuffix(e.Name(), ".cue")
		switch {
		case Skipped(e.Name(), e.IsDir()):
		case e.IsDir() && (complete || e.Name() != "cue.mod"):
			err = w.folder(ctx, at, complete)
		case e.IsDir():
		case !complete && !cue:
		case e.Type()&fs.ModeSymlink != 0:
			err = w.link(ctx, at)
		case !e.Type().IsRegular():
			err = notRegular(at.name, e.Type())
		default:
			err = w.file(at, cue && !complete)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// around reports whether a folder is one around the package: CUE takes their files
// into it.
func (w *walk) around(name string) bool {
	return subpath.Within(w.Dir, name)
}

// isStray reports whether an entry is a part of a package that no tree may hold. The
// complete package is left out then, so that what imports it fails, and never gets a
// part of it.
func (w *walk) isStray(dir spot, e fs.DirEntry) bool {
	switch {
	case !isCUE(e) || e.Type().IsRegular():
		return false
	case e.Type()&fs.ModeSymlink == 0:
		return true
	}
	_, _, err := rootfs.Resolve(w.Root, path.Join(dir.real, e.Name()))
	return errors.Is(err, rootfs.ErrLeaves) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

func isCUE(e fs.DirEntry) bool {
	return !e.IsDir() && strings.HasSuffix(e.Name(), ".cue") && !strings.HasPrefix(e.Name(), ".")
}

// list is the entries of a folder, sorted; it stops in time where there are
// far too many.
func (w *walk) list(ctx context.Context, dir spot) ([]fs.DirEntry, error) {
	limits := w.tree.Limits.WithDefaults()
	if strings.Count(dir.name, "/") > limits.Depth+strings.Count(w.Module, "/") {
		return nil, source.OverLimit("%q lies more than %d folders deep", dir.name, limits.Depth)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	most := 10 * limits.Files
	entries, err := w.Root.List(dir.real, most-w.seen+1)
	if err != nil {
		return nil, err
	}
	if w.seen += len(entries); w.seen > most {
		return nil, source.OverLimit("more than %d files and folders, at %q", most, dir.name)
	}
	return entries, nil
}

// file reads a file into the tree. Where seek is true, it notes the folder of
// a CUE file that embeds files.
func (w *walk) file(at spot, seek bool) error {
	name := at.name
	if w.read[name] {
		return nil
	}
	inTree := within(w.Module, name)
	// What was a regular file a moment ago may be a pipe by now.
	f, err := w.Root.Open(at.real)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return notRegular(name, info.Mode())
	}
	if err := w.tree.Room(inTree, info.Size()); err != nil {
		return err
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return fmt.Errorf("%q became shorter while it was read: %w", name, err)
	}
	if seek && bytes.Contains(data, []byte("@embed(")) && !slices.Contains(w.embeds, path.Dir(name)) {
		w.embeds = append(w.embeds, path.Dir(name))
	}
	w.read[name] = true
	if path.Ext(name) == ".cue" {
		w.cue = append(w.cue, data)
	}
	return w.tree.Add(inTree, data)
}

// Skipped reports whether no module needs a file or a folder of that name: what is
// hidden, node_modules and __pycache__.
func Skipped(name string, isDir bool) bool {
	return strings.HasPrefix(name, ".") || isDir && (name == "node_modules" || name == "__pycache__")
}

func isModule(e fs.DirEntry) bool { return e.IsDir() && e.Name() == "cue.mod" }
