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

// Environments returns the environments that exist without a declaration, sorted.
func Environments() []string { return []string{"dev", "gcp", local} }

// Overridden returns the environments that doc may have overrides for, with the default of
// spec.workloads of a project in each. In local the Secrets of the namespace are the store.
func Overridden(doc spec.Document) map[string]object.Value {
	out := map[string]object.Value{}
	for _, name := range Environments() {
		out[name] = object.Value{}
	}
	applications, _ := doc.Value.Get("apps")
	for _, a := range applications.Items {
		overrides, _ := a.Get("overrides")
		for _, m := range overrides.Members {
			out[m.Name] = object.Value{}
		}
	}
	backend := object.TextAt(spec.BackendKubernetes, doc.Pos)
	out[local] = builder.Pairs(doc.Pos, "secrets", builder.Pairs(doc.Pos, "backend", backend))
	return out
}

// The tables that a document, and an application with its override, are checked against.
//
//nolint:gochecknoglobals // constants
var (
	table    = sync.OnceValue(func() document.Field { return kinds.Apps().Root.Judged("apiVersion", "kind") })
	appTable = sync.OnceValue(kinds.App)
)

// Compile returns the workloads and the Gateways of doc: a document of kind Apps, or an
// apps.yaml. The environment is the rendered environment, or "". The argument config is
// spec.workloads.config of the project in that environment, and declared lists the environments of
// the project. The errors include warnings, in no particular order. The parts that could be read
// are returned in any case.
func Compile(
	doc spec.Document, environment string, config object.Value, declared ...string,
) ([]spec.Document, []spec.Transform, object.Errors) {
	f := &file{doc: doc, environment: environment, declared: declared, ports: map[string][]object.Value{}, namespaces: map[string][]string{}}
	settings, _ := config.Get("apps")
	f.project = f.Hold(kinds.AppsConfig(), settings, object.Fields("spec", "workloads", "config", "apps"))

	// Read the applications, so that routes can refer to all of them.
	root := f.Hold(table(), doc.Value, nil)
	written := document.Part{Decoder: &f.Decoder, Value: doc.Value}.List("apps")
	var applications []*app
	for i, p := range root.List("apps") {
		if a := f.app(p, written[i]); a.label != "" {
			f.namespaces[a.label] = []string{a.At("namespace").Text, p.At("namespace").Text}
			applications = append(applications, a)
		}
	}

	// Make the Gateways first, as they record the ports of the workloads.
	gateways := f.gateways(root.At("gateway"))
	out := make([]spec.Document, len(applications))
	for i, a := range applications {
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
	// project holds the settings of the project for applications.
	project document.Part
	// ports holds the ports that routes name by application, and namespaces the namespace with
	// and without overrides.
	ports      map[string][]object.Value
	namespaces map[string][]string
}

// app is an application with its override laid over it.
type app struct {
	document.Part
	*file
	// written is the text of the author, and Part its valid parts.
	written document.Part
	name    document.Part
	label   string
}

// known reports whether a mistake in the part at a path is known, also in the override of the
// environment. Mistakes that follow from it are not reported.
func (f *file) known(path string) bool {
	return slices.ContainsFunc(f.Errs.Failures(), func(e *object.Error) bool {
		return object.Within(strings.Replace(e.Path, ".overrides."+f.environment, "", 1), path)
	})
}

// app reads an application, which was written as raw, and merges the override of the environment
// over it, in which null removes a field. An override with another type of scaling replaces all
// of scaling, because each type has its own bounds.
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

	// Check all overrides, and merge the one of the environment.
	kind := p.At("scaling", "type").Text
	warnWithoutEffect(p, kind)
	for _, m := range p.At("overrides").Members {
		name := m.Name
		override := p.At("overrides", name)
		if environments := slices.Concat(Environments(), f.declared); len(f.declared) > 0 && !slices.Contains(environments, name) {
			f.Fail(m.Pos, override.Path, object.Suggest(name, environments), "the project has no environment %q", name)
		}
		overrideKind := cmp.Or(override.At("scaling", "type").Text, kind)
		warnWithoutEffect(override, overrideKind)
		if name != f.environment || !override.Given() {
			continue
		}
		if overrideKind != kind {
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
		part := p.At(strings.Split(f.from, ".")...)
		hasEffect := f.types == "" || kind == "" || strings.Contains(f.types, kind)
		if part.Given() && !hasEffect {
			part.Warn("remove it", "has no effect with the type %s", kind)
		}
	}
}

// parent splits the path of a field into the path of its map and the name of the field.
func parent(path string) (mapPath, name string) {
	i := strings.LastIndex(path, ".")
	return path[:max(i, 0)], path[i+1:]
}
