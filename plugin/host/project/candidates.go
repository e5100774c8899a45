// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// searcher searches folders for specs.
type searcher struct {
	report *Report
	texts  *Texts
	// values are the values files of Options.
	values []string
	// walks and candidates are the folders and the files that were searched: many patterns may
	// lead to the same folder.
	walks      map[Location]*walk
	candidates map[string]candidate
	deployed   map[string]bool
	// manifests are the files of plain manifests that searches found.
	manifests []string
	// nested are the files of projects that searches left out.
	nested []string
}

// found is the result of a search.
type found struct {
	// specs are the files that may hold documents of ours.
	specs []string
	// manifests is the first file that seems to hold other manifests, or "".
	manifests string
	// projects are folders that were left out.
	projects []string
	// bundles are the bundles of Timoni in the folder itself.
	bundles []string
	// warnings are about files without a document.
	warnings object.Errors
	failed   bool
}

// folder is a folder that an argument names, with the result of its search.
type folder struct {
	found
	Location
	pos object.Pos
	// project is true for the folder of a project.
	project bool
}

// pattern is a pattern of a project, with the files that it leads to.
type pattern struct {
	spec.Pattern
	specs []string
}

// ErrUnreadBundle is the error of a bundle that a search finds and does not read.
var ErrUnreadBundle = errors.New("the bundle is not read")

// search adds every file with documents of Ropewalk below a folder, or only the files among them
// that match pattern, if it is set.
func (s *searcher) search(r *Root, rel, pattern string, pos object.Pos) found {
	// A folder is walked once, whatever is searched for in it.
	w, err := s.walkOnce(r, rel)
	if err != nil {
		s.report.Fail(pos, "", err)
		return found{failed: true}
	}
	s.report.Errs = append(s.report.Errs, w.unreadable...)

	// Projects below are not entered.
	var out found
	for _, p := range w.projects {
		out.projects = append(out.projects, r.Display(p))
		if file := path.Join(p, spec.ProjectFile); isFile(r, file) {
			s.nested = append(s.nested, r.Display(file))
		}
	}

	// Files that match are read, and files that a walk passed are mentioned.
	for _, name := range w.files {
		if s.texts.hasEnded() {
			return found{failed: true}
		}
		if pattern != "" {
			match, err := w.matches(pattern, name)
			if err != nil {
				s.report.Fail(pos, "", fmt.Errorf("%q is not a pattern: %w", pattern, err))
				return found{failed: true}
			}
			if !match {
				continue
			}
		}
		s.addCandidate(r, name, w.isForeign(name), &out)
	}
	for _, file := range w.passed {
		s.reportPassed(r, file, &out)
	}

	// Bundles are read only where they are named.
	for _, name := range w.cue {
		if s.texts.hasEnded() {
			return found{failed: true}
		}
		data, err := r.read(name, spec.MaxFile)
		shown := r.Display(name)
		holdsInstances := err == nil && isBundle(data) && bytes.Contains(data, []byte("instances"))
		if !holdsInstances || pattern != "" || s.texts.knows(shown) {
			continue
		}
		if path.Dir(name) == path.Clean(rel) {
			out.bundles = append(out.bundles, name)
			continue
		}
		out.warnings = append(out.warnings, &object.Error{
			Stage:    object.StageSpec,
			Severity: object.SeverityWarning,
			Pos:      object.Pos{File: shown},
			Err:      fmt.Errorf("%w: a search finds no bundles in subfolders", ErrUnreadBundle),
			Hint:     "pass it or its folder, or name it in spec.specs of the project",
		})
	}
	return out
}

// walkOnce walks a folder once, however many patterns begin there.
func (s *searcher) walkOnce(r *Root, rel string) (*walk, error) {
	location := Location{r, rel}
	if w, ok := s.walks[location]; ok {
		return w, nil
	}
	w, err := walkFrom(r, rel)
	if err == nil {
		s.walks[location] = w
	}
	return w, err
}

// candidate is a file of a search that may hold a spec.
type candidate struct {
	// near is set if it may hold a document of ours, and other if it seems to hold another
	// manifest only.
	near, other bool
	// why is the reason why nothing is read of it, and err the reason why it cannot be read.
	why string
	err error
}

// addCandidate adds a file of a search if it may hold a document of Ropewalk.
func (s *searcher) addCandidate(r *Root, name string, foreign bool, out *found) {
	shown := r.Display(name)
	if s.deployed[shown] {
		s.manifests = append(s.manifests, shown)
		out.manifests = cmp.Or(out.manifests, shown)
		return
	}
	c, isKnown := s.candidates[shown]
	if !isKnown {
		c = s.look(r, name, shown, foreign)
		s.candidates[shown] = c
	}
	if c.err != nil {
		s.report.Fail(object.Pos{File: shown}, "", c.err)
		return
	}
	if c.near {
		out.specs = append(out.specs, shown)
	}
	if c.why != "" {
		out.warnings = append(out.warnings, &object.Error{
			Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: object.Pos{File: shown},
			Err: errors.New(c.why), Hint: "remove the file if that is meant",
		})
	}
	if c.other && out.manifests == "" {
		out.manifests = shown
	}
}

// look reads a file for a search.
func (s *searcher) look(r *Root, name, shown string, foreign bool) (c candidate) {
	data, err := r.read(name, spec.MaxFile)
	if err != nil {
		return candidate{err: err}
	}
	large := len(data) > spec.MaxFile
	data = spec.UTF8(data)
	ours, near := spec.Mentions(data)
	if !ours && s.isValues(shown) {
		return
	}
	if large && !ours && s.texts.mentionedLater(r, name) {
		const format = "it has more than %d MiB, and a document behind them that may be a spec: move that into a file of its own"
		return candidate{err: fmt.Errorf(format, spec.MaxFile>>20)}
	}
	if near || bytes.Contains(data, []byte("ConfigMap")) {
		s.texts.add(spec.File{Name: shown, Data: data, Found: true}, Location{r, path.Dir(name)})
	}
	if !foreign && isManifest(data) {
		s.manifests = append(s.manifests, shown)
	}
	other := !ours && bytes.Contains(data, []byte("apiVersion")) && bytes.Contains(data, []byte("kind"))
	return candidate{near: near, other: other, why: unread(name, data)}
}

// isValues reports whether an option names the file as one of values.
func (s *searcher) isValues(shown string) bool {
	return slices.ContainsFunc(s.values, func(arg string) bool {
		_, file, _ := strings.Cut(arg, ":")
		return argPos(arg).File == shown || argPos(file).File == shown
	})
}

// reportPassed reports a file that is not read, if it holds a document of Ropewalk.
func (s *searcher) reportPassed(r *Root, file passed, out *found) {
	data, err := r.read(file.name, spec.MaxFile)
	if err != nil {
		return // It is no more than a guess that it is a document.
	}
	data = spec.UTF8(data)
	if !holdsSpec(data) || !misses(spec.File{Data: data}) {
		return
	}
	e := &object.Error{
		Stage: object.StageSpec, Severity: file.severity, Pos: object.Pos{File: r.Display(file.name)},
		Err: errors.New("the file holds a spec, and " + file.why), Hint: file.hint,
	}
	if e.Severity == object.SeverityError {
		s.report.Errs = append(s.report.Errs, e)
		return
	}
	out.warnings = append(out.warnings, e)
}

// markDeployed finds the files of the chart or of the kustomization in a folder that hold objects
// of a cluster alone: a Transform or a PivotCluster there is deployed, and is no spec to render.
func (s *searcher) markDeployed(r *Root, rel string) {
	w, err := s.walkOnce(r, rel)
	if err != nil {
		return // The search reports it.
	}
	var below []string
	if isFile(r, path.Join(rel, chartFile)) {
		below = append(below, path.Join(rel, "templates"), path.Join(rel, "crds"))
	}
	for _, name := range kustomizationFiles() {
		data, err := r.read(path.Join(rel, name), spec.MaxFile)
		if err != nil {
			continue
		}
		k, _ := spec.ParseValue(spec.File{Name: name, Data: data}) // kustomize reports what it is.
		resources, _ := k.Get("resources")
		for _, item := range resources.Items {
			below = append(below, path.Join(rel, item.Text))
		}
	}
	for _, name := range w.files {
		if slices.ContainsFunc(below, func(at string) bool { return name == at || strings.HasPrefix(name, at+"/") }) && holdsObjects(r, name) {
			s.deployed[r.Display(name)] = true
		}
	}
}

// holdsObjects reports whether all documents of Ropewalk in a file may be objects of a cluster.
func holdsObjects(r *Root, name string) bool {
	data, err := r.read(name, spec.MaxFile)
	if err != nil {
		return false
	}
	docs, err := spec.ParseManifests(spec.File{Name: name, Data: data}, spec.MaxFile)
	found := false
	for _, doc := range docs {
		version, _ := doc.Value.Get("apiVersion")
		kind, _ := doc.Value.Get("kind")
		deployed := kind.Text == spec.KindTransform || kind.Text == spec.KindPivotCluster
		if version.Text == spec.ScoreVersion || version.Text == spec.APIVersion && !deployed {
			return false
		}
		found = found || deployed
	}
	return err == nil && found
}
