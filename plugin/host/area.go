// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source/rooted"
)

// Bounds of a search.
const (
	maxFound  = 50_000
	maxNested = 32
)

// area is a directory that nothing is read outside of, whatever links and
// references say.
type area struct {
	root rooted.Folder
	// fsys is where the directory is, nil on disk.
	fsys fs.FS
	// dir is the directory: absolute on disk, else a path of fsys.
	dir string
	// base is the directory that positions are relative to, as dir is; absolute
	// is true where the user wrote absolute paths.
	base     string
	absolute bool
}

// openArea opens the area of a directory that a user named: root where it is
// given, else all of a file system in memory, or on disk the nearest directory
// at or above that holds .git, and the directory itself where none does. rel is
// the place of the directory in the area.
func (f *finding) openArea(dir string, absolute bool) (a *area, rel string, err error) {
	root := f.opts.Root
	switch {
	case root != "":
	case f.memory != nil:
		root = "."
	default:
		root = repository(dir)
	}
	rel, err = filepath.Rel(root, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, "", fmt.Errorf("%q is outside of the root %q", dir, root)
	}
	a = &area{fsys: f.opts.FS, dir: root, base: f.base, absolute: absolute}
	if f.memory != nil {
		a.root, err = rooted.Of(f.opts.FS, root)
	} else {
		a.root, err = rooted.Open(root)
	}
	if err != nil {
		return nil, "", err
	}
	return a, filepath.ToSlash(rel), nil
}

// repository is the nearest directory at or above dir that holds .git, and dir
// where none does.
func repository(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// display is a path of the area as the user would write it.
func (a *area) display(rel string) string {
	full := filepath.Join(a.dir, filepath.FromSlash(rel))
	short, err := filepath.Rel(a.base, full)
	if err != nil || a.absolute && !filepath.IsLocal(short) {
		return filepath.ToSlash(full)
	}
	return filepath.ToSlash(short)
}

// read is the content of a regular file, up to one byte over the limit, so that
// what reads it can say that it is too large.
func (a *area) read(rel string, limit int64) ([]byte, error) {
	// A device must not be opened.
	info, err := a.root.Stat(rel)
	if err != nil {
		return nil, plain(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is no regular file")
	}
	f, err := a.root.Open(rel)
	if err != nil {
		return nil, plain(err)
	}
	defer func() { _ = f.Close() }()
	return readAll(f, min(info.Size(), limit), limit)
}

// readAll reads up to one byte over limit; size is how much is expected.
func readAll(r io.Reader, size, limit int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(size) + bytes.MinRead)
	if _, err := b.ReadFrom(io.LimitReader(r, limit+1)); err != nil {
		return nil, plain(err)
	}
	return b.Bytes(), nil
}

// plain is err without the operation and the path, which its place tells.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// search finds the YAML and JSON files below a folder, sorted by path.
type search struct {
	area  *area
	found []string
	// projects are folders below that are projects of their own.
	projects []string
	seen     int
}

// folder searches the folder rel; top says that the search began there.
func (s *search) folder(rel string, depth int) error {
	entries, err := s.list(rel)
	if err != nil {
		return err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	if slices.Contains(names, markerFile) {
		return nil
	}
	if depth > 0 && slices.Contains(names, spec.ProjectFile) {
		s.projects = append(s.projects, rel)
		return nil
	}
	if depth > maxNested {
		return fmt.Errorf("%q lies more than %d folders deep", rel, maxNested)
	}
	for _, e := range entries {
		name := path.Join(rel, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir() && e.Name() != "cue.mod" && e.Name() != "node_modules":
			if err := s.folder(name, depth+1); err != nil {
				return err
			}
		case e.Type().IsRegular() && isDocument(e.Name()):
			s.found = append(s.found, name)
		}
	}
	return nil
}

func (s *search) list(rel string) ([]fs.DirEntry, error) {
	entries, err := s.area.root.List(rel, maxFound-s.seen+1)
	if err != nil {
		return nil, plain(err)
	}
	if s.seen += len(entries); s.seen > maxFound {
		return nil, fmt.Errorf("more than %d files and folders to search, at %q", maxFound, rel)
	}
	return entries, nil
}

func isDocument(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// matches reports whether a path matches a pattern, in which ** is any number
// of folders and the rest is as in path.Match.
func matches(pattern, name string) (bool, error) {
	first, rest, more := strings.Cut(pattern, "/")
	if first == "**" {
		if !more {
			return true, nil
		}
		for {
			if ok, err := matches(rest, name); ok || err != nil {
				return ok, err
			}
			_, tail, deeper := strings.Cut(name, "/")
			if !deeper {
				return false, nil
			}
			name = tail
		}
	}
	part, tail, deeper := strings.Cut(name, "/")
	ok, err := path.Match(first, part)
	if !ok || err != nil || more != deeper {
		return false, err
	}
	if !more {
		return true, nil
	}
	return matches(rest, tail)
}
