// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// extension is the field with what Compose lacks.
const extension = "x-ropewalk"

// Bounds of one document. They are far above what applications have.
const (
	maxFiles    = 100
	maxServices = 1000
)

// Project is where files and variables come from.
type Project interface {
	// Read returns a file, by its path relative to the folder of the document.
	Read(name string) (spec.File, error)
	// Below returns the files in a folder and below it, one more than most of them, by paths
	// relative to it, sorted. The folder is relative to that of the document.
	Below(folder string, most int) ([]string, error)
	// Variables returns the variables of an env file, in the syntax of Compose. With errors
	// only their names count.
	Variables(file spec.File) (map[string]string, object.Errors)
	// NetworkPolicies reports whether the project makes network policies.
	NetworkPolicies() bool
	// Variable returns a variable that the caller declares. It wins over those of env files.
	Variable(name string) (string, bool)
}

// Compile returns the workloads of doc: a document of kind Compose, or a compose file. The errors
// hold warnings too, in no particular order. What could be read is returned in any case, sorted
// by name. A workload with a mistake is marked as unsure.
func Compile(doc spec.Document, project Project) ([]spec.Document, object.Errors) {
	r := &reading{project: project, blocks: map[object.Pos]spec.Block{}, parsed: map[string][]spec.Manifest{}, app: doc.Name}
	unit := unit{scope: scope{project: project}}
	if hasKind(doc.Value) {
		r.decodeDocument(doc.Value, &unit)
	} else {
		unit.files = []document.Part{r.root(object.TextAt(path.Base(doc.Pos.File), object.Pos{File: doc.Pos.File}))}
	}
	if len(unit.files) > 0 {
		unit.dir = path.Dir(unit.files[0].Text)
	}
	unit.readEnvironment(r, ".")
	r.scope = unit.scope
	model := r.model(unit, nil)
	return r.workloads(model, doc), r.Errs
}

// root returns a complete document as a part.
func (r *reading) root(v object.Value) document.Part {
	return document.Part{Decoder: &r.Decoder, Value: v}
}

func hasKind(v object.Value) bool {
	_, ok := v.Get("kind")
	return ok
}

// decodeDocument decodes a document of kind Compose into u.
func (r *reading) decodeDocument(v object.Value, u *unit) {
	body := r.Hold(table(), v, nil).At("spec")
	for _, p := range body.List("profiles") {
		r.profiles = append(r.profiles, p.Written())
	}
	u.files = body.List("files")
	u.envFiles = oneOrMore(body.At("envFile"))
}

// reading is the state of one Compile.
type reading struct {
	document.Decoder

	project  Project
	app      string
	profiles []string
	scope    scope
	blocks   map[object.Pos]spec.Block
	// parsed are the documents of the files, by path; loads counts how often one was used.
	parsed map[string][]spec.Manifest
	loads  int
	// merged counts the values that merging has copied; full is set where that is too much.
	merged int
	full   bool
	// broken are the variables of files with a mistake, which is reported.
	broken map[string]bool
	// unsure counts the uses of those.
	unsure int
}

// unit is files that are merged, later ones over earlier ones: those of the document, or
// of one entry of include.
type unit struct {
	files []document.Part
	// dir is the folder that paths are relative to; itself relative to that of the document.
	dir      string
	envFiles []document.Part
	scope    scope
}

// readEnvironment reads the env files of a unit, which are relative to dir. Without one it reads
// .env beside the first file, if it exists.
func (u *unit) readEnvironment(r *reading, dir string) {
	for _, f := range u.envFiles {
		u.scope = u.scope.with(r.readEnvFile(f, join(dir, f.Written())))
	}
	if file, err := r.project.Read(path.Join(u.dir, ".env")); err == nil && len(u.envFiles) == 0 {
		u.scope = u.scope.with(r.readVariables(file))
	}
}

// model returns the files of u merged into one, in long form, with what they include below it.
// Paths in it are relative to the folder of the document. The argument open has the files that
// include u.
func (r *reading) model(u unit, open []string) object.Value {
	var out object.Value
	for _, f := range u.files {
		name := path.Clean(f.Text)
		if f.Kind != object.KindString {
			continue
		}
		if slices.Contains(open, name) {
			f.Fail("remove one of them", "include is a cycle: %s", strings.Join(append(open, name), " -> "))
			continue
		}
		for _, v := range r.load(f, name, u.scope) {
			root := r.root(v)
			included := object.Value{}
			for _, entry := range root.List("include") {
				included = r.merge(included, r.include(entry, u, append(slices.Clip(open), name)), nil)
			}
			out = r.merge(r.merge(out, included, nil), r.resolve(root, u, name), nil)
		}
	}
	return out
}

// include returns the model of one entry of include.
func (r *reading) include(entry document.Part, u unit, open []string) object.Value {
	in := unit{files: []document.Part{entry}, scope: u.scope}
	if entry.Kind == object.KindMap {
		in.files = oneOrMore(entry.At("path"))
		in.envFiles = oneOrMore(entry.At("env_file"))
	}
	if len(in.files) == 0 || !in.files[0].Given() {
		return object.Value{}
	}
	in.dir = path.Dir(join(u.dir, in.files[0].Text))
	if dir := entry.At("project_directory"); dir.Given() {
		in.dir = join(u.dir, dir.Written())
	}
	// Paths of files and env files are relative to the including file.
	in.readEnvironment(r, u.dir)
	in.files = slices.Clone(in.files)
	for i, f := range in.files {
		in.files[i].Text = join(u.dir, f.Text)
	}
	return r.model(in, open)
}

// load returns the documents of a file with their variables filled in.
func (r *reading) load(at document.Part, name string, s scope) []object.Value {
	r.loads++
	if r.loads > maxFiles {
		if r.loads == maxFiles+1 {
			at.Fail("merge some of them", "include and extends lead to more than %d files", maxFiles)
		}
		return nil
	}

	// A file is parsed once, and its mistakes are reported once.
	docs, known := r.parsed[name]
	if !known {
		file, err := r.project.Read(name)
		if err == nil {
			docs, err = spec.ParseDocuments(file, spec.MaxFile)
			if _, parse := err.(object.Errors); parse { //nolint:errorlint // as returned
				r.Errs = append(r.Errs, err.(object.Errors)...) //nolint:errorlint,forcetypeassert // see above
				err = nil
			}
		}
		if err != nil {
			at.Fail("", "%q: %v", name, err)
		}
		r.parsed[name] = docs
	}

	// Variables are filled in for each use: their values may differ.
	out := make([]object.Value, 0, len(docs))
	for _, d := range docs {
		for pos, b := range d.Blocks {
			r.blocks[pos] = b
		}
		if held := r.Hold(fileTable(), r.fill(r.root(d.Value), s), nil); held.Kind == object.KindMap {
			out = append(out, held.Value)
		}
	}
	return out
}

// resolve returns a file in long form, with what its services extend below them.
func (r *reading) resolve(root document.Part, u unit, name string) object.Value {
	services := root.At("services")
	e := extending{reading: r, unit: u, file: name, services: map[string]document.Part{}, open: map[string]bool{}, done: map[string]object.Value{}}
	for _, s := range services.Entries() {
		e.services[s.Name] = r.toLong(s.Part, u.dir)
	}
	if len(e.services) > maxServices {
		services.Fail("split the application", "the file has more than %d services", maxServices)
		return object.Value{}
	}
	out := root.Value
	out.Members = nil
	for _, m := range root.Members {
		switch m.Name {
		case "include", "name", "version":
			continue
		case "services":
			m.Value.Members = slices.Clone(m.Value.Members)
			for i, s := range m.Value.Members {
				m.Value.Members[i].Value = e.service(s.Name, 0)
			}
		case "configs", "secrets":
			m.Value = r.filesOf(m.Value, u.dir)
		}
		out.Members = append(out.Members, m)
	}
	return out
}

// extending resolves the extends of the services of one file.
type extending struct {
	*reading
	unit     unit
	file     string
	services map[string]document.Part
	open     map[string]bool
	done     map[string]object.Value
	// from are the services of other files whose extends led here.
	from []string
}

// service returns the service called name with what it extends below it.
func (e *extending) service(name string, depth int) object.Value {
	const deepest = 50
	s := e.services[name]
	if v, ok := e.done[name]; ok {
		return v
	}
	extends := s.At("extends")
	base := extends.At("service").Written()
	switch key := e.file + " " + name; {
	case !extends.Given() || base == "":
		return s.Value
	case e.open[name] || slices.Contains(e.from, key):
		extends.Fail("remove one of them", "extends is a cycle through the service %q", name)
		return s.Without(object.Fields("extends"))
	case depth+len(e.from) > deepest:
		extends.Fail("merge some of them", "extends leads through more than %d services", deepest)
		return s.Without(object.Fields("extends"))
	}
	e.open[name] = true
	v := e.merge(e.base(extends, name, base, depth), s.Without(object.Fields("extends")), object.Fields("services", name))
	v.Pos = s.Pos
	e.open[name] = false
	e.done[name] = v
	return v
}

// base returns the service that the one called name extends.
func (e *extending) base(extends document.Part, name, base string, depth int) object.Value {
	in := e
	if file := extends.At("file"); file.Given() {
		at := join(e.unit.dir, file.Written())
		in = &extending{
			reading: e.reading, unit: unit{dir: path.Dir(at), scope: e.unit.scope}, file: at, services: map[string]document.Part{},
			open: map[string]bool{}, done: map[string]object.Value{}, from: append(slices.Clip(e.from), e.file+" "+name),
		}
		for _, v := range e.load(file, at, e.unit.scope) {
			for _, s := range e.root(v).At("services").Entries() {
				in.services[s.Name] = e.toLong(s.Part, in.unit.dir)
			}
		}
	}
	if len(in.services) == 0 {
		return object.Value{} // The file cannot be read.
	}
	if _, ok := in.services[base]; !ok {
		at := extends.At("service")
		at.Fail(object.Suggest(base, object.SortedKeys(in.services)), "there is no service %q to extend", base)
		return object.Value{}
	}
	return in.service(base, depth+1)
}

// workloads returns the services of a model as workloads, sorted by name.
func (r *reading) workloads(model object.Value, doc spec.Document) []spec.Document {
	root := r.root(model)
	for _, name := range []string{"jobs", "models"} {
		if p := root.At(name); p.Given() {
			p.Fail("write services: one with restart: \"no\" becomes a Job", "%s are not read", name)
		}
	}
	if r.full {
		return nil
	}
	a := r.application(root)
	var out []spec.Document
	for _, s := range a.services {
		before := r.Failed
		v := s.workload()
		out = append(out, spec.Document{
			Kind: spec.KindWorkload, Name: s.label, Pos: s.NamePos, NamePos: s.NamePos, Value: v, Blocks: r.blocks, Unsure: r.Failed > before,
		})
	}
	switch {
	case len(a.services) > 0 || r.Errs.Err() != nil:
	case len(root.At("services").Members) == 0:
		r.Fail(doc.Pos, nil, "write services: {NAME: {image: NAME}}", "there are no services")
	default:
		root.Pos = cmp.Or(root.Pos, doc.Pos)
		root.Fail("name the profile in spec.profiles of a document of kind "+spec.KindCompose, "no service is active")
	}
	return out
}
