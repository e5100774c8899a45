// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"

	"github.com/ropewalk/ropewalk/plugin/host/envfile"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/compose"
	"github.com/ropewalk/ropewalk/render/workload/function"
)

// frontEnds turn documents into workloads, by the kind of what they read.
func frontEnds() map[string]func(doc spec.Document, in surroundings) ([]spec.Document, object.Errors) {
	return map[string]func(spec.Document, surroundings) ([]spec.Document, object.Errors){
		spec.KindCompose: func(doc spec.Document, in surroundings) ([]spec.Document, object.Errors) {
			return compose.Compile(doc, in)
		},
		spec.KindFuncYAML: func(doc spec.Document, _ surroundings) ([]spec.Document, object.Errors) {
			return function.Compile(doc)
		},
	}
}

// sources adds the workloads that documents of front ends become, before names and
// overlays are looked at.
func (l *loading) sources() {
	if len(l.docs.Sources) == 0 {
		return
	}
	// Mistakes in the project are reported when it is overlaid.
	p, _ := l.docs.OneProject()
	l.config, _ = p.Workloads(l.opts.Environment)
	l.readVariables()
	first := map[string]object.Pos{}
	for _, w := range l.docs.Workloads {
		first[w.Name] = w.NamePos
	}
	for _, t := range l.docs.Transforms {
		first[t.Name] = t.NamePos
	}
	for _, doc := range l.docs.Sources {
		made, errs := frontEnds()[doc.Kind](doc, surroundings{l, doc.Pos.File})
		l.Errs = append(l.Errs, errs...)
		l.docs.Incomplete = l.docs.Incomplete || errs.Err() != nil
		for _, w := range made {
			if other, twice := first[w.Name]; twice {
				l.Fail(w.NamePos, "", fmt.Errorf("a second spec is called %q; the first is at %s", w.Name, other))
				continue
			}
			first[w.Name] = w.NamePos
			l.docs.Workloads = append(l.docs.Workloads, w)
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
func (s surroundings) Read(name string) (spec.File, error) { return s.Beside(s.file, name) }

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
