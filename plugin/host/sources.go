// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"

	"github.com/ropewalk/ropewalk/plugin/host/envfile"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/frontend"
)

// environments adds to a project those that the documents of front ends have overrides for.
func (l *loading) environments(p *spec.Project) {
	all := map[string]spec.Environment{}
	for _, doc := range l.docs.Sources {
		for _, name := range frontend.Of(doc.Kind).Environments {
			if _, known := all[name]; !known {
				all[name] = spec.Environment{Name: name, Pos: doc.Pos}
			}
		}
	}
	if len(all) > 0 {
		maps.Copy(all, p.Environments)
		p.Environments = all
	}
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
		made, errs := frontend.Of(doc.Kind).Compile(doc, surroundings{l, doc.Pos.File})
		l.Errs = append(l.Errs, errs...)
		l.docs.Incomplete = l.docs.Incomplete || errs.Err() != nil
		for _, w := range made.Workloads {
			if once(w.Name, w.NamePos) {
				l.docs.Workloads = append(l.docs.Workloads, w)
			}
		}
		for _, g := range made.Gateways {
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

var _ frontend.Surroundings = surroundings{}

// Environment is that of the render.
func (s surroundings) Environment() string { return s.opts.Environment }

// Config is that of the project, in its environment.
func (s surroundings) Config() object.Value { return s.config.Config }

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
