// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// Made is an object that a unit renders.
type Made struct {
	Object object.Object
	// Pos is the place of the object in the files of the repository, as far as it is known.
	Pos object.Pos
}

// Rendered is what a unit renders.
type Rendered struct {
	// Read are the files of the repository that it is made of, by their paths.
	Read []string
	// Objects are empty where they were not wanted.
	Objects []Made
}

// Render renders a unit. The function wanted looks at the files that the unit is made of, and
// reports whether its objects are needed. The error is an object.Errors with what is wrong with the
// unit, or that of ctx.
type Render func(ctx context.Context, u Unit, wanted func(files fs.FS, names []string) bool) (Rendered, error)

// Load loads a unit, with what the caller fetches from.
type Load func(ctx context.Context, u Unit) (host.Loaded, error)

// Renderer returns what renders units to find those among their objects.
func Renderer(load Load, evaluator evaluate.Evaluator) Render {
	return func(ctx context.Context, u Unit, wanted func(fs.FS, []string) bool) (Rendered, error) {
		loaded, err := load(ctx, u)
		if err == nil {
			err = loaded.Request.Mistakes.Err()
		}
		if err != nil {
			return Rendered{}, err
		}

		// The files of the user tell whether an engine finds anything.
		var out Rendered
		needed := false
		for _, s := range loaded.Request.Specs {
			module := s.Evaluate.Module
			names := object.SortedKeys(module.Sources)
			for _, name := range names {
				out.Read = append(out.Read, module.Sources[name].Pos.File)
			}
			needed = needed || wanted(module.FS, names)
		}
		slices.Sort(out.Read)
		if !needed {
			return out, nil
		}

		// Objects are evaluated and not judged: mistakes in them are found when the unit is rendered.
		for _, s := range loaded.Request.Specs {
			made, err := evaluator.Evaluate(ctx, s.Evaluate)
			if err != nil {
				return out, err
			}
			for _, n := range made.Nodes {
				out.Objects = append(out.Objects, Made{Object: n.Object, Pos: n.Pos})
			}
		}
		return out, nil
	}
}

// Expansion is what the engines render of a repository.
type Expansion struct {
	// Units are sorted by their clusters, kinds and names.
	Units []Unit
	// Warnings are about what is not expanded.
	Warnings object.Errors
	// Unapplied are the files with objects that no unit applies, sorted.
	Unapplied []string
	// Local are the names of Repository.Local that a unit refers to.
	Local map[string]bool
	// Hidden is set if the warnings are about all that makes units: there is no unit, and the folder is
	// nothing that can be rendered by itself, such as a chart.
	Hidden bool
}

// expanding is one expansion.
type expanding struct {
	repo    Repository
	render  Render
	written scanned
	// clusters are the folders of entries that have one name, by that name.
	clusters []cluster
	// units are those that were found, and index their places.
	units []Unit
	index map[ID]int
	// objects are what units have rendered, by cluster, kind and name: sources, ConfigMaps.
	objects map[ID]Written
	// read are the files that units are made of, and used those of what they refer to.
	read, used map[string]bool
	// overlays say which kustomizations of the repository refer to a file.
	overlays overlays
	// kustomizations are those that Flux makes, by their folders.
	kustomizations map[string]map[string][]byte
	// listed are the manifests of folders, and all are the files and folders of the repository.
	listed map[listing][]string
	all    *everything
	// gone are the files that Flux leaves out of its sources, by these.
	gone map[string]map[string]bool
	// local are the names of folders that stand for sources and are used.
	local    map[string]bool
	warnings object.Errors
	// releases are the HelmReleases, which are made when the sources of all charts are known, and sets
	// the ResourceSets, whose inputs other units may have.
	releases, sets []found
}

// cluster is a folder with the entries of a cluster.
type cluster struct{ folder, name string }

// found is an object of an engine that becomes units.
type found struct {
	Written
	cluster string
	parents []ID
}

// Expand finds the units of a repository. The error is that of ctx, or of files that cannot be
// read.
func Expand(ctx context.Context, repo Repository, render Render) (Expansion, error) {
	written, err := repo.scan(ctx)
	if err != nil {
		return Expansion{}, err
	}
	x := &expanding{
		repo: repo, render: render, written: written, index: map[ID]int{}, objects: map[ID]Written{}, read: map[string]bool{}, used: map[string]bool{}, warnings: written.unread,
		kustomizations: map[string]map[string][]byte{}, listed: map[listing][]string{}, local: map[string]bool{}, gone: map[string]map[string]bool{},
	}
	x.repo.URLs = repo.namedURLs(written.objects)
	x.overlays = x.overlaysOf(written.kustomizations)

	// What no unit renders is an entry. Which files units are made of is known when they are
	// loaded, so that entries are found in rounds.
	for {
		left := x.entries()
		if len(left) == 0 {
			break
		}
		entries, err := x.overlaid(ctx, left)
		if err != nil {
			return Expansion{}, err
		}
		x.clusters = append(x.clusters, clustersOf(entries)...)
		for _, e := range entries {
			cluster := x.clusterOf(e.at)
			if !isUnit(e.Written) {
				x.objects[e.named(cluster)] = e.Written
				continue
			}
			if err := x.expand(ctx, found{Written: e.Written, cluster: cluster}); err != nil {
				return Expansion{}, err
			}
		}
		if err := x.addSets(ctx); err != nil {
			return Expansion{}, err
		}
	}

	// Charts come from sources that any unit may have rendered. Those that nothing renders are
	// entries too, and may make releases in turn.
	if err := x.addReleases(ctx); err != nil {
		return Expansion{}, err
	}
	if err := x.expandCharts(ctx); err != nil {
		return Expansion{}, err
	}
	if err := x.addSets(ctx); err != nil {
		return Expansion{}, err
	}
	if err := x.addReleases(ctx); err != nil {
		return Expansion{}, err
	}
	slices.SortFunc(x.units, func(a, b Unit) int { return a.Compare(b.ID) })
	unapplied, err := x.unapplied()
	return Expansion{Units: x.units, Warnings: x.warnings.Sorted(), Unapplied: unapplied, Local: x.local, Hidden: x.isHidden()}, err
}

// isHidden reports whether all that makes units is in the warnings.
func (x *expanding) isHidden() bool {
	packages, err := fs.Glob(x.repo.FS, path.Join(x.repo.Dir, "*.cue"))
	isSpec := len(packages) > 0 || len(x.written.specs) > 0 || x.hasKustomization(x.repo.Dir) || isFile(x.repo.FS, path.Join(x.repo.Dir, chartFile))
	return err == nil && len(x.units) == 0 && len(x.warnings) > 0 && !isSpec
}

// addSets adds the units of the ResourceSets that were found, and what these make.
func (x *expanding) addSets(ctx context.Context) error {
	for len(x.sets) > 0 {
		f := x.sets[0]
		x.sets = x.sets[1:]
		below, err := x.addAndRender(ctx, x.resourceSet(ctx, f))
		if err != nil {
			return err
		}
		for _, f := range below {
			if err := x.expand(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// addReleases adds the units of the HelmReleases that were found.
func (x *expanding) addReleases(ctx context.Context) error {
	for len(x.releases) > 0 {
		f := x.releases[0]
		x.releases = x.releases[1:]
		if err := x.add(ctx, x.helmRelease(f)); err != nil {
			return err
		}
	}
	return nil
}

// expand adds what an object of an engine becomes, and what that renders in turn.
func (x *expanding) expand(ctx context.Context, f found) error {
	queue := []found{f}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		for _, u := range x.unitsOf(ctx, next) {
			below, err := x.addAndRender(ctx, u)
			if err != nil {
				return err
			}
			queue = append(queue, below...)
		}
	}
	return nil
}

// unitsOf returns the units that an object becomes.
func (x *expanding) unitsOf(ctx context.Context, f found) []Unit {
	switch {
	case f.group() == groupKustomize && f.TextOf("kind") == kindKustomization:
		return []Unit{x.kustomization(f)}
	case f.group() == groupHelm && f.TextOf("kind") == kindHelmRelease:
		x.releases = append(x.releases, f)
	case f.group() == groupOperator && f.TextOf("kind") == kindResourceSet:
		x.sets = append(x.sets, f)
	case f.group() == groupArgo && f.TextOf("kind") == kindApplication:
		return x.application(f)
	case f.group() == groupArgo && f.TextOf("kind") == kindApplicationSet:
		return x.applicationSet(ctx, f)
	}
	return nil
}

// add keeps a unit, and reports a second one of its name.
func (x *expanding) add(ctx context.Context, u Unit) error {
	if len(x.units) >= MaxUnits {
		return fmt.Errorf("the repository has more than %d units: name a folder of it", MaxUnits)
	}
	if i, known := x.index[u.ID]; known {
		if first := x.units[i].Pos; first != u.Pos {
			x.warn(u.Pos, "remove one of them, or give it a name of its own", "%s is there twice, first at %s, and each would undo the other", u.ID, first)
		}
		return ctx.Err()
	}
	x.index[u.ID] = len(x.units)
	if u.Problem == nil {
		u.Problem = u.namespaceProblem()
	}
	x.units = append(x.units, u)
	return ctx.Err()
}

// addAndRender keeps a unit, and returns the objects of engines that it renders.
func (x *expanding) addAndRender(ctx context.Context, u Unit) ([]found, error) {
	before := len(x.units)
	if err := x.add(ctx, u); err != nil || len(x.units) == before || x.units[before].Problem != nil {
		return nil, err
	}
	wanted := mentionsUnits
	if u.Kind == kindResourceSet { // No file has its objects.
		wanted = func(fs.FS, []string) bool { return true }
	}
	made, err := x.render(ctx, u, wanted)
	for _, name := range made.Read {
		x.read[name] = true
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case IsInstallation(err):
		return nil, err
	case err != nil:
		x.units[before].Problem = x.problemOf(u, err)
		return nil, nil
	}
	for _, name := range made.Read {
		if u.gone[name] {
			x.units[before].Problem = fluxSource{gone: u.gone}.missing(x, object.Pos{File: name, Line: 1, Column: 1}, "", name)
			return nil, nil
		}
	}
	var out []found
	for _, m := range made.Objects {
		w := Written{Value: valueOf(m.Object, x.writtenAt(m)), Rendered: true}
		if !isUnit(w) {
			x.objects[w.named(u.Cluster)] = w
			continue
		}
		out = append(out, found{Written: w, cluster: u.Cluster, parents: append(slices.Clip(u.Parents), u.ID)})
	}
	return out, nil
}

// IsInstallation reports whether an error is about the programs that render, and not about a unit: one
// of them is missing, of another release, or was ended by others. No unit is known to be right then.
func IsInstallation(err error) bool {
	return errors.Is(err, component.ErrNoEngine) || errors.Is(err, evaluate.ErrWorker)
}

// problemOf returns why a unit cannot be rendered, at its own place where the mistake has none.
func (x *expanding) problemOf(u Unit, err error) *object.Error {
	all := object.AsErrors(err, object.StageResolve)
	first := *all[0]
	if !slices.ContainsFunc(all, func(e *object.Error) bool { return x.inSubmodule(e) == nil }) {
		first = *x.inSubmodule(all[0])
	}
	if !first.Pos.IsValid() {
		first.Pos = u.Pos
	}
	return &first
}

// writtenAt returns the object of a file that a rendered one is made of; only the position is set if
// it is not known.
func (x *expanding) writtenAt(m Made) object.Value {
	for _, w := range x.written.byFile[m.Pos.File] {
		if w.TextOf("kind") == m.Object.Kind() && w.named("").Name == m.Object.Name() {
			return w.Value
		}
	}
	return object.Value{Pos: m.Pos}
}

// mentionsUnits reports whether one of the files may make objects of an engine.
func mentionsUnits(files fs.FS, names []string) bool {
	for _, name := range names {
		data, err := readFile(files, name)
		if err != nil {
			continue
		}
		text := string(data)
		for _, mention := range []string{"toolkit.fluxcd.io", groupOperator, groupArgo, "kind: ConfigMap", "kind: Secret", "configMapGenerator", "secretGenerator"} {
			if strings.Contains(text, mention) {
				return true
			}
		}
	}
	return false
}

// lookup returns an object that a unit of the cluster has rendered, or else one of a file of the
// repository.
func (x *expanding) lookup(id ID) (Written, bool) {
	if w, ok := x.objects[id]; ok {
		return w, true
	}
	anywhere := id
	anywhere.Cluster = ""
	for _, w := range x.written.byName[anywhere] {
		if own := x.clusterOf(w.Pos.File); own == id.Cluster || own == "" {
			x.used[w.Pos.File] = true
			return w, true
		}
	}
	return Written{}, false
}

// warn adds a warning.
func (x *expanding) warn(pos object.Pos, hint, format string, args ...any) {
	x.warnings = append(x.warnings, warning(pos, hint, format, args...))
}

// warning returns a warning about an object of an engine.
func warning(pos object.Pos, hint, format string, args ...any) *object.Error {
	e := mistake(pos, hint, format, args...)
	e.Severity = object.SeverityWarning
	return e
}

// mistake returns why an object of an engine cannot be rendered.
func mistake(pos object.Pos, hint, format string, args ...any) *object.Error {
	return &object.Error{Stage: object.StageSpec, Pos: pos, Hint: hint, Err: fmt.Errorf(format, args...)}
}
