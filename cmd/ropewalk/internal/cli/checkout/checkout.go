// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package checkout reads the files of a Git repository for a command, at a revision or as
// they are on disk, with the files that flags name beside them.
//
// # Invariants
//
// Paths are those in the repository, with / between folders. A file of a flag that the
// checkout has is read from it; another one is read from disk, below a folder that no
// search finds. Nothing is fetched, and nothing in the repository is run.
package checkout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/subpath"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/git"
)

// InRepository returns the Git repository that a path is in, and the place of the path in it, with
// / between folders. The working directory stands for an argument that is no path.
func InRepository(arg string) (repository, inside string, err error) {
	if _, err := os.Stat(arg); err != nil || command.IsArtifact(arg) {
		arg = "."
	}
	full, err := filepath.Abs(arg)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return "", "", &command.EnvironmentError{Err: err}
	}
	dir, ok := project.Nearest(full, ".git")
	if !ok {
		return "", "", command.Usagef("", "%s is not in a Git repository", arg)
	}
	inside, err = filepath.Rel(dir, full)
	return dir, filepath.ToSlash(inside), err
}

// givenDir is a folder beside the files of a checkout, with those that a flag names and
// the checkout has not; being hidden, no search finds it.
const givenDir = ".given"

// Files are the files of a repository, at a revision or as they are on disk, and below
// givenDir folders on disk by their number. It is safe for concurrent use once the flags
// are known.
type Files struct {
	files fs.ReadLinkFS
	// Commit is the hash of the revision, "" for what is on disk.
	Commit     string
	repository string
	given      []given
	close      func()
}

// given is a file or a folder on disk, with the folder that it is in, and what the user
// called that.
type given struct{ dir, base, name string }

var _ fs.ReadLinkFS = (*Files)(nil)

// Open opens a revision of a repository, or for "" what is on disk. The caller
// closes it.
func Open(ctx context.Context, repository, rev string) (*Files, error) {
	if rev == "" {
		root, err := os.OpenRoot(repository)
		if err != nil {
			return nil, &command.EnvironmentError{Err: err}
		}
		files, _ := root.FS().(fs.ReadLinkFS) // It is one.
		return &Files{files: files, repository: repository, close: func() { _ = root.Close() }}, nil
	}
	files, err := git.OpenRevision(ctx, repository, rev)
	switch {
	case errors.Is(err, source.ErrNotFound):
		return nil, &command.EnvironmentError{Err: err, Hint: fmt.Sprintf("%q is not a file, and not a revision of the repository", rev)}
	case err != nil:
		return nil, &command.EnvironmentError{Err: err}
	}
	return &Files{files: files, Commit: files.Commit(), repository: repository, close: files.Close}, nil
}

// Remotes returns the URLs of the remotes of the repository, without users and passwords.
func (c *Files) Remotes() []string { return git.Remotes(c.repository) }

// Close gives the files back.
func (c *Files) Close() { c.close() }

// Flags returns flags with the files of the checkout, if it has them.
func (c *Files) Flags(flags *command.ProjectFlags) *command.ProjectFlags {
	own := *flags
	own.Values, own.Crds, own.EnvFiles, own.LocalSources = nil, nil, nil, nil
	for _, arg := range flags.Values {
		name, file := "", arg
		if before, after, ok := strings.Cut(arg, ":"); ok && after != "" && spec.CheckName(before) == nil {
			name = before + ":"
			file = after
		}
		own.Values = append(own.Values, name+c.file(file))
	}
	for _, arg := range flags.Crds {
		own.Crds = append(own.Crds, c.file(arg))
	}
	for _, arg := range flags.EnvFiles {
		own.EnvFiles = append(own.EnvFiles, c.file(arg))
	}
	for _, arg := range flags.LocalSources {
		if name, file, ok := strings.Cut(arg, "="); ok && file != "" {
			arg = name + "=" + c.file(file)
		}
		own.LocalSources = append(own.LocalSources, arg)
	}
	return &own
}

// file returns the path of a file or a folder that a flag names: that of the checkout if it has
// one, else the one that is on disk now. A link of the repository leads nowhere outside of it.
func (c *Files) file(name string) string {
	inside, ok := Inside(c.repository, name)
	if ok {
		if _, err := c.files.Lstat(inside); err == nil {
			return inside
		}
	}
	full, err := filepath.Abs(name)
	if err != nil {
		full = name
	}
	// A file that is only in the revision leads nowhere now, and its folder may.
	if real, err := filepath.EvalSymlinks(full); err == nil {
		full = real
	} else if real, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
		full = filepath.Join(real, filepath.Base(full))
	}
	if to, err := filepath.Rel(c.repository, full); ok && (err != nil || !filepath.IsLocal(to)) {
		return inside
	}
	c.given = append(c.given, given{filepath.Dir(full), filepath.Base(full), path.Dir(filepath.ToSlash(name))})
	return path.Join(givenDir, strconv.Itoa(len(c.given)-1), filepath.Base(full))
}

// Inside returns the path in a repository of a file or a folder, also of one that is not on disk.
// The result ok is false outside of the repository. Links of the repository are not followed: they
// may lead elsewhere in each revision.
func Inside(repository, name string) (inside string, ok bool) {
	full, err := filepath.Abs(name)
	if err != nil {
		return "", false
	}
	for dir := full; ; dir = filepath.Dir(dir) {
		// The last one that is the repository is outermost.
		if real, err := filepath.EvalSymlinks(dir); err == nil && real == repository {
			if rel, err := filepath.Rel(dir, full); err == nil {
				inside, ok = filepath.ToSlash(rel), true
			}
		}
		if dir == filepath.Dir(dir) {
			return inside, ok
		}
	}
}

// MergeBases returns the best common commits of two revisions, the newest first. See
// [git.MergeBases].
func MergeBases(ctx context.Context, repository, a, b string) ([]string, error) {
	out, err := git.MergeBases(ctx, repository, a, b)
	if err != nil {
		return nil, &command.EnvironmentError{Err: err}
	}
	return out, nil
}

// onDisk returns the place of a path below givenDir. The second result is false for a path that no
// flag named.
func (c *Files) onDisk(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, givenDir+"/")
	number, rest, _ := strings.Cut(rest, "/")
	i, err := strconv.Atoi(number)
	if !ok || err != nil || i >= len(c.given) {
		return "", false
	}
	// What lies beside it was not given.
	if base := c.given[i].base; !subpath.Within(rest, base) || !fs.ValidPath(rest) {
		return "", false
	}
	return filepath.Join(c.given[i].dir, filepath.FromSlash(rest)), true
}

// Given returns text with the names that the user gave to files of flags that only the disk has.
func (c *Files) Given(text string) string {
	if c == nil || !strings.Contains(text, givenDir+"/") {
		return text
	}
	for i := len(c.given) - 1; i >= 0; i-- {
		text = strings.ReplaceAll(text, path.Join(givenDir, strconv.Itoa(i))+"/", c.given[i].name+"/")
	}
	return text
}

// Open opens a file or a folder.
func (c *Files) Open(name string) (fs.File, error) {
	if at, ok := c.onDisk(name); ok {
		return os.Open(at) //nolint:gosec // the user names it
	}
	return c.files.Open(name)
}

// ReadDir lists a folder.
func (c *Files) ReadDir(name string) ([]fs.DirEntry, error) {
	if at, ok := c.onDisk(name); ok {
		return os.ReadDir(at)
	}
	return fs.ReadDir(c.files, name)
}

// ReadLink returns the text of a link.
func (c *Files) ReadLink(name string) (string, error) { return c.files.ReadLink(name) }

// Lstat describes a file, a folder or a link; links on disk below givenDir are followed.
func (c *Files) Lstat(name string) (fs.FileInfo, error) {
	if at, ok := c.onDisk(name); ok {
		return os.Stat(at)
	}
	if name == givenDir || path.Dir(name) == givenDir {
		name = "." // These are folders, and have no list.
	}
	return c.files.Lstat(name)
}
