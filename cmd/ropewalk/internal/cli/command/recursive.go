// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Recursive is the flag of commands that take every project of a repository in one call.
type Recursive bool

// Add adds the flag to a command.
func (r *Recursive) Add(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVarP((*bool)(r), "recursive", "r", false, usage)
}

// Below is a project below a path that a user gave, or a unit of Argo CD or Flux.
type Below struct {
	// Path leads to it, and Rel is its path below the path of the user, with slashes.
	Path, Rel string
	// Optional is a path that is no project itself, and may hold nothing but projects.
	Optional bool
	// Unit is a unit of Argo CD or Flux; nil for a project. Path is then the name of the unit, and Rel a
	// folder that no other unit has.
	Unit *Unit
}

// Projects returns all projects at and below paths, each on its own, in the order of the paths and
// of their names. A path without a project stands for itself.
func (r Recursive) Projects(paths []string) ([]Below, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	var out []Below
	for _, root := range paths {
		if root == "-" {
			return nil, Usagef("name a folder", "--recursive looks for projects in folders, and - is standard input")
		}
		if info, err := os.Stat(root); err != nil || !info.IsDir() { // Its error is reported when it is read.
			out = append(out, Below{Path: root, Rel: "."})
			continue
		}
		dirs, err := project.Projects(os.DirFS(root), ".")
		if err != nil {
			return nil, &EnvironmentError{Err: err}
		}
		if !slices.Contains(dirs, ".") {
			out = append(out, Below{Path: root, Rel: ".", Optional: len(dirs) > 0})
		}
		for _, dir := range dirs {
			out = append(out, Below{Path: filepath.Join(root, filepath.FromSlash(dir)), Rel: dir})
		}
	}
	return out, nil
}

// Each calls do for all paths at once if items is nil, and otherwise for each item on its own. The
// texts that were read stay for excerpts.
func (a *App) Each(items []Below, paths []string, do func(Below, []string) error) error {
	if items == nil {
		return do(Below{}, paths)
	}
	texts := map[string][]byte{}
	for _, item := range items {
		if err := do(item, []string{item.Path}); err != nil {
			return err
		}
		maps.Copy(texts, a.Texts)
	}
	a.Texts = texts
	return nil
}

// EachApart calls do like [App.Each] for work that writes files by the names of projects, which
// must differ. Mistakes of a project do not stop the others, so that the mistakes of all are reported
// at once. A server that gives no answer for a unit counts as a mistake of the unit.
func (a *App) EachApart(items []Below, paths []string, do func(Below, []string) error) error {
	if err := Apart(items); err != nil {
		return err
	}
	var failures object.Errors
	err := a.Each(items, paths, func(item Below, paths []string) error {
		err := do(item, paths)
		mistakes, ok := item.mistakes(err)
		if items == nil || !ok {
			return err
		}
		if item.Holds(mistakes) {
			failures = append(failures, mistakes...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return failures.Err()
}

// mistakes returns the mistakes of an error that do not stop others. Units have servers of their own,
// so an error of a server is a mistake of its unit.
func (b Below) mistakes(err error) (object.Errors, bool) {
	if b.Unit != nil {
		return UnitMistakes(err)
	}
	return IsFindings(err)
}

// Apart reports two projects, or units, that would be written to the same folder.
func Apart(items []Below) error {
	first := map[string]string{}
	for _, item := range items {
		if other, ok := first[item.Name()]; ok {
			hint := "name one of them alone in a call of its own"
			return Usagef(hint, "%s and %s would both be written to %s", other, item.Path, item.Name())
		}
		first[item.Name()] = item.Path
	}
	return nil
}

// Beside reports a project that would be written into the folder of another project: a folder that is
// written is replaced as a whole.
func Beside(items []Below) error {
	places := map[string]string{}
	for _, p := range items {
		if !p.Optional {
			places[filepath.ToSlash(p.Name())] = p.Path
		}
	}
	for _, p := range items {
		name := filepath.ToSlash(p.Name())
		for above := path.Dir(name); above != "." && !p.Optional; above = path.Dir(above) {
			if other, ok := places[above]; ok {
				hint := "name it in a call of its own, with another folder to write"
				text := "%s is below %s, and what is written of the one would be in that of the other"
				return Usagef(hint, text, p.Path, other)
			}
		}
	}
	return nil
}

// Name returns the folder that a project is written to, below the folder of the output: the path of
// the project below the path of the user, or the name of this path.
func (b Below) Name() string {
	if b.Rel != "." {
		return filepath.FromSlash(b.Rel)
	}
	whole, err := filepath.Abs(b.Path)
	if err != nil {
		return path.Base(b.Path)
	}
	return filepath.Base(whole)
}

// Folder returns the folder of a project, or of the file that a unit is in.
func (b Below) Folder() string {
	if b.Unit != nil {
		return path.Dir(b.Unit.Place(b.Unit.Pos).File)
	}
	return b.Path
}

// Holds reports whether b holds specs, by the mistakes that were found in it. Some mistakes do not
// count: an option that does not fit a folder without specs, such as its environment, and a bundle.cue
// that is not read, which is a project of its own.
func (b Below) Holds(mistakes object.Errors) bool {
	hasNoSpec := func(e *object.Error) bool { return errors.Is(e, project.ErrNoSpec) || errors.Is(e, host.ErrNoSpec) }
	noSpec := slices.ContainsFunc(mistakes, hasNoSpec)
	isBundle := func(e *object.Error) bool {
		return errors.Is(e, project.ErrUnreadBundle) && project.IsBundleFile(e.Pos.File)
	}
	counts := func(e *object.Error) bool {
		ofOption := noSpec && strings.HasPrefix(e.Pos.File, "-")
		return !hasNoSpec(e) && !isBundle(e) && !ofOption
	}
	return !b.Optional || len(mistakes) == 0 || slices.ContainsFunc(mistakes, counts)
}

// Unit is a unit of Argo CD or Flux with the files of its repository.
type Unit struct {
	gitops.Unit
	Files fs.FS
	// Flags are the flags for the files.
	Flags *ProjectFlags
	// Shown returns the path of a file of the repository as seen from the working directory; nil is the
	// path itself.
	Shown func(file string) string
}

// UnitFlags are the flags of commands that take units of Argo CD or Flux.
type UnitFlags struct {
	// UnitName is the only unit to take; "" takes all.
	UnitName string
	// RepositoryURLs are the URLs by which objects name the repository.
	RepositoryURLs []string
	unit           *Unit
	taken          bool
}

// AddUnits adds the flags to a command.
func (u *UnitFlags) AddUnits(cmd *cobra.Command) {
	f := cmd.Flags()
	u.taken = true
	f.StringVar(&u.UnitName, "unit", "", "take one unit of Argo CD or Flux alone, as `KIND/NAMESPACE/NAME`, such as\nKustomization/flux-system/apps")
	group(f, groupRender, "unit")
	u.AddRepositoryURL(cmd)
}

// AddRepositoryURL adds the flag for URLs of sources that mean the repository itself.
func (u *UnitFlags) AddRepositoryURL(cmd *cobra.Command) {
	f := cmd.Flags()
	addTexts(f, &u.RepositoryURLs, "repository-url", "", "`URL` by which Applications and GitRepositories name this repository, beside those of its\nremotes; may be repeated")
	group(f, groupSources, "repository-url")
}

// Flags returns the flags for b. Only units have folders for sources.
func (b Below) Flags(flags ProjectFlags) *ProjectFlags {
	switch {
	case b.Unit != nil:
		unitFlags := *b.Unit.Flags
		unitFlags.unit = b.Unit
		unitFlags.SkipSchemas = flags.SkipSchemas
		return &unitFlags
	case b.Path != "":
		flags.LocalSources = nil
	}
	return &flags
}

// UnitMistakes returns the mistakes of a unit in err, with the errors of servers. The result ok is
// false for a mistake on the command line, and for an error of another kind.
func UnitMistakes(err error) (mistakes object.Errors, ok bool) {
	ok = errors.As(err, &mistakes) && mistakesCode(mistakes) != Usage
	return mistakes, ok
}

// LoadUnit loads a unit of Argo CD or Flux from the files of its repository.
func (a *App) LoadUnit(ctx context.Context, p *ProjectFlags, files fs.FS, u gitops.Unit) (host.Loaded, error) {
	opts, err := p.Options(a, nil)
	if err == nil {
		opts, err = u.Options(files, opts)
	}
	if err != nil {
		return host.Loaded{}, err
	}
	opts.Evaluator = p.Shared
	loaded, err := a.load(ctx, p, opts, nil, nil)
	loaded.Request.Emit.Name = u.Label()
	return loaded, err
}

// renderUnit renders a unit with the shared evaluator of the flags.
func (a *App) renderUnit(ctx context.Context, p *ProjectFlags, u *Unit) (Rendered, error) {
	// A unit that the expansion could not load is loaded again for all of its mistakes, unless its
	// server gave no answer.
	known := u.Problem != nil && (len(u.Components) == 0 || IsSystem(u.Problem.Err))
	if known {
		return Rendered{}, u.explain(object.Errors{u.Problem})
	}
	loaded, err := a.LoadUnit(ctx, p, u.Files, u.Unit)
	a.Texts = map[string][]byte{}
	for name, text := range loaded.Texts {
		a.Texts[u.Place(object.Pos{File: name}).File] = text
	}
	if err != nil {
		return Rendered{Loaded: loaded}, u.explain(err)
	}

	// Render it, with positions in the files of the user.
	result, err := a.renderLoaded(ctx, &loaded, p.Shared)
	if err != nil {
		return Rendered{Loaded: loaded}, u.explain(err)
	}
	out := Rendered{Loaded: loaded, Result: result, Evaluator: p.Shared, Close: func() {}, unit: u}
	out.movePositions()
	out.Warnings = u.Explained(slices.Concat(result.Warnings, u.Warnings)).Sorted()
	if p.Strict && len(u.Warnings) > 0 {
		return Rendered{Loaded: loaded}, Raised(out.Warnings)
	}
	return out, nil
}

// Raised returns warnings as errors, for --strict.
func Raised(warnings object.Errors) object.Errors {
	errs := make(object.Errors, len(warnings))
	for i, w := range warnings {
		raised := *w
		raised.Severity = object.SeverityError
		errs[i] = &raised
	}
	return errs
}

// explain returns the mistakes of err with the name of the unit, at positions in the files of the user.
func (u *Unit) explain(err error) error {
	var mistakes object.Errors
	if !errors.As(err, &mistakes) {
		return err
	}
	return u.Explained(mistakes)
}

// Explained returns mistakes with the name of the unit and with positions in the files of the user. A
// mistake without a position gets the position of the unit. If u is nil, the mistakes stay as they
// are.
func (u *Unit) Explained(mistakes object.Errors) object.Errors {
	if u == nil {
		return mistakes
	}
	out := make(object.Errors, len(mistakes))
	for i, e := range mistakes {
		named := *e
		if !named.Pos.IsValid() {
			named.Pos = u.Pos
		}
		named.Pos = u.Place(named.Pos)
		named.Notes = slices.Clone(e.Notes)
		for j := range named.Notes {
			named.Notes[j].Pos = u.Place(named.Notes[j].Pos)
		}
		if e.Node == "" && !strings.Contains(e.Err.Error(), u.String()) {
			named.Err = fmt.Errorf("%s: %w", u, e.Err)
		}
		out[i] = &named
	}
	return out
}

// Place returns a position of the repository as seen from the working directory.
func (u *Unit) Place(pos object.Pos) object.Pos {
	isFile := pos.IsValid() && !strings.Contains(pos.File, ":") && !strings.HasPrefix(pos.File, "-")
	if u != nil && u.Shown != nil && isFile {
		pos.File = u.Shown(pos.File)
	}
	return pos
}

// hintUnits adds a hint to the error of a folder that has units: they are rendered on their own.
func (a *App) hintUnits(ctx context.Context, p *ProjectFlags, err error, files fs.FS, paths []string) error {
	folder := "."
	if len(paths) == 1 {
		folder = paths[0]
	}
	var mistakes object.Errors
	_, noProject := os.Stat(filepath.Join(folder, spec.ProjectFile))
	isPlain := errors.As(err, &mistakes) && len(paths) <= 1 && noProject != nil
	if !p.taken || !isPlain || files != nil {
		return err
	}
	kinds := gitops.Repository{FS: os.DirFS(folder), Dir: "."}.Kinds(ctx)
	if len(kinds) == 0 {
		return err
	}
	hint := "this folder has " + strings.Join(kinds, " and ") + ": use -r"
	for _, e := range mistakes {
		if errors.Is(e, project.ErrNoSpec) {
			e.Hint = hint
			return err
		}
	}
	a.Note("ropewalk: %s to render what they apply\n", hint)
	return err
}

// moveToTransform replaces the positions of the result by positions in the manifest of the Transform.
func (r *Rendered) moveToTransform() {
	if r.transform == nil {
		return
	}
	r.Warnings = append(r.transform.Positions(r.Warnings), r.transform.Warnings()...).Sorted()
	r.movePositions()
}

// movePositions replaces the positions in the graph of the result like moveToTransform.
func (r *Rendered) movePositions() {
	for _, n := range r.Plan.Graph.Nodes {
		n.Pos, n.SpecPos = r.Place(n.Pos), r.Place(n.SpecPos)
	}
	for i := range r.Plan.Graph.Edges {
		r.Plan.Graph.Edges[i].Pos = r.Place(r.Plan.Graph.Edges[i].Pos)
	}
	for i := range r.Plan.Graph.Joins {
		r.Plan.Graph.Joins[i].Pos = r.Place(r.Plan.Graph.Joins[i].Pos)
	}
}
