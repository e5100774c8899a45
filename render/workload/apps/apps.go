// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package apps

import (
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/reader"
)

// local is the environment without a store of secrets.
const local = "local"

// Environments are those that an application may have overrides for, sorted.
func Environments() []string { return []string{"dev", "gcp", local} }

// Compile is the workloads and the Gateways of doc: a document of kind Apps, or an
// apps.yaml. The environment is that of the render, "" for none; config is what the project
// has in it as spec.workloads.config. The errors hold warnings too, in no order that means
// anything. What could be read is returned in any case.
func Compile(doc spec.Document, environment string, config object.Value) ([]spec.Document, []spec.Transform, object.Errors) {
	f := &file{doc: doc, environment: environment, ports: map[string][]object.Value{}, namespaces: map[string][]string{}}
	f.project = f.Root(config).At("apps")
	f.project.Path = object.Fields("spec", "workloads", "config", "apps")
	f.project.Only("haproxy", "queue")
	f.project.At("queue").Only("address", "database", "resource", "tls")
	root := f.Root(doc.Value)
	root.Only("apiVersion", "apps", "gateway", "kind", "metadata")
	root.At("metadata").Only("name")
	root.At("metadata", "name").Str()
	var all []*app
	for _, p := range root.At("apps").List() {
		if a := f.app(p); a.label != "" {
			f.namespaces[a.label] = []string{a.At("namespace").Text, p.At("namespace").Text}
			all = append(all, a)
		}
	}
	if apps := root.At("apps"); len(apps.Items) == 0 {
		apps.Fail("write apps: [{name: NAME}]", "names no application")
	}
	gateways := f.gateways(root.At("gateway"))
	out := make([]spec.Document, len(all))
	for i, a := range all {
		out[i] = doc
		out[i].Kind, out[i].Name, out[i].Pos, out[i].NamePos = spec.KindWorkload, a.label, a.Pos, a.name.Pos
		out[i].Value, out[i].Written = a.workload(), written(a.Path.String()+".")
		out[i].Unsure = doc.Unsure || f.Errs.Err() != nil
	}
	return out, gateways, f.Errs
}

// file is the state of one Compile.
type file struct {
	reader.Reading
	doc         spec.Document
	environment string
	// project is what the project says about applications.
	project reader.Part
	// ports are those that routes name, and namespaces the one in effect and the one
	// without overrides, by application.
	ports      map[string][]object.Value
	namespaces map[string][]string
}

// app is an application with its override laid over it.
type app struct {
	*file
	reader.Part
	name  reader.Part
	label string
}

// app reads an application and lays the override of the environment over it. One with
// another type of scaling replaces all of scaling: bounds of one type are not those of
// another.
func (f *file) app(p reader.Part) *app {
	a := &app{file: f, Part: p, name: p.At("name")}
	a.label = reader.Label(a.name.Str())
	switch {
	case a.name.Given() && a.name.Kind != object.KindString: // It is reported.
	case a.label == "":
		a.name.Fail("write name: NAME", "is missing, or has no letter")
	case a.label != a.name.Text:
		a.name.Warn("", "the application is called %q in Kubernetes, which has no names such as %q", a.label, a.name.Text)
	}
	overrides, kind := p.At("overrides"), p.At("scaling", "type")
	check(p, kind, "name", "overrides")
	overrides.Only(Environments()...)
	for _, name := range Environments() {
		over := overrides.At(name)
		other := over.At("scaling", "type")
		if !other.Given() {
			other = kind
		}
		if check(over, other); name != f.environment || over.Kind != object.KindMap {
			continue
		}
		if other.Text != kind.Text {
			a.Value = a.Without(object.Fields("scaling"))
		}
		a.Value = a.Merge(over.Value)
	}
	return a
}

// check compares an application, or an override, with the table of fields.
func check(p, kind reader.Part, more ...string) {
	known := map[string][]string{"": more}
	for _, f := range fields() {
		for at, name := f.from, ""; at != ""; {
			at, name = parent(at)
			known[at] = append(known[at], name)
		}
		if given := p.At(strings.Split(f.from, ".")...); given.Given() && f.types != "" && types[kind.Text] && !strings.Contains(f.types, kind.Text) {
			given.Warn("remove it", "has no effect with the type %s", kind.Text)
		}
	}
	p.Only(known[""]...)
	for _, at := range object.SortedKeys(known)[1:] {
		p.At(strings.Split(at, ".")...).Only(known[at]...)
	}
	if kind.Is(object.KindString) && !types[kind.Text] {
		kind.Fail(object.DidYouMean(kind.Text, object.SortedKeys(types)), "%q is not known: expected %s", kind.Text, strings.Join(object.SortedKeys(types), ", "))
	}
}

// parent is the way to the map of a field, and the name of the field.
func parent(at string) (in, name string) {
	i := strings.LastIndex(at, ".")
	return at[:max(i, 0)], at[i+1:]
}
