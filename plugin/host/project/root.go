// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// maxEntries limits the entries of folders that are listed.
const maxEntries = 50_000

// Root is a directory that no read leaves, whatever links and references say.
type Root struct {
	// FS is the file system that holds the directory; nil on disk.
	FS fs.FS
	// Dir is the directory: absolute on disk, else a path of FS.
	Dir string

	folder rootfs.Folder
	// base is the directory that positions are relative to, in the form of Dir; absolute
	// is true where the user wrote absolute paths.
	base     string
	absolute bool
	// enclosing is set where no option names the root.
	enclosing bool
}

// Describe returns the name of the root, and the reason for it if no option names the root.
func (r *Root) Describe() string {
	text := fmt.Sprintf("the root is %q", r.Display("."))
	if r.enclosing {
		text += ", the nearest folder with .git, or where there is none that of the project; git init in a folder above makes that the root"
	}
	return text
}

// enclosing returns the root for a directory on disk: the nearest directory at or above it that
// holds .git. Without .git, the root of a CUE package is the nearest directory that holds cue.mod,
// as for CUE's own command, and else the root is the directory itself.
//
// A project or a file outside of a repository stays in its own directory: a cue.mod
// somewhere above must not extend what such documents may read.
func enclosing(dir string) string {
	if root, ok := Nearest(dir, ".git"); ok {
		return root
	}
	entries, err := os.ReadDir(dir)
	if err != nil || contentOf(entries) != cuePackage {
		return dir // The search reports the error.
	}
	if root, ok := Nearest(dir, "cue.mod"); ok {
		return root
	}
	return dir
}

// Nearest returns the nearest directory at or above dir that holds name.
func Nearest(dir, name string) (string, bool) {
	for current := dir; ; current = filepath.Dir(current) {
		if _, err := os.Lstat(filepath.Join(current, name)); err == nil {
			return current, true
		}
		if current == filepath.Dir(current) {
			return "", false
		}
	}
}

// Display returns a path of the root as the user would write it.
func (r *Root) Display(rel string) string {
	full := filepath.Join(r.Dir, filepath.FromSlash(rel))
	short, err := filepath.Rel(r.base, full)
	if err != nil || r.absolute && !filepath.IsLocal(short) {
		return filepath.ToSlash(full)
	}
	return filepath.ToSlash(short)
}

// read returns the content of a regular file, up to one byte over the limit, so that
// the caller can refuse it as too large.
func (r *Root) read(rel string, limit int64) ([]byte, error) {
	// A device must not be opened.
	info, err := r.folder.Stat(rel)
	if err != nil {
		return nil, bare(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := r.folder.Open(rel)
	if err != nil {
		return nil, bare(err)
	}
	defer func() { _ = f.Close() }()
	return readAll(f, min(info.Size(), limit), limit)
}

// isFile reports whether a name leads to a regular file.
func isFile(r *Root, name string) bool {
	info, err := r.folder.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// unfollowed returns the error of a link that cannot be followed.
func (r *Root) unfollowed(name string, err error) *object.Error {
	target, _ := r.folder.ReadLink(name) // It is a link.
	return &object.Error{
		Stage: object.StageSpec,
		Pos:   object.Pos{File: r.Display(name)},
		Err:   fmt.Errorf("the link to %q cannot be followed: %w", target, bare(err)),
		Hint:  "commit what it leads to in its place, or remove the link",
	}
}

// readAll reads up to one byte over limit; size is the expected length.
func readAll(r io.Reader, size, limit int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(size) + bytes.MinRead)
	if _, err := b.ReadFrom(io.LimitReader(r, limit+1)); err != nil {
		return nil, bare(err)
	}
	return b.Bytes(), nil
}

// bare returns err without its operation and path: the position has the path.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// NearestFile returns a hint that asks for the file or the folder on disk that a name, which does
// not exist, may have meant. It returns "" if no name is near.
func NearestFile(name string) string {
	for dir := filepath.Dir(name); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err != nil {
			name = dir // The mistake is in the name of a folder that does not exist.
		}
	}
	entries, _ := os.ReadDir(filepath.Dir(name)) // A folder that cannot be read has no suggestion.
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	near, ok := object.Nearest(filepath.Base(name), names)
	if !ok || near == filepath.Base(name) {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", filepath.ToSlash(filepath.Join(filepath.Dir(name), near)))
}

// Location is the folder of a file of documents in its root.
type Location struct {
	Root *Root
	Dir  string
}

// Read returns the content of a file that a document at this location names.
func (l Location) Read(name string) ([]byte, error) {
	full := path.Join(l.Dir, name)
	if path.IsAbs(name) || strings.Contains(name, `\`) {
		return nil, errors.New("expected a path relative to the file of the workload, with / between folders")
	}
	if l.Root == nil || !filepath.IsLocal(full) {
		return nil, errors.New("leaves the root of the project")
	}
	data, err := l.Root.read(full, spec.MaxFile)
	if err != nil {
		return nil, bare(err)
	}
	if len(data) > spec.MaxFile {
		return nil, fmt.Errorf("has more than %d MiB: put large files into the image or a volume", spec.MaxFile>>20)
	}
	return data, nil
}
