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

	"github.com/ropewalk/ropewalk/plugin/host/output"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// Bounds of a search.
const (
	maxFound  = 50_000
	maxNested = 32
)

// area is a directory that nothing is read outside of, whatever links and
// references say.
type area struct {
	root rootfs.Folder
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
// given, else all of a file system in memory, or on disk that of enclosing. rel is
// the place of the directory in the area.
func (f *finding) openArea(dir string, absolute bool) (a *area, rel string, err error) {
	root := f.opts.Root
	switch {
	case root != "":
	case f.memory != nil:
		root = "."
	default:
		root = enclosing(dir)
	}
	rel, err = filepath.Rel(root, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, "", fmt.Errorf("%q is outside of the root %q", dir, root)
	}
	a = &area{fsys: f.opts.FS, dir: root, base: f.base, absolute: absolute}
	if f.memory != nil {
		a.root, err = rootfs.Of(f.opts.FS, root)
	} else {
		a.root, err = rootfs.Open(root)
	}
	if err != nil {
		return nil, "", err
	}
	return a, filepath.ToSlash(rel), nil
}

// enclosing is the root for a directory on disk: the nearest one at or above it that
// holds .git; where none does, and it is itself a CUE package, the nearest that holds
// cue.mod, as for CUE's own command; else the directory itself.
//
// A project or a file without a repository around it stays in its own directory: what
// such documents may read is not for a cue.mod somewhere above to say.
func enclosing(dir string) string {
	if at, ok := nearest(dir, ".git"); ok {
		return at
	}
	entries, err := os.ReadDir(dir)
	if err != nil || holdsCUE(entries) != holdsPackage {
		return dir // What reads the directory says the error.
	}
	if at, ok := nearest(dir, "cue.mod"); ok {
		return at
	}
	return dir
}

// nearest is the nearest directory at or above dir that holds name.
func nearest(dir, name string) (string, bool) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, name)); err == nil {
			return at, true
		}
		if at == filepath.Dir(at) {
			return "", false
		}
	}
}

// maxLinks is how many links one path may lead over, as on Linux; see
// path_resolution(7).
const maxLinks = 40

// resolve is a path of the area without the links that it leads over, all of which
// stay inside. Modules are read from folders alone, so that a tree never depends on
// what a link leads to; a folder that a user names may be a link all the same.
func (a *area) resolve(rel string) (string, error) {
	done, todo := ".", strings.Split(rel, "/")
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		next := path.Join(done, part)
		if !filepath.IsLocal(next) {
			return "", rootfs.ErrLeaves
		}
		info, err := a.root.Lstat(next)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%q is a link that leads on more than %d times", rel, maxLinks)
		}
		to, err := a.root.ReadLink(next)
		if err != nil {
			return "", err
		}
		if to = filepath.ToSlash(to); path.IsAbs(to) || filepath.IsAbs(to) {
			return "", rootfs.ErrLeaves
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	return done, nil
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
func (a *area) read(rel string, limit int64) ([]byte, error) { return a.readInto(nil, rel, limit) }

// readInto is read into the room of a slice whose content is of no use any more.
func (a *area) readInto(room []byte, rel string, limit int64) ([]byte, error) {
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
	return readAll(room, f, min(info.Size(), limit), limit)
}

// readAll reads up to one byte over limit, into room as far as that goes; size is
// how much is expected.
func readAll(room []byte, r io.Reader, size, limit int64) ([]byte, error) {
	b := bytes.NewBuffer(room[:0])
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
	if slices.Contains(names, output.MarkerFile) {
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
