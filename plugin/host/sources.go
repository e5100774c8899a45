// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/ropewalk/ropewalk/plugin/host/envfile"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/apps"
	"github.com/ropewalk/ropewalk/render/workload/compose"
	"github.com/ropewalk/ropewalk/render/workload/function"
)

// made is the workloads and the Gateways that a document becomes.
func (l *loading) made(doc spec.Document) (workloads []spec.Document, gateways []spec.Transform, errs object.Errors) {
	switch doc.Kind {
	case spec.KindCompose:
		workloads, errs = compose.Compile(doc, surroundings{l, doc.Pos.File})
	case spec.KindFuncYAML:
		workloads, errs = function.Compile(doc)
	case spec.KindApps:
		workloads, gateways, errs = apps.Compile(doc, l.opts.Environment, l.config.Config)
	}
	return workloads, gateways, errs
}

// environments adds to a project those that the applications of an apps.yaml have
// overrides for.
func (l *loading) environments(p *spec.Project) {
	i := slices.IndexFunc(l.docs.Sources, func(d spec.Document) bool { return d.Kind == spec.KindApps })
	if i < 0 {
		return
	}
	all := map[string]spec.Environment{}
	for _, name := range apps.Environments() {
		all[name] = spec.Environment{Name: name, Pos: l.docs.Sources[i].Pos}
	}
	maps.Copy(all, p.Environments)
	p.Environments = all
}

// sources adds the workloads and Gateways that documents of front ends become, before names
// and overlays are looked at.
func (l *loading) sources() {
	if len(l.docs.Sources) == 0 {
		return
	}
	// Mistakes in the project are reported when it is overlaid.
	p, _ := l.docs.OneProject()
	l.config, _ = p.Workloads(l.opts.Environment)
	l.readVariables()
	first := map[string]object.Pos{}
	once := func(name string, at object.Pos) bool {
		other, twice := first[name]
		if first[name] = at; twice {
			first[name] = other
			l.Fail(at, "", fmt.Errorf("a second spec is called %q; the first is at %s", name, other))
		}
		return !twice
	}
	for _, w := range l.docs.Workloads {
		first[w.Name] = w.NamePos
	}
	for _, t := range l.docs.Transforms {
		first[t.Name] = t.NamePos
	}
	for _, doc := range l.docs.Sources {
		workloads, gateways, errs := l.made(doc)
		l.Errs = append(l.Errs, errs...)
		l.docs.Incomplete = l.docs.Incomplete || errs.Err() != nil
		for _, w := range workloads {
			if once(w.Name, w.NamePos) {
				l.docs.Workloads = append(l.docs.Workloads, w)
			}
		}
		for _, g := range gateways {
			if once(g.Name, g.NamePos) {
				l.docs.Transforms = append(l.docs.Transforms, g)
			}
		}
	}
}

// surroundings are the files beside a document and the variables that the caller declares.
type surroundings struct {
	*loading
	file string
}

var _ compose.Project = surroundings{}

// Read is a file, by its path relative to the folder of the document.
func (s surroundings) Read(name string) (spec.File, error) {
	if path.IsAbs(name) {
		return spec.File{}, errors.New("a path of the host: files are those of the project")
	}
	return s.Beside(s.file, name)
}

// Below are the files in a folder, by paths relative to it.
func (s surroundings) Below(folder string, most int) ([]string, error) {
	if path.IsAbs(folder) || !fs.ValidPath(path.Clean(folder)) {
		return nil, errors.New("leaves the folder of the document")
	}
	return s.Discovery.Below(s.file, folder, most)
}

// Variables is those of an env file; no message shows their values.
func (s surroundings) Variables(file spec.File) (map[string]string, object.Errors) {
	out, errs := envfile.Parse(file)
	for _, name := range object.SortedKeys(out) {
		s.variables.hide(name, out[name])
	}
	return out, errs
}

// NetworkPolicies reports whether the project asks for some.
func (s surroundings) NetworkPolicies() bool { return len(s.config.Policies) > 0 }

// Variable is one that the project or the caller declares.
func (s surroundings) Variable(name string) (string, bool) {
	s.variables.used[name] = true
	value, ok := s.variables.values[name]
	return value, ok
}
