// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/artifact"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/checkout"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
)

// gitPrefix marks a side as a Git revision, whatever files there are.
const gitPrefix = "git:"

// side is one side of a comparison, with the render that it comes from where it
// is one, but for its result.
type side struct {
	diff.Snapshot
	rendered *command.Rendered
	close    func()
}

// side is what arg names; other is the other argument.
func (a commands) side(ctx context.Context, flags *command.ProjectFlags, arg, other string) (side, error) {
	if rev, ok := strings.CutPrefix(arg, gitPrefix); ok {
		return a.revisionSide(ctx, flags, rev, other)
	}
	if command.IsArtifact(arg) {
		return a.artifactSide(ctx, flags, arg)
	}
	if arg == "-" {
		return streamSide(ctx, arg, a.In)
	}
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return a.revisionSide(ctx, flags, arg, other)
	case err != nil:
		return side{}, &command.EnvironmentError{Err: err}
	case !info.IsDir() && !info.Mode().IsRegular(): // A pipe can be read once.
		f, err := os.Open(arg) //nolint:gosec // the user names it
		if err != nil {
			return side{}, &command.EnvironmentError{Err: err}
		}
		defer f.Close() //nolint:errcheck // nothing was written
		return streamSide(ctx, arg, f)
	}
	specs, err := project.HoldsSpecs(arg)
	if err != nil {
		return side{}, &command.EnvironmentError{Err: err}
	}
	if !specs {
		return manifestsSide(ctx, arg, info.IsDir())
	}
	return a.projectSide(ctx, flags, arg, nil, arg)
}

// onlySpecs leaves in both sides the objects of some specs: of one that moves to another spec,
// those of both. It returns the specs that the sides have.
func onlySpecs(names []string, sides ...*side) (known []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	chosen := map[object.Ref]bool{}
	for _, s := range sides {
		if s.rendered != nil {
			known = append(known, s.rendered.SpecNames()...)
		}
		for _, i := range s.Items {
			if i.Node == "" && !i.Delivers {
				return nil, command.Usagef("compare projects, or artifacts that \"ropewalk build\" pushed", "--spec: %s does not say which spec made its objects", s.Name)
			}
			known = append(known, i.Node.Spec())
			if slices.Contains(names, i.Node.Spec()) {
				chosen[i.Object.Ref()] = true
			}
		}
	}
	for _, s := range sides {
		s.Items = slices.DeleteFunc(s.Items, func(i diff.Item) bool { return !chosen[i.Object.Ref()] })
	}
	slices.Sort(known)
	return slices.Compact(known), nil
}

// tree is a folder with projects, as one of two sides.
type tree struct {
	arg string
	// files are those of a revision, with the folder in them; nil is the disk.
	files  *checkout.Files
	inside string
	flags  *command.ProjectFlags
	// projects are where they are below the folder.
	projects []string
	close    func()
}

// at is what a project of the tree is called.
func (t tree) at(project string) string {
	if t.files == nil {
		return filepath.Join(t.arg, filepath.FromSlash(project))
	}
	return t.arg + ":" + path.Join(t.inside, project)
}

// tree finds the projects of arg; other is the other argument.
func (a commands) tree(ctx context.Context, flags *diffFlags, arg, other string) (out tree, err error) {
	rev, isRevision := strings.CutPrefix(arg, gitPrefix)
	info, err := os.Stat(arg)
	isRevision = isRevision || errors.Is(err, fs.ErrNotExist)
	out = tree{arg: arg, inside: ".", flags: &flags.ProjectFlags, close: func() {}}
	var files fs.FS
	switch {
	case command.IsArtifact(arg) || !isRevision && err == nil && !info.IsDir():
		return tree{}, command.Usagef("name folders or revisions", "--recursive looks for projects in folders, and %s is none", arg)
	case isRevision:
		if out.files, out.arg, out.inside, err = openRevision(ctx, rev, other); err != nil {
			return tree{}, fmt.Errorf("%q: %w", arg, err)
		}
		files, out.flags, out.close = out.files, out.files.Flags(out.flags), out.files.Close
	case err != nil:
		return tree{}, &command.EnvironmentError{Err: err}
	default:
		files = os.DirFS(arg)
	}
	found, err := project.Projects(files, out.inside)
	if err != nil {
		out.close()
		return tree{}, &command.EnvironmentError{Err: err}
	}
	for _, dir := range found {
		if out.inside != "." {
			dir = strings.TrimPrefix(strings.TrimPrefix(dir, out.inside), "/")
		}
		out.projects = append(out.projects, cmp.Or(dir, "."))
	}
	return out, nil
}

// sideIn is a project of a tree; nothing where the tree has none there.
func (a commands) sideIn(ctx context.Context, t tree, project string) (side, error) {
	switch {
	case !slices.Contains(t.projects, project):
		return side{Snapshot: diff.Snapshot{Name: t.arg}, close: func() {}}, nil
	case t.files != nil:
		return a.projectSide(ctx, t.flags, t.arg, t.files, path.Join(t.inside, project))
	}
	return a.side(ctx, t.flags, t.at(project), "")
}

// streamSide is what a command wrote into a pipe.
func streamSide(ctx context.Context, name string, from io.Reader) (side, error) {
	data, err := io.ReadAll(io.LimitReader(from, project.MaxManifests+1))
	switch {
	case err != nil:
		return side{}, &command.EnvironmentError{Err: err}
	case len(data) > project.MaxManifests:
		return side{}, command.Usagef("write it to files, of which each may have as much", "%s: more than the %d bytes that are read", name, project.MaxManifests)
	case len(bytes.TrimSpace(data)) == 0: // The command before it may have failed.
		return side{}, command.Usagef("", "%s: nothing was written into it", name)
	}
	return ofManifests(func() (diff.Snapshot, error) {
		out, err := snapshot.OfFile(ctx, "-", data) // The number of a pipe is no wave.
		out.Name = name
		return out, err
	})
}

// manifestsSide is a directory of manifests, or one file of them.
func manifestsSide(ctx context.Context, name string, dir bool) (side, error) {
	if dir {
		return ofManifests(func() (diff.Snapshot, error) { return snapshot.OfFiles(ctx, name, os.DirFS(name), nil) })
	}
	data, err := os.ReadFile(name) //nolint:gosec // the user names it, and its size is known
	if err != nil {
		return side{}, &command.EnvironmentError{Err: err}
	}
	return ofManifests(func() (diff.Snapshot, error) { return snapshot.OfFile(ctx, name, data) })
}

// ofManifests is the side of manifests that read reads. What is no manifest is a mistake in the
// file, as YAML that is broken is.
func ofManifests(read func() (diff.Snapshot, error)) (out side, err error) {
	out.close = func() {}
	out.Snapshot, err = read()
	var mistakes object.Errors
	if err != nil && !command.IsSystem(err) && !errors.As(err, &mistakes) {
		err = &object.Error{Stage: object.StageCheck, Err: err}
	}
	return out, err
}

// projectSide renders a project in files; nil is the disk.
func (a commands) projectSide(ctx context.Context, flags *command.ProjectFlags, name string, files fs.FS, arg string) (side, error) {
	r, err := a.RenderFS(ctx, flags, files, []string{arg})
	if err != nil {
		return side{}, err
	}
	rendered, err := snapshot.OfRender(ctx, name, r.Result, nil)
	if err != nil {
		r.Close()
		return side{}, err
	}
	r.Result = render.Result{} // Of two large projects it would hold what the comparison needs.
	return side{Snapshot: rendered, rendered: &r, close: r.Close}, nil
}

// artifactSide is an artifact with the graph that is attached to it.
func (a commands) artifactSide(ctx context.Context, flags *command.ProjectFlags, arg string) (side, error) {
	p, err := a.Open(ctx, &flags.Sources.RegistryFlags, arg, false)
	if err != nil {
		return side{}, err
	}
	defer p.Close() //nolint:errcheck // nothing was written
	files, err := artifact.Snapshot(ctx, p, p.Reference)
	if err != nil {
		return side{}, command.LocationError(p, err)
	}
	files.Name = arg
	return side{Snapshot: files, close: func() {}}, nil
}

// revisionSide renders the project as it was at a revision of the repository
// that the working directory, or the other side, is in.
func (a commands) revisionSide(ctx context.Context, flags *command.ProjectFlags, arg, other string) (side, error) {
	files, rev, inside, err := openRevision(ctx, arg, other)
	if err != nil {
		return side{}, err
	}
	defer files.Close()
	if _, err := files.Lstat(inside); err != nil {
		return side{}, &command.EnvironmentError{Err: fmt.Errorf("revision %s has no %q: name it as %s:PATH", rev, inside, rev)}
	}
	return a.projectSide(ctx, files.Flags(flags), rev, files, inside)
}

// openRevision opens REVISION[:PATH] of the repository that the other side is in, which has the
// path where arg has none.
func openRevision(ctx context.Context, arg, other string) (files *checkout.Files, rev, inside string, err error) {
	rev, inside, given := strings.Cut(arg, ":")
	repository, at, err := checkout.InRepository(other)
	if err != nil {
		err = fmt.Errorf("%q is no file or folder, and cannot be a Git revision: %w", arg, err)
		return nil, "", "", command.Usagef(project.NearestFile(arg), "%w", err)
	}
	if !given {
		inside = at
	}
	if inside = path.Clean(inside); !filepath.IsLocal(inside) {
		return nil, "", "", command.Usagef("write REVISION:PATH with a path from the root of the repository", "%q leaves the repository", inside)
	}
	files, err = checkout.Open(ctx, repository, rev)
	return files, rev, inside, err
}
