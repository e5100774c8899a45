// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package units

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/checkout"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/plugin/host/transform/manifest"
	"github.com/ropewalk/ropewalk/render/evaluate/resultcache"
	"github.com/ropewalk/ropewalk/render/object"
)

// Expand finds the units below a folder of files. The flags are those for the files, with an
// evaluator that is shared.
func Expand(ctx context.Context, files *checkout.Files, folder string, flags *command.ProjectFlags, load gitops.Load) (gitops.Expansion, error) {
	local, err := manifest.ParseSources(flags.LocalSources)
	if err != nil {
		return gitops.Expansion{}, command.Usagef("", "--local-sources %w", err)
	}
	repo := gitops.Repository{FS: files, Dir: folder, URLs: flags.RepositoryURLs, Remotes: files.Remotes(), Local: local}
	found, err := gitops.Expand(ctx, repo, gitops.Renderer(load, flags.Shared))
	if err != nil {
		return found, err
	}
	found.Units = slices.DeleteFunc(found.Units, func(u gitops.Unit) bool { return u.Project != "" && isProject(files, u.Project) })
	return found, nil
}

// isProject reports whether a folder is a project, which is rendered by itself.
func isProject(files fs.FS, folder string) bool {
	dirs, err := project.Projects(files, folder)
	return err == nil && slices.Contains(dirs, folder)
}

// CheckLocal refuses a folder for a source that no unit refers to.
func CheckLocal(flags *command.ProjectFlags, used map[string]bool) error {
	for _, arg := range flags.LocalSources {
		if name, _, _ := strings.Cut(arg, "="); !used[name] {
			return command.Usagef("name a source as a hint of \"ropewalk vet -r\" does", "--local-sources %s: no unit has its files from %s", arg, name)
		}
	}
	return nil
}

// Found are the projects and the units below paths.
type Found struct {
	// Below is nil if all paths are taken at once.
	Below []command.Below
	// Units are those that the flags name, also those that are not rendered.
	Units []*command.Unit
	// Warnings are about what is not rendered, and Missing are the folders of units that are not.
	Warnings object.Errors
	Missing  map[string]bool
	// unapplied are the files with objects that no unit applies.
	unapplied []string
	// known are the names of the units, and clusters those of their clusters.
	known, clusters []string
	// used are the names of local sources that a unit refers to.
	used map[string]bool
	// hidden is set if the warnings are about all that makes units of a folder.
	hidden bool
	close  []func()
}

// Hidden returns the mistake of a folder in which nothing can be rendered, as all that makes units of
// Argo CD or Flux is in warnings.
func Hidden(folder string) object.Errors {
	return object.Errors{{
		Stage: object.StageResolve, Pos: object.Pos{File: folder},
		Err:  errors.New("no project, Application, ApplicationSet, Kustomization or HelmRelease can be found here: what makes them is in the warnings"),
		Hint: "render a chart of these with the values of its installation: ropewalk render CHART --values FILE -o DIR, and then ropewalk render -r DIR",
	}}
}

// Close gives the files and the evaluator back.
func (f *Found) Close() {
	for _, do := range slices.Backward(f.close) {
		do()
	}
}

// sharedResults is how many bytes of evaluations are kept: a unit is evaluated when it is found, and
// when it is rendered.
const sharedResults = 256 << 20

// New returns what has found nothing yet. The flags get an evaluator that keeps its results. The
// caller closes it.
func New(flags *command.ProjectFlags) (*Found, error) {
	out := &Found{Missing: map[string]bool{}, used: map[string]bool{}}
	evaluator, closer, err := flags.Evaluator()
	if err != nil {
		return out, err
	}
	out.close = append(out.close, closer)
	flags.Shared = resultcache.Evaluator{Next: evaluator, Results: resultcache.New(sharedResults)}
	return out, nil
}

// Find finds the projects and the units below paths, or the unit that the flags name; nothing if all
// paths are taken at once. The caller closes the result, unless there is an error.
func Find(ctx context.Context, app *command.App, flags *command.ProjectFlags, recursive command.Recursive, paths []string) (_ *Found, err error) {
	if !bool(recursive) && flags.UnitName == "" {
		return &Found{}, nil
	}
	out, err := New(flags)
	if err != nil {
		return out, err
	}
	defer func() {
		if err != nil {
			out.Close()
		}
	}()

	// Find the projects of all paths, and then the units.
	projects, err := command.Recursive(true).Projects(paths)
	if err != nil {
		return out, err
	}
	if len(paths) == 0 {
		paths = []string{"."}
	}
	for _, at := range paths {
		if info, err := os.Stat(at); err != nil || !info.IsDir() {
			continue // It is reported when it is read.
		}
		has, err := out.AddFolder(ctx, app, flags, at)
		if err != nil {
			return out, err
		}
		if has || out.hidden {
			projects = withoutFolder(projects, at)
		}
		if out.hidden && len(projects) == 0 {
			app.Warn(out.Warnings)
			return out, Hidden(at)
		}
	}
	if flags.UnitName != "" {
		projects = nil
	}
	isProject := slices.ContainsFunc(projects, func(p command.Below) bool { return !p.Optional })
	out.Below = append(append([]command.Below{}, projects...), out.Below...) // It is not nil.
	return out, out.Check(flags, isProject)
}

// withoutFolder returns the projects without a path that stands for itself: what is in it is rendered
// as its units say.
func withoutFolder(projects []command.Below, at string) []command.Below {
	if isProject(os.DirFS(at), ".") {
		return projects
	}
	return slices.DeleteFunc(projects, func(p command.Below) bool { return p.Path == at })
}

// AddFolder adds the units below a folder on disk, and reports whether it has some.
func (f *Found) AddFolder(ctx context.Context, app *command.App, flags *command.ProjectFlags, at string) (bool, error) {
	before := len(f.known)
	files, inside, shown, err := open(ctx, at)
	if err != nil {
		return false, err
	}
	f.close = append(f.close, files.Close)
	err = f.Add(ctx, app, files.Flags(flags), files, inside, shown)
	return len(f.known) > before, err
}

// open opens the repository that a folder on disk is in, or else the folder. The function shown returns
// the path of a file as seen from the working directory.
func open(ctx context.Context, at string) (files *checkout.Files, inside string, shown func(string) string, err error) {
	repository, inside, err := checkout.InRepository(at)
	if err != nil {
		repository, inside = at, "."
	}
	up := path.Join(filepath.ToSlash(at), strings.Repeat("../", strings.Count(path.Join(inside, "x"), "/")))
	here, ok := checkout.Inside(repository, ".")
	shown = func(file string) string {
		if rel, err := filepath.Rel(here, file); ok && err == nil {
			return filepath.ToSlash(rel)
		}
		return path.Join(up, file)
	}
	files, err = checkout.Open(ctx, repository, "")
	return files, inside, shown, err
}

// Add adds the units below a folder of files. The function shown returns the path of a file as the
// user sees it; nil is the path itself.
func (f *Found) Add(ctx context.Context, app *command.App, flags *command.ProjectFlags, files *checkout.Files, folder string, shown func(string) string) error {
	one := *flags
	one.Environment = ""
	load := func(ctx context.Context, u gitops.Unit) (host.Loaded, error) {
		return app.LoadUnit(ctx, &one, files, u)
	}
	found, err := Expand(ctx, files, folder, flags, load)
	if err != nil {
		return err
	}
	f.hidden = found.Hidden
	for name := range found.Local {
		f.used[name] = true
	}
	f.warn(shown, found.Warnings...)
	for _, name := range found.Unapplied {
		f.unapplied = append(f.unapplied, (&command.Unit{Shown: shown}).Place(object.Pos{File: name, Line: 1}).File)
	}

	// Choose the units that the flags name.
	wanted := slices.DeleteFunc(strings.Split(flags.Environment, ","), func(name string) bool { return name == "" })
	for _, u := range found.Units {
		named := u.ID
		named.Cluster = ""
		f.known = append(f.known, named.String())
		f.clusters = append(f.clusters, u.Cluster)
		isWanted := len(wanted) == 0 || slices.Contains(wanted, u.Cluster)
		isNamed := flags.UnitName == "" || named.String() == flags.UnitName
		if !isWanted || !isNamed {
			continue
		}
		unit := &command.Unit{Unit: u, Files: files, Flags: &one, Shown: shown}
		f.Units = append(f.Units, unit)
		switch {
		case u.Problem != nil && u.Problem.Severity == object.SeverityWarning:
			problem := *u.Problem
			if !strings.Contains(problem.Err.Error(), named.String()) {
				problem.Err = fmt.Errorf("%s: %w", u.ID, problem.Err)
			}
			f.Missing[Folder(u.ID)] = true
			f.warn(shown, &problem)
		default:
			f.Below = append(f.Below, command.Below{Path: u.String(), Rel: Folder(u.ID), Unit: unit})
		}
	}
	return nil
}

// warn adds warnings where the user sees them, each once.
func (f *Found) warn(shown func(string) string, warnings ...*object.Error) {
	for _, w := range warnings {
		moved := *w
		moved.Pos = (&command.Unit{Shown: shown}).Place(w.Pos)
		if !slices.ContainsFunc(f.Warnings, func(e *object.Error) bool { return e.Error() == moved.Error() }) {
			f.Warnings = append(f.Warnings, &moved)
		}
	}
}

// longest is how many letters the name of a folder has at most: file systems take 255 bytes, and a
// name of Kubernetes alone may have 253.
const longest = 200

// Folder returns the folder that a unit is written to: production/kustomization.flux-system.apps. A
// name of an object has nothing in it that a path could follow.
func Folder(id gitops.ID) string {
	clean := func(text string) string {
		return strings.Trim(regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(text, "-"), ".")
	}
	parts := []string{strings.ToLower(clean(id.Kind)), clean(id.Namespace), cmp.Or(clean(id.Name), "-")}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return path.Join(clean(id.Cluster), object.Shorten(strings.Join(parts, "."), longest))
}

// Check refuses names in flags that no unit has. The argument projects is whether there are projects,
// which have environments of their own.
func (f *Found) Check(flags *command.ProjectFlags, projects bool) error {
	slices.Sort(f.known)
	slices.Sort(f.clusters)
	known, clusters := slices.Compact(f.known), slices.Compact(f.clusters)
	none := !projects && len(f.Missing) == 0 && !slices.ContainsFunc(f.Below, func(b command.Below) bool { return b.Unit != nil })
	switch {
	case flags.UnitName != "" && !slices.Contains(known, flags.UnitName):
		return command.Usagef(object.Suggest(flags.UnitName, known), "--unit %s: there is no such unit of Argo CD or Flux", flags.UnitName)
	case flags.Environment != "" && len(known) > 0 && none:
		return command.Usagef(object.Suggest(flags.Environment, clusters), "--env %s: no unit is of such a cluster", flags.Environment)
	}
	return CheckLocal(flags, f.used)
}

// Finish prints what is not rendered, and returns err. If the flags are strict, what is not rendered
// is an error.
func (f *Found) Finish(app *command.App, flags *command.ProjectFlags, err error) error {
	var mistakes object.Errors
	isOther := err != nil && !errors.As(err, &mistakes)
	switch {
	case isOther:
		return err
	case flags.Strict && len(f.Warnings) > 0:
		return append(slices.Clip(mistakes), command.Raised(f.Warnings)...).Sorted()
	}
	app.Warn(f.Warnings)
	if !app.JSON {
		app.Tell(f.Summary())
	}
	return err
}

// Problems returns what is wrong with the units that cannot be loaded.
func (f *Found) Problems() (out object.Errors) {
	for _, u := range f.Units {
		if u.Problem != nil && u.Problem.Severity == object.SeverityError {
			out = append(out, u.Explained(object.Errors{u.Problem})...)
		}
	}
	return out.Sorted()
}

// Summary returns a line about how many units are not rendered, and one about files that no unit
// applies; "" if there are none.
func (f *Found) Summary() (out string) {
	if len(f.Missing) > 0 {
		out = fmt.Sprintf("not rendered: %s, whose files are not here\n", printable.Count(len(f.Missing), "unit"))
	}
	slices.Sort(f.unapplied)
	if left := slices.Compact(f.unapplied); len(left) > 0 {
		out += fmt.Sprintf("applied by no unit: %s (%s)\n", printable.Count(len(left), "file"), printable.List(left, mostFiles))
	}
	return out
}

// mostFiles is how many files a line has.
const mostFiles = 5
