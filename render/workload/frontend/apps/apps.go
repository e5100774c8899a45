// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package apps

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/builder"
)

// local is the environment without a store of secrets.
const local = "local"

// Environments returns the environments that are there without a word of the project, sorted.
func Environments() []string { return []string{"dev", "gcp", local} }

// Overridden returns the environments that doc may have overrides for, with what they have as
// spec.workloads of a project. In the environment local the Secrets of the namespace are the store.
func Overridden(doc spec.Document) map[string]object.Value {
	out := map[string]object.Value{}
	for _, name := range Environments() {
		out[name] = object.Value{}
	}
	all, _ := doc.Value.Get("apps")
	for _, a := range all.Items {
		overrides, _ := a.Get("overrides")
		for _, m := range overrides.Members {
			out[m.Name] = object.Value{}
		}
	}
	out[local] = builder.Pairs(doc.Pos, "secrets", builder.Pairs(doc.Pos, "backend", object.TextAt(spec.BackendKubernetes, doc.Pos)))
	return out
}

// The tables that are held against a document and against an application with its override.
//
//nolint:gochecknoglobals // constants
var (
	table    = sync.OnceValue(func() document.Field { return kinds.Apps().Root.Judged("apiVersion", "kind") })
	appTable = sync.OnceValue(kinds.App)
)

// Compile returns the workloads and the Gateways of doc: a document of kind Apps, or an
// apps.yaml. The environment is that of the render, or "" for none. The argument config has what
// the project has in it as spec.workloads.config, and declared its environments. The errors hold warnings too, in no particular
// order. What could be read is returned in any case.
func Compile(doc spec.Document, environment string, config object.Value, declared ...string) ([]spec.Document, []spec.Transform, object.Errors) {
	f := &file{doc: doc, environment: environment, declared: declared, ports: map[string][]object.Value{}, namespaces: map[string][]string{}}
	own, _ := config.Get("apps")
	f.project = f.Hold(kinds.AppsConfig(), own, object.Fields("spec", "workloads", "config", "apps"))
	root := f.Hold(table(), doc.Value, nil)
	written := document.Part{Decoder: &f.Decoder, Value: doc.Value}.List("apps")
	var all []*app
	for i, p := range root.List("apps") {
		if a := f.app(p, written[i]); a.label != "" {
			f.namespaces[a.label] = []string{a.At("namespace").Text, p.At("namespace").Text}
			all = append(all, a)
		}
	}
	gateways := f.gateways(root.At("gateway"))
	out := make([]spec.Document, len(all))
	for i, a := range all {
		out[i] = doc
		out[i].Kind = spec.KindWorkload
		out[i].Name = a.label
		out[i].Pos, out[i].NamePos = a.Pos, a.name.Pos
		out[i].Value = a.workload()
		out[i].Written = a.messages()
		out[i].Unsure = doc.Unsure || f.Errs.Err() != nil
	}
	return out, gateways, f.Errs
}

// file is the state of one Compile.
type file struct {
	document.Decoder
	doc         spec.Document
	environment string
	// declared are the environments of the project.
	declared []string
	// project is what the project says about applications.
	project document.Part
	// ports are those that routes name, and namespaces the one in effect and the one
	// without overrides, by application.
	ports      map[string][]object.Value
	namespaces map[string][]string
}

// app is an application with its override laid over it.
type app struct {
	document.Part
	*file
	// written is what the author wrote, of which Part is what is right.
	written document.Part
	name    document.Part
	label   string
}

// known reports whether a mistake in the part at a path is known already, also in the override of
// the environment. What follows from such a mistake is not a mistake of its own.
func (f *file) known(path string) bool {
	return slices.ContainsFunc(f.Errs.Failures(), func(e *object.Error) bool {
		return object.Within(strings.Replace(e.Path, ".overrides."+f.environment, "", 1), path)
	})
}

// app reads an application, which was written as raw, and merges the override of the environment
// over it, in which null removes a field. An override with another type of scaling replaces all
// of scaling: bounds of one type are not those of another.
func (f *file) app(p, raw document.Part) *app {
	a := &app{file: f, name: p.At("name")}
	a.label = builder.Label(a.name.Text)
	switch {
	case !a.name.Given(): // It is reported.
	case a.label == "":
		a.name.Fail("write name: NAME", "has no letter")
	case a.label != a.name.Text:
		a.name.Warn("", "the application is called %q in Kubernetes, which has no names such as %q", a.label, a.name.Text)
	}
	kind := p.At("scaling", "type").Text
	warnWithoutEffect(p, kind)
	for _, m := range p.At("overrides").Members {
		name := m.Name
		over := p.At("overrides", name)
		if known := slices.Concat(Environments(), f.declared); len(f.declared) > 0 && !slices.Contains(known, name) {
			f.Fail(m.Pos, over.Path, object.Suggest(name, known), "the project has no environment %q", name)
		}
		other := cmp.Or(over.At("scaling", "type").Text, kind)
		warnWithoutEffect(over, other)
		if name != f.environment || !over.Given() {
			continue
		}
		if other != kind {
			raw.Value = raw.Without(object.Fields("scaling"))
		}
		raw.Value = raw.Merge(raw.At("overrides", name).Value)
	}
	a.written = raw
	a.Part = (&document.Decoder{}).Hold(appTable(), raw.Value, p.Path) // Its mistakes are known.
	a.Part.Decoder = &f.Decoder
	return a
}

// warnWithoutEffect warns of the fields that have no effect with a type of scaling.
func warnWithoutEffect(p document.Part, kind string) {
	for _, f := range fields() {
		if given := p.At(strings.Split(f.from, ".")...); given.Given() && f.types != "" && kind != "" && !strings.Contains(f.types, kind) {
			given.Warn("remove it", "has no effect with the type %s", kind)
		}
	}
}

// parent splits the path of a field into the path of its map and the name of the field.
func parent(at string) (in, name string) {
	i := strings.LastIndex(at, ".")
	return at[:max(i, 0)], at[i+1:]
}
