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

	"github.com/spf13/pflag"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/artifact"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/checkout"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/imports"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/units"
	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
)

// gitPrefix marks a side as a Git revision, whatever files there are.
const gitPrefix = "git:"

// side is one side of a comparison.
type side struct {
	diff.Snapshot
	// rendered is the render of the side, without its result; nil for a side of manifests.
	rendered *command.Rendered
	close    func()
}

// openSide opens the side that arg names. The argument of the other side completes a Git revision
// without a path.
func (a commands) openSide(ctx context.Context, flags *command.ProjectFlags, arg, otherArg string) (side, error) {
	// A prefix, or the form of the reference, decides without a look at the disk.
	if rev, ok := strings.CutPrefix(arg, gitPrefix); ok {
		return a.revisionSide(ctx, flags, rev, otherArg)
	}
	if command.IsArtifact(arg) {
		return a.artifactSide(ctx, flags, arg)
	}
	if arg == "-" {
		return streamSide(ctx, arg, a.In)
	}

	// A name that is not on disk names a revision.
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return a.revisionSide(ctx, flags, arg, otherArg)
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

	// A folder without specs holds manifests.
	specs, err := project.HoldsSpecs(arg)
	if err != nil {
		return side{}, &command.EnvironmentError{Err: err}
	}
	if !specs {
		return manifestsSide(ctx, arg, info.IsDir())
	}
	return a.projectSide(ctx, flags, arg, nil, arg)
}

// tree is a folder with projects, as one of two sides.
type tree struct {
	arg string
	// files holds the files of a revision; nil means the disk. The folder inside it is the tree.
	files  *checkout.Files
	inside string
	flags  *command.ProjectFlags
	// projects lists the paths of projects below the folder.
	projects []string
	// units maps folders of an output to units of Argo CD or Flux.
	units map[string]command.Below
	close func()
}

// isOutput reports whether the tree has nothing to render. Its folders may then come from "ropewalk
// render -r -o".
func (t tree) isOutput() bool { return t.files == nil && len(t.projects) == 0 && len(t.units) == 0 }

// placeOf returns the path of a project of the tree, as users read it.
func (t tree) placeOf(project string) string {
	if u, ok := t.units[project]; ok {
		return u.Path
	}
	if t.files == nil {
		return filepath.Join(t.arg, filepath.FromSlash(project))
	}
	return t.arg + ":" + path.Join(t.inside, project)
}

// secretsOf returns the values of Secrets in a unit of a tree, and the values that its chart makes of
// them.
func (a commands) secretsOf(ctx context.Context, t tree, project string) ([]string, error) {
	u := t.units[project].Unit
	if u == nil {
		return nil, nil
	}
	load := func(ctx context.Context, unit gitops.Unit) (host.Loaded, error) {
		return a.LoadUnit(ctx, u.Flags, u.Files, unit)
	}
	made, err := gitops.Transformed(ctx, u.Unit, load, u.Flags.Shared)
	return slices.Concat(u.Secrets, made), err
}

// openTree finds the projects and the units of arg, and adds the units to found. The argument of the
// other side completes a Git revision without a path.
func (a commands) openTree(ctx context.Context, flags *diffFlags, found *units.Found, arg, otherArg string) (out tree, err error) {
	// A name that is not on disk names a revision.
	rev, isRevision := strings.CutPrefix(arg, gitPrefix)
	info, err := os.Stat(arg)
	isRevision = isRevision || errors.Is(err, fs.ErrNotExist)
	out = tree{arg: arg, inside: ".", flags: &flags.ProjectFlags, close: func() {}}
	var files fs.FS
	isFile := !isRevision && err == nil && !info.IsDir()
	switch {
	case command.IsArtifact(arg) || isFile:
		return tree{}, command.Usagef("name folders or revisions", "--recursive looks for projects in folders, and %s is none", arg)
	case isRevision:
		out.files, out.arg, out.inside, err = openRevision(ctx, rev, otherArg)
		if err != nil {
			return tree{}, fmt.Errorf("%q: %w", arg, err)
		}
		files = out.files
		out.flags = out.files.Flags(out.flags)
		out.close = out.files.Close
	case err != nil:
		return tree{}, &command.EnvironmentError{Err: err}
	default:
		files = os.DirFS(arg)
	}

	// Name the projects by their path below the side.
	var dirs []string
	if flags.UnitName == "" {
		dirs, err = project.Projects(files, out.inside)
	}
	if err != nil {
		out.close()
		return tree{}, &command.EnvironmentError{Err: err}
	}
	for _, dir := range dirs {
		if out.inside != "." {
			dir = strings.TrimPrefix(strings.TrimPrefix(dir, out.inside), "/")
		}
		out.projects = append(out.projects, cmp.Or(dir, "."))
	}

	// Name the units by their folders in an output.
	before := len(found.Below)
	if out.files == nil {
		_, err = found.AddFolder(ctx, a.App, &flags.ProjectFlags, arg)
	} else {
		err = found.Add(ctx, a.App, out.flags, out.files, out.inside, nil)
	}
	if err == nil {
		err = command.Apart(found.Below[before:])
	}
	out.units = map[string]command.Below{}
	for _, u := range found.Below[before:] {
		out.units[u.Rel] = u
	}
	if err != nil {
		out.close()
	}
	return out, err
}

// openSideIn opens a project of a tree. The side is empty if the tree has no such project.
func (a commands) openSideIn(ctx context.Context, t tree, project string) (side, error) {
	if u, ok := t.units[project]; ok {
		return a.projectSide(ctx, u.Flags(*t.flags), t.arg, nil, u.Path)
	}
	if info, err := os.Stat(t.placeOf(project)); t.isOutput() && err == nil && info.IsDir() {
		return manifestsSide(ctx, t.placeOf(project), true)
	}
	switch {
	case !slices.Contains(t.projects, project):
		return side{Snapshot: diff.Snapshot{Name: t.arg}, close: func() {}}, nil
	case t.files != nil:
		return a.projectSide(ctx, t.flags, t.arg, t.files, path.Join(t.inside, project))
	}
	return a.openSide(ctx, t.flags, t.placeOf(project), "")
}

// openIn opens a project of a tree. Mistakes in it are returned apart from other errors, at files that
// tell the sides apart: one of a revision is main:shop/web.yaml. The texts of these are added to texts.
func (a commands) openIn(ctx context.Context, t tree, which, project string, texts map[string][]byte) (side, object.Errors, error) {
	// Open it, and name its texts.
	prefix := ""
	if t.files != nil {
		prefix = t.arg + ":"
	}
	a.Texts = nil
	out, err := a.openSideIn(ctx, t, project)
	for name, text := range a.Texts {
		texts[prefix+name] = text
	}
	if err == nil {
		return out, nil, nil
	}

	// Name the files of its mistakes.
	mistakes, ok := command.IsFindings(err)
	if t.units[project].Unit != nil {
		mistakes, ok = command.UnitMistakes(err)
	}
	if !ok || ctx.Err() != nil {
		return out, nil, a.nameSide(ctx, which, t.placeOf(project), err)
	}
	return side{close: func() {}}, mistakes.In(prefix), nil
}

// streamSide reads the side that a command wrote into a pipe.
func streamSide(ctx context.Context, name string, reader io.Reader) (side, error) {
	data, err := io.ReadAll(io.LimitReader(reader, project.MaxManifests+1))
	switch {
	case err != nil:
		return side{}, &command.EnvironmentError{Err: err}
	case len(data) > project.MaxManifests:
		hint := "write it to files, of which each may have as much"
		return side{}, command.Usagef(hint, "%s: more than the %d bytes that are read", name, project.MaxManifests)
	case len(bytes.TrimSpace(data)) == 0: // The command before it may have failed.
		return side{}, command.Usagef("", "%s: nothing was written into it", name)
	}
	return readManifests(func() (diff.Snapshot, error) {
		out, err := snapshot.OfFile(ctx, "-", data) // The number in the name of a pipe is no wave.
		out.Name = name
		return out, err
	})
}

// manifestsSide reads the side of a directory of manifests, or of one file.
func manifestsSide(ctx context.Context, name string, dir bool) (side, error) {
	if dir {
		out, err := readManifests(func() (diff.Snapshot, error) { return snapshot.OfFiles(ctx, name, os.DirFS(name), nil) })
		var mistakes object.Errors
		if errors.As(err, &mistakes) {
			err = mistakes.In(strings.TrimSuffix(filepath.ToSlash(name), "/") + "/")
		}
		return out, err
	}
	data, err := os.ReadFile(name) //nolint:gosec // the user names it, and its size is known
	if err != nil {
		return side{}, &command.EnvironmentError{Err: err}
	}
	return readManifests(func() (diff.Snapshot, error) { return snapshot.OfFile(ctx, name, data) })
}

// readManifests returns the side of manifests that read reads. Text that is no manifest is a
// mistake in the file, as broken YAML is.
func readManifests(read func() (diff.Snapshot, error)) (out side, err error) {
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
	r.Result = render.Result{} // Two large results would take the memory that the comparison needs.
	return side{Snapshot: rendered, rendered: &r, close: r.Close}, nil
}

// artifactSide reads the side of an artifact, with the graph that is attached to it.
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
func (a commands) revisionSide(ctx context.Context, flags *command.ProjectFlags, arg, otherArg string) (side, error) {
	files, rev, inside, err := openRevision(ctx, arg, otherArg)
	if err != nil {
		return side{}, err
	}
	defer files.Close()
	if _, err := files.Lstat(inside); err != nil {
		return side{}, &command.EnvironmentError{Err: fmt.Errorf("revision %s has no %q: name it as %s:PATH", rev, inside, rev)}
	}
	return a.projectSide(ctx, files.Flags(flags), rev, files, inside)
}

// openRevision opens REVISION[:PATH] of the repository that the other side is in. An arg without a
// path takes the path of the other side.
func openRevision(ctx context.Context, arg, otherArg string) (files *checkout.Files, rev, inside string, err error) {
	rev, inside, hasPath := strings.Cut(arg, ":")
	repository, otherPath, err := checkout.InRepository(otherArg)
	if err != nil {
		err = fmt.Errorf("%q is no file or folder, and cannot be a Git revision: %w", arg, err)
		return nil, "", "", command.Usagef(project.NearestFile(arg), "%w", err)
	}
	if !hasPath {
		inside = otherPath
	}
	inside = path.Clean(inside)
	if !filepath.IsLocal(inside) {
		hint := "write REVISION:PATH with a path from the root of the repository"
		return nil, "", "", command.Usagef(hint, "%q leaves the repository", inside)
	}
	files, err = checkout.Open(ctx, repository, rev)
	return files, rev, inside, err
}

// beforeImport opens the source of a project as a side, before anything is written.
func (a commands) beforeImport(ctx context.Context, flags *command.ProjectFlags, in imported, source, dir string) (side, error) {
	// A copy is compared under the path of its source.
	var out side
	content := in.files
	folder := in.copied
	if in.copied != "" && filepath.IsLocal(source) {
		content = map[string][]byte{}
		folder = filepath.ToSlash(filepath.Clean(source))
		for name, data := range in.files {
			content[path.Join(folder, strings.TrimPrefix(name, in.copied))] = data
		}
	}

	// Open what the render is compared with.
	files, err := memfs.New(content)
	switch {
	case err != nil:
	case in.ofUnits:
		rendered := diff.Snapshot{Name: in.before, Items: in.items, Rendered: true, Dialect: dialect.Plain}
		out = side{Snapshot: rendered, close: func() {}}
	case in.copied != "": // Only the copy is opened, so that a path that leaves it is an error.
		out, err = a.projectSide(ctx, flags.Named(in.name), source, files, folder)
		if err != nil {
			text := "%s is in another repository than %s, and a copy of it alone does not render: name a directory in its repository\n"
			if _, _, noRepository := checkout.InRepository(source); noRepository != nil {
				text = "%s is in no Git repository, and a copy of it in %s does not render alone: git init in the folder above both makes them one\n"
			}
			a.Note(text, source, dir)
		}
	case in.files != nil:
		out = side{close: func() {}}
		out.Snapshot, err = snapshot.OfFiles(ctx, in.before, files, nil)
	default:
		out, err = a.openSide(ctx, flags.Named(in.name), in.before, dir)
	}
	if err != nil {
		return side{}, a.nameSide(ctx, "the source", source, err)
	}
	return out, nil
}

// compareImported compares the source of a project with its render, and returns the warnings of
// that render.
func (a commands) compareImported(
	ctx context.Context, set *pflag.FlagSet, old side, in imported, source, dir string,
) (diff.Report, object.Errors, error) {
	// Render the project as it is written, and compare it.
	flags, err := notKept(set)
	if err != nil {
		return diff.Report{}, nil, err
	}
	r, err := a.RenderFS(ctx, flags, nil, []string{dir})
	if err == nil {
		defer r.Close()
		now, err := snapshot.OfRender(ctx, dir, r.Result, nil)
		if err != nil {
			return diff.Report{}, nil, err
		}
		report, err := diff.Compare(ctx, old.Snapshot, now)
		if !in.ofUnits { // The plan names them.
			r.Warnings = append(r.Warnings, imports.Unexpanded(r.Plan.Graph.Nodes)...)
		}
		return report, r.Warnings.Sorted(), err
	}

	// The copy will be removed, so mistakes in it are shown at their lines of the source.
	var mistakes object.Errors
	if errors.As(err, &mistakes) {
		for _, m := range mistakes {
			if !in.moved && m.Pos.File == path.Join(filepath.ToSlash(dir), importedFile) {
				m.Pos.File = source
			}
			byHand := "write the Component with allowSecrets: [NAME] in its spec yourself, which no import does"
			m.Hint = strings.Replace(m.Hint, "allow this Secret in allowSecrets", byHand, 1)
		}
	}
	a.Note("nothing was written to %s, because its render fails\n", dir)
	return diff.Report{}, nil, a.nameSide(ctx, "the project", dir, err)
}
