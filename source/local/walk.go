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
	// linked are the folders behind links that are being read, the outermost first.
	linked []string
	// missed are the links that lead nowhere, and cue the files of CUE that may need these links.
	missed []missed
	cue    [][]byte
}

// spot is a file or a folder: its path in the module, seen from the root, and
// where it lies, which is elsewhere behind a link.
type spot struct{ name, real string }

// here returns the spot of a name that no link leads to.
func here(name string) spot { return spot{name, name} }

// in returns the spot of an entry of a folder.
func (s spot) in(name string) spot { return spot{path.Join(s.name, name), path.Join(s.real, name)} }

// readAll reads the module for the package.
func (w *walk) readAll(ctx context.Context) error {
	if w.Dir == w.Module {
		return cmp.Or(w.readFolder(ctx, here(w.Dir), true), w.checkMissed())
	}
	if err := w.readFolder(ctx, here(w.Module), false); err != nil {
		return err
	}
	complete := append([]string{w.Dir}, w.embeds...)
	if w.isModule(w.Module) {
		complete = append(complete, path.Join(w.Module, "cue.mod"))
	}
	for _, name := range complete {
		if err := w.readFolder(ctx, here(name), true); err != nil {
			return err
		}
	}
	return w.checkMissed()
}

// isModule reports whether a folder is the root of a module.
func (w *walk) isModule(dir string) bool {
	info, err := w.Root.Lstat(path.Join(dir, "cue.mod"))
	return err == nil && info.IsDir()
}

// readFolder reads a folder: complete, or only its CUE files.
func (w *walk) readFolder(ctx context.Context, dir spot, complete bool) error {
	entries, err := w.list(ctx, dir)
	if err != nil {
		return err
	}

	// A folder with a cue.mod is a module of its own.
	if dir.name != w.Module && slices.ContainsFunc(entries, isModule) {
		return nil
	}

	// A package with a part that no tree may hold is left out as a whole.
	if !complete && !w.isAround(dir.name) && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return w.isStray(dir, e) }) {
		entries = slices.DeleteFunc(entries, isCUE)
	}

	// A folder is read completely for the package and for embedded files; elsewhere its CUE
	// files are enough.
	for _, e := range entries {
		entry := dir.in(e.Name())
		cue := strings.HasSuffix(e.Name(), ".cue")
		switch {
		case Skipped(e.Name(), e.IsDir()):
		case e.IsDir() && (complete || e.Name() != "cue.mod"):
			err = w.readFolder(ctx, entry, complete)
		case e.IsDir():
		case !complete && !cue:
		case e.Type()&fs.ModeSymlink != 0:
			err = w.readLink(ctx, entry)
		case !e.Type().IsRegular():
			err = errNotRegular(entry.name, e.Type())
		default:
			err = w.readFile(entry, cue && !complete)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isAround reports whether a folder is at or above the folder of the package: CUE takes the files
// of such folders into the package.
func (w *walk) isAround(name string) bool {
	return subpath.Within(w.Dir, name)
}

// isStray reports whether an entry is a part of a package that no tree may hold. The whole
// package is then left out, so that an import of it fails and never gets a part of it.
func (w *walk) isStray(dir spot, e fs.DirEntry) bool {
	switch {
	case !isCUE(e) || e.Type().IsRegular():
		return false
	case e.Type()&fs.ModeSymlink == 0:
		return true
	}
	_, _, err := rootfs.Resolve(w.Root, path.Join(dir.real, e.Name()))
	return slices.ContainsFunc([]error{rootfs.ErrLeaves, fs.ErrNotExist, syscall.ENOTDIR, syscall.ELOOP}, func(broken error) bool {
		return errors.Is(err, broken)
	})
}

func isCUE(e fs.DirEntry) bool {
	return !e.IsDir() && strings.HasSuffix(e.Name(), ".cue") && !strings.HasPrefix(e.Name(), ".")
}

// list returns the entries of a folder, sorted. It stops early where there are far too many.
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
	w.seen += len(entries)
	if w.seen > most {
		return nil, source.OverLimit("more than %d files and folders, at %q", most, dir.name)
	}
	return entries, nil
}

// readFile reads a file into the tree. With seek, it notes the folder of a CUE file that
// embeds files.
func (w *walk) readFile(file spot, seek bool) error {
	name := file.name
	if w.read[name] {
		return nil
	}
	inTree := within(w.Module, name)
	// What was a regular file a moment ago may be a pipe by now.
	f, err := w.Root.Open(file.real)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errNotRegular(name, info.Mode())
	}

	// The size is checked before the content takes memory.
	if err := w.tree.Room(inTree, info.Size()); err != nil {
		return err
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return fmt.Errorf("%q became shorter while it was read: %w", name, err)
	}

	// The walk reads embedded files later, and checks missed links against all CUE files.
	if seek && bytes.Contains(data, []byte("@embed(")) && !slices.Contains(w.embeds, path.Dir(name)) {
		w.embeds = append(w.embeds, path.Dir(name))
	}
	w.read[name] = true
	if path.Ext(name) == ".cue" {
		w.cue = append(w.cue, data)
	}
	return w.tree.Add(inTree, data)
}

// Skipped reports whether no module needs a file or a folder of that name: hidden ones,
// node_modules and __pycache__.
func Skipped(name string, isDir bool) bool {
	isCache := name == "node_modules" || name == "__pycache__"
	return strings.HasPrefix(name, ".") || (isDir && isCache)
}

func isModule(e fs.DirEntry) bool { return e.IsDir() && e.Name() == "cue.mod" }
