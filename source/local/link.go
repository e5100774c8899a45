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
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// maxLinks is how many links may lie on the way to one file, as on Linux; see
// path_resolution(7).
const maxLinks = 40

// vendored reports whether a path of the module is that of a vendored package,
// which may be a link.
func (w *walk) vendored(name string) bool {
	return strings.HasPrefix(within(w.module, name)+"/", "cue.mod/pkg/")
}

// link reads what a link leads to in its place.
func (w *walk) link(ctx context.Context, at spot) error {
	real, mode, err := w.follow(at)
	switch {
	case err != nil:
		return err
	case mode.IsRegular():
		return w.file(spot{at.name, real}, false)
	case !mode.IsDir():
		return notRegular(at.name, mode)
	}
	// A folder that is read already, or holds one that is, never ends. That it
	// holds the link itself is the shortest such case.
	for _, open := range append([]string{path.Dir(at.real)}, w.linked...) {
		if open == real || strings.HasPrefix(open, real+"/") || real == "." {
			return source.Refuse(source.ErrNotRegular, fmt.Sprintf("%q is a symlink to a folder around it, %q", at.name, real))
		}
	}
	if info, err := w.root.Lstat(path.Join(real, "cue.mod")); err == nil && info.IsDir() {
		// It would stay out as other modules do, and be missed by the import.
		return source.Refuse(source.ErrNotRegular,
			fmt.Sprintf("%q is a symlink to another module, %q: link to a folder inside of it, or depend on it", at.name, real))
	}
	w.linked = append(w.linked, real)
	err = w.folder(ctx, spot{at.name, real}, true)
	w.linked = w.linked[:len(w.linked)-1]
	return err
}

// follow is where a link leads, as a path without links, and what lies there.
// It is not asked of the file system, so that nothing of what is outside of the
// root is looked at. What changes under it meanwhile may lead it elsewhere, and
// never out of the root, because the root opens what it finds.
func (w *walk) follow(at spot) (string, fs.FileMode, error) {
	// What is before the last part of real has no links.
	done, todo := path.Dir(at.real), []string{path.Base(at.real)}
	mode := fs.ModeDir
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch {
		case part == "" || part == ".":
			continue
		case part == ".." && done == ".":
			return "", 0, notRegular(at.name, fs.ModeSymlink)
		case part == "..":
			done, mode = path.Dir(done), fs.ModeDir
			continue
		case strings.HasPrefix(part, "."):
			return "", 0, source.Refuse(source.ErrNotRegular, fmt.Sprintf("%q is a symlink to something that is hidden", at.name))
		}
		next := path.Join(done, part)
		info, err := w.root.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", 0, source.Refuse(source.ErrNotFound, fmt.Sprintf("%q is a symlink to %q, where nothing is", at.name, next))
		case err != nil:
			return "", 0, err
		}
		if mode = info.Mode(); mode&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", 0, source.Refuse(source.ErrNotRegular, fmt.Sprintf("%q is a symlink that leads on more than %d times", at.name, maxLinks))
		}
		to, err := w.root.ReadLink(next)
		if err != nil {
			return "", 0, err
		}
		if to = filepath.ToSlash(to); path.IsAbs(to) || filepath.IsAbs(to) || strings.Contains(to, `\`) {
			return "", 0, notRegular(at.name, fs.ModeSymlink)
		}
		todo, mode = slices.Concat(strings.Split(to, "/"), todo), fs.ModeDir
	}
	return done, mode, nil
}
