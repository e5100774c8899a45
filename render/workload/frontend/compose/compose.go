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

// extension is the field with the settings that Compose lacks.
const extension = "x-ropewalk"

// Bounds of one document. They are far above what applications have.
const (
	maxFiles    = 100
	maxServices = 1000
)

// Project reads files and variables.
type Project interface {
	// Read returns a file, by its path relative to the folder of the document.
	Read(name string) (spec.File, error)
	// Below returns the files in a folder and below it, at most most+1 of them, by paths
	// relative to it, sorted. The folder is relative to the folder of the document.
	Below(folder string, most int) ([]string, error)
	// Variables returns the variables of an env file, in the syntax of Compose. With errors
	// only their names are valid.
	Variables(file spec.File) (map[string]string, object.Errors)
	// NetworkPolicies reports whether the project makes network policies.
	NetworkPolicies() bool
	// Variable returns a variable that the caller declares. It wins over variables of env files.
	Variable(name string) (string, bool)
}

// Compile returns the workloads of doc: a document of kind Compose, or a compose file. The errors
// include warnings, in no particular order. Workloads that could be read are returned in any case,
// sorted by name. A workload with a mistake is marked as unsure.
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
	// parsed holds the documents of the files, by path; loads counts the uses of files.
	parsed map[string][]spec.Manifest
	loads  int
	// merged counts the values that merging has copied; full is set beyond the limit.
	merged int
	full   bool
	// broken names the variables of files with a mistake, which is reported.
	broken map[string]bool
	// unsure counts the uses of broken variables.
	unsure int
}

// unit is a list of files that are merged, later files over earlier ones: the files of the document,
// or of one entry of include.
type unit struct {
	files []document.Part
	// dir is the folder that paths are relative to, relative to the folder of the document.
	dir      string
	envFiles []document.Part
	scope    scope
}

// readEnvironment reads the env files of a unit, which are relative to dir. A unit without env files
// reads .env beside the first file, if it exists.
func (u *unit) readEnvironment(r *reading, dir string) {
	for _, f := range u.envFiles {
		u.scope = u.scope.with(r.readEnvFile(f, join(dir, f.Written())))
	}
	if file, err := r.project.Read(path.Join(u.dir, ".env")); err == nil && len(u.envFiles) == 0 {
		u.scope = u.scope.with(r.readVariables(file))
	}
}

// model returns the files of u merged into one, in long form, with the included files below it.
// Paths in it are relative to the folder of the document. The argument including lists the files
// that include u.
func (r *reading) model(u unit, including []string) object.Value {
	var out object.Value
	for _, f := range u.files {
		name := path.Clean(f.Text)
		if f.Kind != object.KindString {
			continue
		}
		if slices.Contains(including, name) {
			f.Fail("remove one of them", "include is a cycle: %s", strings.Join(append(including, name), " -> "))
			continue
		}
		for _, v := range r.load(f, name, u.scope) {
			root := r.root(v)
			included := object.Value{}
			for _, entry := range root.List("include") {
				included = r.merge(included, r.include(entry, u, append(slices.Clip(including), name)), nil)
			}
			out = r.merge(r.merge(out, included, nil), r.resolve(root, u, name), nil)
		}
	}
	return out
}

// include returns the model of one entry of include.
func (r *reading) include(entry document.Part, u unit, including []string) object.Value {
	included := unit{files: []document.Part{entry}, scope: u.scope}
	if entry.Kind == object.KindMap {
		included.files = oneOrMore(entry.At("path"))
		included.envFiles = oneOrMore(entry.At("env_file"))
	}
	if len(included.files) == 0 || !included.files[0].Given() {
		return object.Value{}
	}
	included.dir = path.Dir(join(u.dir, included.files[0].Text))
	if dir := entry.At("project_directory"); dir.Given() {
		included.dir = join(u.dir, dir.Written())

	}
	// Paths of files and env files are relative to the including file.
	included.readEnvironment(r, u.dir)
	included.files = slices.Clone(included.files)
	for i, f := range included.files {
		included.files[i].Text = join(u.dir, f.Text)
	}
	return r.model(included, including)
}

// load returns the documents of a file with their variables filled in.
func (r *reading) load(part document.Part, name string, s scope) []object.Value {
	r.loads++
	if r.loads > maxFiles {
		if r.loads == maxFiles+1 {
			part.Fail("merge some of them", "include and extends lead to more than %d files", maxFiles)
		}
		return nil
	}

	// A file is parsed once, and its mistakes are reported once.
	docs, parsed := r.parsed[name]
	if !parsed {
		file, err := r.project.Read(name)
		if err == nil {
			docs, err = spec.ParseDocuments(file, spec.MaxFile)
			if _, isParse := err.(object.Errors); isParse { //nolint:errorlint // as returned
				r.Errs = append(r.Errs, err.(object.Errors)...) //nolint:errorlint,forcetypeassert // see above
				err = nil
			}
		}
		if err != nil {
			part.Fail("", "%q: %v", name, err)
		}
		r.parsed[name] = docs
	}

	// Variables are filled in for each use: their values may differ.
	out := make([]object.Value, 0, len(docs))
	for _, d := range docs {
		for pos, b := range d.Blocks {
			r.blocks[pos] = b
		}
		if valid := r.Hold(fileTable(), r.fill(r.root(d.Value), s), nil); valid.Kind == object.KindMap {
			out = append(out, valid.Value)
		}
	}
	return out
}

// resolve returns a file in long form, in which services are merged over the services they extend.
func (r *reading) resolve(root document.Part, u unit, name string) object.Value {
	services := root.At("services")
	e := extending{
		reading: r, unit: u, file: name, services: map[string]document.Part{},
		visiting: map[string]bool{}, resolved: map[string]object.Value{},
	}
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
	visiting map[string]bool
	resolved map[string]object.Value
	// callers are the services of other files whose extends led here.
	callers []string
}

// service returns the service called name, merged over the services that it extends.
func (e *extending) service(name string, depth int) object.Value {
	const deepest = 50
	s := e.services[name]
	if v, ok := e.resolved[name]; ok {
		return v
	}
	extends := s.At("extends")
	base := extends.At("service").Written()
	switch key := e.file + " " + name; {
	case !extends.Given() || base == "":
		return s.Value
	case e.visiting[name] || slices.Contains(e.callers, key):
		extends.Fail("remove one of them", "extends is a cycle through the service %q", name)
		return s.Without(object.Fields("extends"))
	case depth+len(e.callers) > deepest:
		extends.Fail("merge some of them", "extends leads through more than %d services", deepest)
		return s.Without(object.Fields("extends"))
	}
	e.visiting[name] = true
	v := e.merge(e.base(extends, name, base, depth), s.Without(object.Fields("extends")), object.Fields("services", name))
	v.Pos = s.Pos
	e.visiting[name] = false
	e.resolved[name] = v
	return v
}

// base returns the service that the service called name extends.
func (e *extending) base(extends document.Part, name, base string, depth int) object.Value {
	target := e
	if file := extends.At("file"); file.Given() {
		filePath := join(e.unit.dir, file.Written())
		target = &extending{
			reading: e.reading, unit: unit{dir: path.Dir(filePath), scope: e.unit.scope}, file: filePath, services: map[string]document.Part{},
			visiting: map[string]bool{}, resolved: map[string]object.Value{}, callers: append(slices.Clip(e.callers), e.file+" "+name),
		}
		for _, v := range e.load(file, filePath, e.unit.scope) {
			for _, s := range e.root(v).At("services").Entries() {
				target.services[s.Name] = e.toLong(s.Part, target.unit.dir)
			}
		}
	}
	if len(target.services) == 0 {
		return object.Value{} // The file cannot be read.
	}
	if _, ok := target.services[base]; !ok {
		service := extends.At("service")
		service.Fail(object.Suggest(base, object.SortedKeys(target.services)), "there is no service %q to extend", base)
		return object.Value{}
	}
	return target.service(base, depth+1)
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
			Kind:    spec.KindWorkload,
			Name:    s.label,
			Pos:     s.NamePos,
			NamePos: s.NamePos,
			Value:   v,
			Blocks:  r.blocks,
			Unsure:  r.Failed > before,
		})

		// An application without services is a mistake.
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
