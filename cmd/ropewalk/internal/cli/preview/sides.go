// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/statement"
	cliartifact "github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/artifact"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/checkout"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/units"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/preview"
	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/plugin/host/release"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/evaluate/resultcache"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// side is one of the two sides.
type side struct {
	preview.Revision
	// files are those of the repository, nil for an artifact and where there is nothing.
	files *checkout.Files
	flags *command.ProjectFlags
	// artifact is that of the base, where it is one.
	artifact *diff.Snapshot
	// missing is why there is no base.
	missing error
	// environments are those of each project, by its folder; [""] where it has none.
	environments map[string][]string
	names        map[string]string
	// units are what Argo CD or Flux render of the repository, and warnings are about what they
	// do and cannot be expanded.
	units    map[gitops.ID]gitops.Unit
	warnings object.Errors
	// hidden are the folders in which all that makes units is in the warnings.
	hidden []string
	// unapplied are the files with objects that no unit applies.
	unapplied []string
}

// previewing is one run.
type previewing struct {
	Commands
	*options
	base, head side
	selected   preview.Selection
	cells      []cell
	close      func()
	// local are the names of local sources that a unit of a side refers to.
	local map[string]bool

	mu sync.Mutex
	// failed are the mistakes of the head, and in the environments with each by its text.
	failed object.Errors
	in     map[string][]string
	// transformed are the texts that charts make of values of Secrets.
	transformed map[string]bool
	// planned are the renders of the plan.
	planned []release.Reviewed
	// owners are the units that apply an object on the head.
	owners map[owned][]gitops.ID
}

// cell is one environment of one project, or a unit of Argo CD or Flux.
type cell struct {
	dir, environment string
	unit             gitops.ID
}

// sharedResults is how many bytes of evaluations are shared between both sides.
const sharedResults = 256 << 20

// workingTree is the name of what is on disk.
const workingTree = "the working tree"

// open opens both sides, and finds the environments.
func (a Commands) open(ctx context.Context, o *options, base, head string) (_ *previewing, err error) {
	// Find the repository of the working directory.
	repository, inside, err := checkout.InRepository(".")
	if err != nil {
		return nil, fmt.Errorf("a preview compares revisions: %w", err)
	}
	p := &previewing{Commands: a, options: o, close: func() {}, in: map[string][]string{}, local: map[string]bool{}, owners: map[owned][]gitops.ID{}, transformed: map[string]bool{}}
	defer func() {
		if err != nil {
			p.close()
		}
	}()

	// Evaluate both sides with one cache.
	evaluator, closer, err := o.Evaluator()
	if err != nil {
		return nil, err
	}
	p.onClose(closer)
	// Most specs are the same on both sides.
	o.Shared = resultcache.Evaluator{Next: evaluator, Results: resultcache.New(sharedResults)}

	// Open both sides, of which the base may be missing.
	if err := p.checkout(ctx, &p.head, repository, head); err != nil {
		return nil, err
	}
	switch {
	case p.live.mode != "":
		if err := p.openLive(ctx); err != nil {
			return nil, err
		}
	case command.IsArtifact(base):
		err = p.openArtifact(ctx, base)
	default:
		err = p.openBase(ctx, repository, base)
	}
	if err != nil && ctx.Err() != nil {
		return nil, err
	} else if err != nil {
		p.base = side{missing: err, Revision: preview.Revision{Name: base, Problem: problem(err)}}
	}

	// Find what to compare.
	if err := p.find(ctx, repository, inside); err != nil {
		return nil, err
	}
	p.noteLocks()
	p.noteUnits()
	p.noteUnapplied()
	return p, nil
}

// problem returns why there is no base, without the folder of the repository on this machine.
func problem(err error) string {
	var environment *command.EnvironmentError
	if errors.As(err, &environment) {
		err = environment.Err
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	return (*object.Secrets)(nil).Hide(err.Error())
}

// onClose adds a function that is called at the end.
func (p *previewing) onClose(do func()) {
	before := p.close
	p.close = func() { do(); before() }
}

// checkout opens a revision, or the files on disk for "".
func (p *previewing) checkout(ctx context.Context, s *side, repository, rev string) error {
	s.Name = rev
	if rev == "" {
		s.Name = workingTree
	}
	files, err := checkout.Open(ctx, repository, rev)
	if err != nil {
		return err
	}
	p.onClose(files.Close)
	s.files = files
	s.Commit = files.Commit
	s.flags = files.Flags(&p.ProjectFlags)
	return nil
}

// openArtifact reads an artifact as the base.
func (p *previewing) openArtifact(ctx context.Context, reference string) error {
	// Read the artifact.
	p.base.Name = reference
	at, err := p.Open(ctx, &p.Sources.RegistryFlags, reference, false)
	if err != nil {
		return err
	}
	defer at.Close() //nolint:errcheck // nothing was written
	snapshot, err := cliartifact.Snapshot(ctx, at, at.Reference)
	if err != nil {
		return command.LocationError(at, err)
	}
	snapshot.Name = reference
	p.base.artifact = &snapshot

	// Its provenance names the release that built it.
	subject, err := at.Resolve(ctx, at.Reference)
	if err != nil {
		return command.LocationError(at, err)
	}
	text, err := artifact.Attached(ctx, at, subject, statement.PredicateProvenance)
	if errors.Is(err, artifact.ErrNotFound) {
		return nil // An artifact of another tool has none.
	} else if err != nil {
		return command.LocationError(at, err)
	}
	var attached struct {
		Predicate struct {
			RunDetails struct {
				Builder struct {
					Version map[string]string `json:"version"`
				} `json:"builder"`
			} `json:"runDetails"`
		} `json:"predicate"`
	}
	if err := json.Unmarshal(text, &attached); err != nil {
		return fmt.Errorf("the provenance that is attached cannot be read: %w", err)
	}
	p.base.Ropewalk = attached.Predicate.RunDetails.Builder.Version["ropewalk"]
	return nil
}

// find finds the projects of both sides with their environments.
func (p *previewing) find(ctx context.Context, repository, inside string) error {
	folders, err := p.foldersOf(repository, inside)
	if err != nil {
		return err
	}

	// Keep the choice for the report.
	wanted := slices.DeleteFunc(strings.Split(p.Environment, ","), func(name string) bool { return name == "" })
	p.selected.Environments = wanted
	if len(p.projects) > 0 || inside != "." {
		p.selected.Projects = folders
	}

	// Find the environments of both sides.
	var known []string
	for _, s := range []*side{&p.base, &p.head} {
		if s.files == nil {
			continue
		}
		if err := p.projectsOf(ctx, s, repository, folders); err != nil {
			return err
		}
		for _, dir := range object.SortedKeys(s.environments) {
			for _, name := range s.environments[dir] {
				known = append(known, name)
				if c := (cell{dir: dir, environment: name}); (len(wanted) == 0 || slices.Contains(wanted, name)) && !slices.Contains(p.cells, c) {
					p.cells = append(p.cells, c)
				}
			}
		}
	}

	p.dropOrphans()
	known = append(known, p.addUnits(wanted)...)

	return p.refuseChoice(wanted, known, folders)
}

// foldersOf returns the folders of the repository to look in: those of the projects that the user
// names, or else the working directory.
func (p *previewing) foldersOf(repository, inside string) ([]string, error) {
	if len(p.projects) == 0 {
		return []string{inside}, nil
	}
	var folders []string
	for _, dir := range p.projects {
		full, err := filepath.Abs(dir)
		if err != nil {
			return nil, &command.EnvironmentError{Err: err}
		}
		// A project that the head lacks has no folder to resolve.
		if real, err := filepath.EvalSymlinks(full); err == nil {
			full = real
		}
		rel, err := filepath.Rel(repository, full)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, command.Usagef("name a folder of this repository", "--project %s is outside of it", dir)
		}
		folders = append(folders, filepath.ToSlash(rel))
	}
	return folders, nil
}

// refuseChoice refuses a choice of the user that no side has.
func (p *previewing) refuseChoice(wanted, known, folders []string) error {
	if err := units.CheckLocal(&p.ProjectFlags, p.local); err != nil {
		return err
	}
	for i, dir := range p.projects {
		if !p.base.has(folders[i]) && !p.head.has(folders[i]) {
			return command.Usagef("name the folder of a project", "--project %s: there is no such folder on either side", dir)
		}
	}
	known = slices.DeleteFunc(known, func(name string) bool { return name == "" }) // What has no environment.
	for _, name := range wanted {
		if !slices.Contains(known, name) {
			return command.Usagef(object.Suggest(name, known), "--env %s: no project has such an environment", name)
		}
	}
	if err := p.checkPlan(); err != nil {
		return err
	}
	if err := p.checkOneCluster(); err != nil {
		return err
	}
	if p.base.artifact != nil && len(p.cells) != 1 {
		return command.Usagef("name one with --project and --env", "an artifact is the base of one environment, and %d are to be previewed", len(p.cells))
	}
	return nil
}

// has reports whether a side has a folder.
func (s *side) has(folder string) bool {
	if s.files == nil {
		return false
	}
	_, err := s.files.Lstat(folder)
	return err == nil
}

// projectsOf finds the projects of a side, with their environments.
func (p *previewing) projectsOf(ctx context.Context, s *side, repository string, folders []string) error {
	s.environments = map[string][]string{}
	s.names = map[string]string{}
	if err := p.expandUnits(ctx, s, folders); err != nil {
		return err
	}
	var dirs []string
	for _, folder := range folders {
		found, err := project.Projects(s.files, folder)
		if err != nil {
			return &command.EnvironmentError{Err: err}
		}
		if len(found) > 0 && len(s.units) == 0 {
			s.warnings = nil // Its projects are what the repository is for.
		}
		// A head that has no units any more is no project for that.
		isProject := len(found) == 0 && len(s.units) == 0 && len(p.base.units) == 0
		if _, err := s.files.Lstat(folder); isProject && err == nil {
			found = []string{folder}
		}
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		name, environments, err := p.environmentsOf(ctx, s, dir)
		if err != nil {
			return err
		}
		if len(environments) == 0 {
			environments = []string{""}
		}
		if name == "" && dir == "." {
			name = filepath.Base(repository)
		}
		s.environments[dir] = environments
		s.names[dir] = cmp.Or(name, path.Base(dir))
	}
	return nil
}

// environmentsOf returns the name of a project and its environments. A mistake in the project is
// found again in each of them.
func (p *previewing) environmentsOf(ctx context.Context, s *side, dir string) (string, []string, error) {
	if slices.Contains(s.hidden, dir) {
		return "", nil, nil
	}
	if data, err := fs.ReadFile(s.files, path.Join(dir, spec.ProjectFile)); err == nil {
		docs, err := spec.Parse([]spec.File{{Name: path.Join(dir, spec.ProjectFile), Data: data}})
		if project, errOne := docs.OneProject(); err == nil && errOne == nil && len(project.Environments) > 0 {
			return project.Name, object.SortedKeys(project.Environments), nil
		}
	}
	// A bundle has environments of its own.
	flags := *s.flags
	flags.Environment = ""
	loaded, err := p.loadFS(ctx, s, &flags, dir)
	var usage *command.UsageError
	if ctx.Err() != nil || errors.As(err, &usage) {
		return "", nil, cmp.Or(ctx.Err(), err)
	}
	return loaded.Project.Name, object.SortedKeys(loaded.Project.Environments), nil
}
