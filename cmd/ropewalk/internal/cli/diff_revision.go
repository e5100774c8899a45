// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/git"
)

// revisionLimits bound all that is read of a revision.
func revisionLimits() source.Limits { return source.Limits{Files: 50_000, Bytes: 256 << 20} }

// givenDir is where files that no revision has are put; being hidden, no search
// comes upon it.
const givenDir = ".given"

// revisionSide renders the project as it was at a revision of the repository
// that the working directory, or the other side, is in.
func (a commands) revisionSide(ctx context.Context, flags *command.ProjectFlags, arg, other string) (side, error) {
	rev, inside, given := strings.Cut(arg, ":")
	repository, at, err := inRepository(other)
	if err != nil {
		return side{}, fmt.Errorf("%q is no file; and it can be no revision: %w", rev, err)
	}
	if !given {
		inside = at
	}
	if inside = path.Clean(inside); !filepath.IsLocal(inside) {
		return side{}, command.Usagef("write REVISION:PATH with a path from the root of the repository", "%q leaves the repository", inside)
	}
	// What is written is taken away again, whatever ends the run and when.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	r, err := newRevision(repository, rev)
	if err != nil {
		return side{}, err
	}
	defer r.close()
	if err := r.project(ctx, inside); err != nil {
		return side{}, err
	}
	own, err := r.given(ctx, flags)
	if err != nil {
		return side{}, err
	}
	// Its files are in memory then, and its positions are those of the user.
	return a.projectSide(ctx, own, rev, r.dir, []string{filepath.FromSlash(inside)})
}

// revision is a directory with the part of a revision that a project needs: its
// own folder, and the folders that its documents name. Links are files there.
type revision struct {
	repository, rev string
	dir             string
	root            *os.Root
	// have are the folders that are there as a whole, and looked those that were
	// looked for.
	have, looked []string
	// left is what may still be read.
	left source.Limits
}

func newRevision(repository, rev string) (*revision, error) {
	dir, err := os.MkdirTemp("", "ropewalk-diff-")
	if err != nil {
		return nil, &command.EnvironmentError{Err: err}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, &command.EnvironmentError{Err: err}
	}
	return &revision{repository: repository, rev: rev, dir: dir, root: root, left: revisionLimits()}, nil
}

// close removes everything; nothing reads it any more, and the system clears
// what cannot be taken away.
func (r *revision) close() {
	_ = r.root.Close()
	_ = os.RemoveAll(r.dir)
}

// project brings a project, and what its documents name until they name nothing
// new.
func (r *revision) project(ctx context.Context, inside string) error {
	if err := r.bring(ctx, inside); err != nil {
		return err
	}
	if _, err := r.root.Stat(inside); err != nil {
		return &command.EnvironmentError{Err: fmt.Errorf("revision %s has no %q: name it as %s:PATH", r.rev, inside, r.rev)}
	}
	for {
		needed, err := project.Paths(project.Options{Args: []string{filepath.FromSlash(inside)}, Dir: r.dir, Root: "."})
		if err != nil {
			return &command.EnvironmentError{Err: err}
		}
		before := len(r.looked)
		for _, name := range needed {
			if err := r.bring(ctx, name); err != nil {
				return err
			}
		}
		if len(r.looked) == before {
			return nil
		}
	}
}

// bring brings a folder, or the folder around what is a file, or a link, or not
// there: the last is for the render to say.
func (r *revision) bring(ctx context.Context, name string) error {
	if slices.Contains(r.looked, name) || r.has(name) {
		return nil
	}
	r.looked = append(r.looked, name)
	var first error
	for at := name; !r.has(at); at = path.Dir(at) {
		tree, err := git.Revision(ctx, r.repository, r.rev, at, r.left)
		switch {
		case err == nil:
			r.have = append(r.have, at)
			return r.Write(ctx, at, tree)
		case first == nil:
			first = err
		}
		switch {
		case errors.Is(err, context.Canceled):
			return err
		case !errors.Is(first, source.ErrNotFound):
			return &command.EnvironmentError{Err: first}
		case !errors.Is(err, source.ErrNotFound):
			return &command.EnvironmentError{Err: fmt.Errorf("%w; and the folder around it cannot be read: %w", first, err)}
		case at == ".":
			return &command.EnvironmentError{Err: first, Hint: fmt.Sprintf("%q is no file, and no revision of the repository", r.rev)}
		}
	}
	return nil
}

// has reports whether a path is in a folder that is there as a whole.
func (r *revision) has(name string) bool {
	return slices.ContainsFunc(r.have, func(h string) bool {
		return h == "." || name == h || strings.HasPrefix(name, h+"/")
	})
}

// write writes the tree of a folder. The tree begins at the module that the
// folder is in, where there is one.
func (r *revision) Write(ctx context.Context, at string, tree source.Tree) error {
	for dir := tree.Dir; dir != "." && dir != ""; dir = path.Dir(dir) {
		at = path.Dir(at)
	}
	return fs.WalkDir(tree.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := fs.ReadFile(tree.FS, name)
		if err != nil {
			return err
		}
		return r.put(path.Join(at, name), data)
	})
}

// put writes one file, which counts.
func (r *revision) put(name string, data []byte) error {
	r.left.Files, r.left.Bytes = r.left.Files-1, r.left.Bytes-int64(len(data))
	if r.left.Files <= 0 || r.left.Bytes <= 0 {
		limits := revisionLimits()
		return &command.EnvironmentError{Err: source.Refuse(source.ErrLimit, fmt.Sprintf(
			"the project needs more than %d files or %d bytes of the revision %s, at %q", limits.Files, limits.Bytes, r.rev, name))}
	}
	err := r.root.MkdirAll(path.Dir(name), 0o700)
	if err == nil {
		err = r.root.WriteFile(name, data, 0o600)
	}
	if err != nil {
		return &command.EnvironmentError{Err: err}
	}
	return nil
}

// given are the flags with the files that they name as paths in the directory:
// those of the revision where it has them, else those that are there now.
func (r *revision) given(ctx context.Context, flags *command.ProjectFlags) (*command.ProjectFlags, error) {
	out := *flags
	out.Values, out.Crds = nil, nil
	for _, arg := range flags.Values {
		name, file := "", arg
		if before, after, ok := strings.Cut(arg, ":"); ok && after != "" && spec.CheckName(before) == nil {
			name, file = before+":", after
		}
		file, err := r.file(ctx, file)
		if err != nil {
			return nil, err
		}
		out.Values = append(out.Values, name+file)
	}
	for _, arg := range flags.Crds {
		file, err := r.file(ctx, arg)
		if err != nil {
			return nil, err
		}
		out.Crds = append(out.Crds, file)
	}
	return &out, nil
}

// file is a file or a folder that the user names, in the directory.
func (r *revision) file(ctx context.Context, name string) (string, error) {
	full, err := filepath.Abs(name)
	if err != nil {
		return "", &command.EnvironmentError{Err: err}
	}
	// A file that is only in the revision leads nowhere now, and its folder may.
	if real, err := filepath.EvalSymlinks(full); err == nil {
		full = real
	} else if real, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
		full = filepath.Join(real, filepath.Base(full))
	}
	if inside, err := filepath.Rel(r.repository, full); err == nil && filepath.IsLocal(inside) {
		inside = filepath.ToSlash(inside)
		if err := r.bring(ctx, inside); err != nil {
			return "", err
		}
		if _, err := r.root.Stat(inside); err == nil {
			return filepath.FromSlash(inside), nil
		}
	}
	to := path.Join(givenDir, strconv.Itoa(len(r.looked)), filepath.Base(full))
	r.looked = append(r.looked, to)
	return filepath.FromSlash(to), r.copy(ctx, full, to)
}

// copy copies a file, or the manifests of a folder.
func (r *revision) copy(ctx context.Context, from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return &command.EnvironmentError{Err: err}
	}
	dir := os.DirFS(filepath.Dir(from))
	return fs.WalkDir(dir, filepath.Base(from), func(name string, e fs.DirEntry, err error) error {
		switch {
		case err == nil:
			err = ctx.Err()
		case !info.IsDir():
			return &command.EnvironmentError{Err: err}
		}
		if err != nil || e.IsDir() || info.IsDir() && (!e.Type().IsRegular() || !isManifestName(name)) {
			return err
		}
		if size, err := e.Info(); err != nil || !size.Mode().IsRegular() || size.Size() > r.left.Bytes {
			return &command.EnvironmentError{Err: fmt.Errorf("%q cannot be read, or is too large", name)}
		}
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return &command.EnvironmentError{Err: err}
		}
		return r.put(path.Join(path.Dir(to), name), data)
	})
}

func isManifestName(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
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
	for dir := full; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			rel, err := filepath.Rel(dir, full)
			return dir, filepath.ToSlash(rel), err
		}
		if dir == filepath.Dir(dir) {
			return "", "", command.Usagef("BEFORE and AFTER are each a path, a Git revision or an artifact", "%s is in no Git repository", arg)
		}
	}
}
