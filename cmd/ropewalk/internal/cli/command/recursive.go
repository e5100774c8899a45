// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
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
)

// Recursive is the flag of commands that take every project of a repository in one call.
type Recursive bool

// Add adds the flag to a command.
func (r *Recursive) Add(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVarP((*bool)(r), "recursive", "r", false, usage)
}

// Below is a project below a path that a user gave.
type Below struct {
	// Path is where it is, and Rel that below the path of the user, with slashes.
	Path, Rel string
	// Optional is a path that is no project itself, and may hold nothing but projects.
	Optional bool
}

// Projects returns all projects at and below paths, each on its own, in the order of the paths and
// of their names. A path without a project stands for itself.
func (r Recursive) Projects(paths []string) ([]Below, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	var out []Below
	for _, at := range paths {
		if at == "-" {
			return nil, Usagef("name a folder", "--recursive looks for projects in folders, and - is standard input")
		}
		if info, err := os.Stat(at); err != nil || !info.IsDir() { // What is wrong with it is said when it is read.
			out = append(out, Below{Path: at, Rel: "."})
			continue
		}
		dirs, err := project.Projects(os.DirFS(at), ".")
		if err != nil {
			return nil, &EnvironmentError{Err: err}
		}
		if !slices.Contains(dirs, ".") {
			out = append(out, Below{Path: at, Rel: ".", Optional: len(dirs) > 0})
		}
		for _, dir := range dirs {
			out = append(out, Below{Path: filepath.Join(at, filepath.FromSlash(dir)), Rel: dir})
		}
	}
	return out, nil
}

// Each calls do for paths, for all at once or for each project on its own. The texts that were read
// stay for excerpts.
func (a *App) Each(recursive Recursive, paths []string, do func(Below, []string) error) error {
	if !recursive {
		return do(Below{}, paths)
	}
	projects, err := recursive.Projects(paths)
	if err != nil {
		return err
	}
	texts := map[string][]byte{}
	for _, at := range projects {
		if err := do(at, []string{at.Path}); err != nil {
			return err
		}
		maps.Copy(texts, a.Texts)
	}
	a.Texts = texts
	return nil
}

// EachApart calls do like [App.Each] for work that writes files by the names of projects, which
// must differ. The mistakes of one project do not stop the others, so that the mistakes of all are
// reported at once.
func (a *App) EachApart(recursive Recursive, paths []string, do func(Below, []string) error) error {
	if !recursive {
		return do(Below{}, paths)
	}
	if err := recursive.Apart(paths); err != nil {
		return err
	}
	var found object.Errors
	err := a.Each(recursive, paths, func(at Below, paths []string) error {
		err := do(at, paths)
		mistakes, ok := IsFindings(err)
		if !ok {
			return err
		}
		if at.Holds(mistakes) {
			found = append(found, mistakes...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return found.Err()
}

// Apart reports two projects at and below paths that would be written to one place.
func (r Recursive) Apart(paths []string) error {
	projects, err := r.Projects(paths)
	if err != nil {
		return err
	}
	first := map[string]string{}
	for _, at := range projects {
		if other, ok := first[at.Name()]; ok {
			return Usagef("name one of them alone in a call of its own", "%s and %s would both be written to %s", other, at.Path, at.Name())
		}
		first[at.Name()] = at.Path
	}
	return nil
}

// Beside reports a project at and below paths that would be written into the folder of another
// one: a folder that is written is replaced as a whole.
func (r Recursive) Beside(paths []string) error {
	projects, err := r.Projects(paths)
	if err != nil {
		return err
	}
	places := map[string]string{}
	for _, p := range projects {
		if !p.Optional {
			places[filepath.ToSlash(p.Name())] = p.Path
		}
	}
	for _, p := range projects {
		name := filepath.ToSlash(p.Name())
		for above := path.Dir(name); above != "." && !p.Optional; above = path.Dir(above) {
			if other, ok := places[above]; ok {
				return Usagef("name it in a call of its own, with another folder to write", "%s is below %s, and what is written of the one would be in that of the other", p.Path, other)
			}
		}
	}
	return nil
}

// Name returns the folder that a project is written to, below one for all: the place of the project
// below the path of the user, or the name of that path.
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

// Holds reports whether there is something at b, by the mistakes found there. A mistake of a folder
// without specs in the options, such as an environment that it does not have, does not count, and a
// bundle.cue that it does not read is a project of its own.
func (b Below) Holds(mistakes object.Errors) bool {
	none := func(e *object.Error) bool { return errors.Is(e, project.ErrNoSpec) || errors.Is(e, host.ErrNoSpec) }
	empty := slices.ContainsFunc(mistakes, none)
	own := func(e *object.Error) bool {
		return errors.Is(e, project.ErrUnreadBundle) && project.IsBundleFile(e.Pos.File)
	}
	return !b.Optional || len(mistakes) == 0 || slices.ContainsFunc(mistakes, func(e *object.Error) bool {
		return !none(e) && !own(e) && (!empty || !strings.HasPrefix(e.Pos.File, "-"))
	})
}

// LoadUnit loads a unit of Argo CD or Flux, of the files of its repository.
func (a *App) LoadUnit(ctx context.Context, p *ProjectFlags, files fs.FS, u gitops.Unit) (host.Loaded, error) {
	opts, err := p.Options(a, nil)
	if err == nil {
		opts, err = u.Options(files, opts)
	}
	if err != nil {
		return host.Loaded{}, err
	}
	opts.Evaluator = p.Shared
	return a.load(ctx, p, opts, nil, nil)
}
