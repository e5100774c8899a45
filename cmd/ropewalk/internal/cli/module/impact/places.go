// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package impact

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/plugin/host/release"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/lock"
)

// parallelFetches is how many repositories are fetched at once.
const parallelFetches = 8

// place is where consumers are.
type place struct {
	// shown is what the user calls it, and dir the path of it in files; nil is the disk.
	shown, dir string
	files      fs.FS
	// project says that it is a project or a bundle, and not specs of which each is a consumer.
	project bool
	// optional is a folder that was searched, and may hold nothing.
	optional bool
	// installation is the document of one, nil for all others.
	installation []byte
	// err is why it cannot be read.
	err error
}

// isRemote reports whether an argument is a Git repository by its URL.
func isRemote(arg string) bool {
	return strings.HasPrefix(arg, reftype.Git+":") || strings.Contains(arg, "://") || strings.HasPrefix(arg, "git@")
}

// findPlaces returns the places that the arguments name. All arguments that are not on disk are
// refused at once.
func (x *examining) findPlaces(ctx context.Context, args []string) (out []place, err error) {
	// Look at the arguments before anything is fetched.
	var wrong []error
	for _, arg := range args {
		if isRemote(arg) {
			continue
		}
		if _, err := os.Stat(arg); err != nil {
			wrong = append(wrong, command.Usagef(project.NearestFile(arg), "%s is no folder, no file and no URL of a Git repository", arg))
		}
	}
	if len(wrong) > 0 {
		return nil, all(wrong)
	}
	// Repositories are fetched several at a time; the order is that of the arguments.
	found := make([][]place, len(args))
	var group errgroup.Group
	group.SetLimit(parallelFetches)
	for i, arg := range args {
		group.Go(func() (err error) {
			defer crash.Recover(&err)
			found[i], err = x.placesAt(ctx, arg)
			if err != nil {
				found[i] = []place{{shown: arg, err: err}}
			}
			return ctx.Err()
		})
	}

	// A folder may be named twice, or lie in another one.
	err = group.Wait()
	for _, p := range slices.Concat(found...) {
		twice := func(other place) bool { return other.files == nil && other.dir == p.dir }
		if p.files != nil || p.dir == "" || !slices.ContainsFunc(out, twice) {
			out = append(out, p)
		}
	}
	return out, err
}

// all joins mistakes on the command line into one.
func all(wrong []error) error {
	if len(wrong) == 1 {
		return wrong[0]
	}
	return command.Usagef("", "%w", errors.Join(wrong...))
}

// placesAt returns the places of one argument.
func (x *examining) placesAt(ctx context.Context, arg string) ([]place, error) {
	if isRemote(arg) {
		ctx, cancel := context.WithTimeout(ctx, x.flags.each)
		defer cancel()
		return x.fetchPlaces(ctx, arg)
	}
	if info, err := os.Stat(arg); err != nil || !info.IsDir() {
		data, err := command.ReadRegular(arg)
		one := place{shown: arg, dir: arg, project: path.Ext(arg) == ".cue", err: err}
		if release.KindOf(data) == release.KindInstallation {
			one.installation = data
		}
		return []place{one}, nil
	}
	return search(os.DirFS(arg), ".", func(dir string) place {
		name := filepath.Join(arg, filepath.FromSlash(dir))
		return place{shown: filepath.ToSlash(name), dir: name}
	})
}

// fetchPlaces returns the places of a Git repository. It fetches the complete repository: a project
// may refer to files outside of its folder.
func (x *examining) fetchPlaces(ctx context.Context, arg string) ([]place, error) {
	// Fetch the repository without the lock of the user.
	ref, folder := splitGit(strings.TrimPrefix(arg, reftype.Git+":"))
	own := x.flags.Sources
	own.Locked = false
	h, err := x.Connect(&own, nil, nil, &lock.Recorder{})
	if err != nil {
		return nil, err
	}
	tree, err := h.Fetchers[source.TypeGit].Fetch(ctx, source.Ref{Type: source.TypeGit, Ref: ref})
	if err != nil {
		return nil, late(ctx, err, x.flags.each)
	}

	// Name each place by its path in the repository.
	folder = cmp.Or(folder, ".")
	info, err := fs.Stat(tree.FS, folder)
	if err != nil {
		return nil, source.Refuse(source.ErrNotFound, fmt.Sprintf("the repository has no %q", folder))
	}
	base := baseOf(reftype.Git, ref)
	at := func(dir string) place {
		shown := base
		if dir != "." {
			shown += "//" + dir
		}
		return place{shown: shown, dir: dir, files: tree.FS}
	}
	if info.IsDir() {
		return search(tree.FS, folder, at)
	}
	one := at(folder)
	one.project = path.Ext(folder) == ".cue"
	return []place{one}, nil
}

// search finds the projects and the bundles at and below a folder, the specs outside of them, and
// the Installations.
func search(files fs.FS, folder string, at func(dir string) place) ([]place, error) {
	// Find the projects, or take the folder as specs.
	dirs, err := project.Projects(files, folder)
	if err != nil {
		return nil, &command.EnvironmentError{Err: err}
	}
	var out []place
	if !slices.Contains(dirs, folder) {
		loose := at(folder)
		loose.optional = true
		out = append(out, loose)
	}

	// Bundles are projects too.
	bundles, err := project.Bundles(files, folder)
	if err != nil {
		return nil, &command.EnvironmentError{Err: err}
	}
	for _, name := range slices.Concat(dirs, bundles) {
		one := at(name)
		one.project = true
		out = append(out, one)
	}
	// What cannot be read is no Installation.
	_ = fs.WalkDir(files, folder, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case e.IsDir() && name != folder && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case !e.Type().IsRegular() || !project.IsDocument(name):
			return nil
		}
		if data, err := fs.ReadFile(files, name); err == nil && bytes.Contains(data, []byte(release.KindInstallation)) && release.KindOf(data) == release.KindInstallation {
			one := at(name)
			one.installation = data
			out = append(out, one)
		}
		return nil
	})
	return out, nil
}
