// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

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
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/git"
)

// revisionSide renders the project as it was at a revision of the repository
// that the working directory, or the other side, is in.
func (a commands) revisionSide(ctx context.Context, flags *command.ProjectFlags, arg, other string) (side, error) {
	rev, inside, given := strings.Cut(arg, ":")
	repository, at, err := inRepository(other)
	if err != nil {
		return side{}, fmt.Errorf("%q is not a file, and cannot be a Git revision: %w", rev, err)
	}
	if !given {
		inside = at
	}
	if inside = path.Clean(inside); !filepath.IsLocal(inside) {
		return side{}, command.Usagef("write REVISION:PATH with a path from the root of the repository", "%q leaves the repository", inside)
	}
	files, err := git.OpenRevision(ctx, repository, rev)
	switch {
	case errors.Is(err, source.ErrNotFound):
		return side{}, &command.EnvironmentError{Err: err, Hint: fmt.Sprintf("%q is not a file, and not a revision of the repository", rev)}
	case err != nil:
		return side{}, &command.EnvironmentError{Err: err}
	}
	defer files.Close()
	if _, err := files.Lstat(inside); err != nil {
		return side{}, &command.EnvironmentError{Err: fmt.Errorf("revision %s has no %q: name it as %s:PATH", rev, inside, rev)}
	}
	r := &revision{Files: files, repository: repository}
	own := *flags
	own.Values, own.Crds = nil, nil
	for _, arg := range flags.Values {
		name, file := "", arg
		if before, after, ok := strings.Cut(arg, ":"); ok && after != "" && spec.CheckName(before) == nil {
			name, file = before+":", after
		}
		own.Values = append(own.Values, name+r.file(file))
	}
	for _, arg := range flags.Crds {
		own.Crds = append(own.Crds, r.file(arg))
	}
	return a.projectSide(ctx, &own, rev, r, inside)
}

// givenDir is a folder beside the files of a revision, with those that a flag names and
// no revision has; being hidden, no search finds it.
const givenDir = ".given"

// revision is the files of a revision and, below givenDir, folders on disk by their
// number.
type revision struct {
	*git.Files
	repository string
	given      []string
}

// file is the path of a file or a folder that a flag names: that of the revision where
// it has one, else the one that is on disk now.
func (r *revision) file(name string) string {
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
	if inside, err := filepath.Rel(r.repository, full); err == nil && filepath.IsLocal(inside) {
		if _, err := r.Files.Lstat(filepath.ToSlash(inside)); err == nil {
			return filepath.ToSlash(inside)
		}
	}
	r.given = append(r.given, filepath.Dir(full))
	return path.Join(givenDir, strconv.Itoa(len(r.given)-1), filepath.Base(full))
}

// onDisk is where a path below givenDir is.
func (r *revision) onDisk(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, givenDir+"/")
	number, rest, _ := strings.Cut(rest, "/")
	i, err := strconv.Atoi(number)
	if !ok || err != nil || i >= len(r.given) {
		return "", false
	}
	return filepath.Join(r.given[i], filepath.FromSlash(rest)), true
}

// Open opens a file or a folder.
func (r *revision) Open(name string) (fs.File, error) {
	if at, ok := r.onDisk(name); ok {
		return os.Open(at) //nolint:gosec // the user names it
	}
	return r.Files.Open(name)
}

// Lstat describes a file, a folder or a link; links on disk are followed.
func (r *revision) Lstat(name string) (fs.FileInfo, error) {
	if at, ok := r.onDisk(name); ok {
		return os.Stat(at)
	}
	if name == givenDir {
		name = "."
	}
	return r.Files.Lstat(name)
}

// inRepository is the repository that a path is in, and where in it; the
// working directory stands for what is no path.
func inRepository(arg string) (repository, inside string, err error) {
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
		return "", "", command.Usagef("BEFORE and AFTER are each a path, a Git revision or an artifact", "%s is not in a Git repository", arg)
	}
	inside, err = filepath.Rel(dir, full)
	return dir, filepath.ToSlash(inside), err
}
