// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// walk reads one module.
type walk struct {
	root rootfs.Folder
	// module is the folder of the module, and dir that of the package in it.
	module, dir string
	tree        source.Builder
	// read are the files that are in the tree.
	read map[string]bool
	// embeds are folders whose CUE files embed files.
	embeds []string
	// seen counts entries of folders, whether they are read or not.
	seen int
	// linked are the folders behind links that are being read, from the outermost
	// one.
	linked []string
}

// spot is a file or a folder: its path in the module, seen from the root, and
// where it lies, which is elsewhere behind a link.
type spot struct{ name, real string }

// here is what lies where its name says.
func here(name string) spot { return spot{name, name} }

// in is an entry of a folder.
func (s spot) in(name string) spot { return spot{path.Join(s.name, name), path.Join(s.real, name)} }

// all reads the module for the package in the folder dir.
func (w *walk) all(ctx context.Context, dir string) error {
	w.dir = dir
	if dir == w.module {
		return w.folder(ctx, here(dir), true)
	}
	if err := w.folder(ctx, here(w.module), false); err != nil {
		return err
	}
	whole := append([]string{dir}, w.embeds...)
	if info, err := w.root.Lstat(path.Join(w.module, "cue.mod")); err == nil && info.IsDir() {
		whole = append(whole, path.Join(w.module, "cue.mod"))
	}
	for _, name := range whole {
		if err := w.folder(ctx, here(name), true); err != nil {
			return err
		}
	}
	return nil
}

// folder reads a folder: whole, or its CUE files only.
func (w *walk) folder(ctx context.Context, dir spot, whole bool) error {
	entries, err := w.list(ctx, dir)
	if err != nil {
		return err
	}
	if dir.name != w.module && slices.ContainsFunc(entries, isModule) {
		return nil
	}
	if !whole && !w.around(dir.name) && slices.ContainsFunc(entries, isStray) {
		entries = slices.DeleteFunc(entries, isCUE)
	}
	for _, e := range entries {
		at := dir.in(e.Name())
		cue := strings.HasSuffix(e.Name(), ".cue")
		switch {
		case skipped(e):
		case e.IsDir() && (whole || e.Name() != "cue.mod"):
			err = w.folder(ctx, at, whole)
		case e.IsDir():
		case !whole && !cue:
		case e.Type()&fs.ModeSymlink != 0 && w.vendored(at.name):
			err = w.link(ctx, at)
		case !e.Type().IsRegular():
			err = notRegular(at.name, e.Type())
		default:
			err = w.file(at, cue && !whole)
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
	return name == "." || name == w.dir || strings.HasPrefix(w.dir, name+"/")
}

// isStray reports whether an entry is a part of a package that no tree may hold. The
// complete package is left out then, so that what imports it fails, and never gets a
// part of it.
func isStray(e fs.DirEntry) bool { return isCUE(e) && !e.Type().IsRegular() }

func isCUE(e fs.DirEntry) bool {
	return !e.IsDir() && strings.HasSuffix(e.Name(), ".cue") && !strings.HasPrefix(e.Name(), ".")
}

// list is the entries of a folder, sorted; it stops in time where there are
// far too many.
func (w *walk) list(ctx context.Context, dir spot) ([]fs.DirEntry, error) {
	limits := w.tree.Limits.WithDefaults()
	if strings.Count(dir.name, "/") > limits.Depth+strings.Count(w.module, "/") {
		return nil, source.Refuse(source.ErrLimit, fmt.Sprintf("%q lies more than %d folders deep", dir.name, limits.Depth))
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	most := 10 * limits.Files
	entries, err := w.root.List(dir.real, most-w.seen+1)
	if err != nil {
		return nil, err
	}
	if w.seen += len(entries); w.seen > most {
		return nil, source.Refuse(source.ErrLimit, fmt.Sprintf("more than %d files and folders, at %q", most, dir.name))
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
	inTree := within(w.module, name)
	// What was a regular file a moment ago may be a pipe by now.
	f, err := w.root.Open(at.real)
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
	return w.tree.Add(inTree, data)
}

// skipped reports what no module needs.
func skipped(e fs.DirEntry) bool {
	name := e.Name()
	return strings.HasPrefix(name, ".") || e.IsDir() && (name == "node_modules" || name == "__pycache__")
}

func isModule(e fs.DirEntry) bool { return e.IsDir() && e.Name() == "cue.mod" }
