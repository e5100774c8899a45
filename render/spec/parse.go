// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"path"
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
)

// The API groups of documents: the group of Ropewalk, and the groups of Score files.
const (
	group         = "ropewalk.dev"
	scoreGroup    = "score.dev"
	scoreGroupOld = "score.sh"
)

// Parse reads every document of files. The error is an object.Errors with every mistake of every
// file; the documents that could be read are returned with it.
//
// A file that a user named must hold a document of Ropewalk or a ConfigMap. A file that was found
// (see [File.Found]) is skipped if it holds neither. A document of another tool beside a document of
// Ropewalk is an error, except for a ConfigMap that is the module of a spec. A document that was
// probably meant for Ropewalk is an error, too.
func Parse(files []File) (Documents, error) {
	var p parsing
	for _, f := range files {
		p.readFile(f)
	}
	p.reportDuplicates()
	p.reportBeside()
	return p.out, p.errs.Sorted().Err()
}

// parsing collects the documents and the mistakes.
type parsing struct {
	out  Documents
	errs object.Errors
	// ours are the documents of Ropewalk, and others the documents beside them.
	ours, others []object.Value
	// cluster is set in a file for a cluster, all documents of which are for the cluster.
	cluster bool
}

// readFile reads one file.
func (p *parsing) readFile(f File) {
	// Most files that a search found are not parsed.
	ours, near := Mentions(f.Data)
	ours = ours || f.structured != nil
	if f.Found && !near && !bytes.Contains(f.Data, []byte("ConfigMap")) {
		return
	}
	docs, errs := f.documents(MaxFile)
	if f.Found && !ours {
		// A template of another tool may well be invalid YAML.
		errs = nil
	}
	p.errs = append(p.errs, errs...)
	p.out.Incomplete = p.out.Incomplete || len(errs) > 0

	// Documents of other tools matter only in a file with specs.
	kept := false
	before := len(p.ours)
	p.cluster = false
	var others []object.Value
	for _, d := range docs {
		known := len(p.ours)
		read := p.readDocument(d, f.Found)
		unread := !read && len(p.ours) == known
		if isConfigMap(d.value) || unread {
			others = append(others, d.value)
		}
		kept = read || kept
	}
	if len(p.ours) > before && !p.cluster {
		p.others = append(p.others, others...)
	}
	if !kept && !f.Found {
		p.reportForeign(f, docs, len(errs) > 0)
	}
}

// reportForeign reports a file that the user named and that holds no document of Ropewalk. If the
// file has mistakes, these are reported instead, unless it is a bundle.
func (p *parsing) reportForeign(f File, docs []parsed, broken bool) {
	for _, d := range docs {
		if bundle, _ := d.value.Get("bundle"); bundle.Kind == object.KindMap {
			p.fail(bundle.Pos, nil, "write it as CUE: cue import "+f.Name, "a bundle of Timoni in YAML or JSON is not read")
			return
		}
	}
	problem := "contains no document of " + APIVersion
	switch {
	case broken:
	case path.Base(f.Name) != ProjectFile:
		p.fail(object.Pos{File: f.Name}, nil, "a spec begins with apiVersion: "+APIVersion+" and kind: "+KindTransform+" or "+KindWorkload+
			", a Score file with apiVersion: "+ScoreVersion, "%s", problem)
	default:
		if len(bytes.TrimSpace(f.Data)) == 0 {
			problem = "the file is empty"
		}
		p.fail(object.Pos{File: f.Name}, nil, "a project begins with apiVersion: "+APIVersion+" and kind: "+KindProject, "%s", problem)
	}
}

// readDocument reads one document. It returns true if the document is known, or if its mistakes were
// reported.
func (p *parsing) readDocument(doc parsed, found bool) bool {
	v := doc.value
	if v.Kind != object.KindMap && !found {
		p.fail(v.Pos, nil, "", "expected a document with apiVersion and kind, got a %s", v.Kind)
		return true
	}

	// The apiVersion and the kind identify the document.
	apiVersion, kind := v.TextOf("apiVersion"), v.TextOf("kind")
	docGroup, _, _ := strings.Cut(apiVersion, "/")
	isScore := docGroup == scoreGroup || docGroup == scoreGroupOld
	namedWithoutGroup := apiVersion == "" && !found && isKnown(kind)
	ours := isScore || docGroup == group || namedWithoutGroup
	switch {
	case found && docGroup == group && isRelease(kind):
		return false
	case ours && doc.full:
		// Mistakes in the rest of it would be untrue.
		p.errs = append(p.errs, doc.errs...)
		p.ours = append(p.ours, v)
		p.out.Incomplete = true
		return true
	case isScore:
		p.errs = append(p.errs, doc.errs...)
		p.ours = append(p.ours, v)
		p.out.Workloads = append(p.out.Workloads, p.compiled(doc, KindWorkload, true))
		return true
	case ours:
		p.errs = append(p.errs, doc.errs...)
		if kind == KindComponent {
			p.errs = append(p.errs, doc.kubectlErrs...)
		}
		p.ours = append(p.ours, v)
		p.readOwn(doc, apiVersion, kind)
		return true
	case isConfigMap(v):
		if !found {
			p.errs = append(p.errs, doc.errs...)
		}
		p.out.ConfigMaps = append(p.out.ConfigMaps, Manifest{Pos: v.Pos, Value: v, Blocks: doc.blocks})
		return true
	case !found && p.readNamed(doc):
		return true
	case p.nearDocument(v):
		p.errs = append(p.errs, doc.errs...)
		p.out.Incomplete = true
		return true
	case found && apiVersion == "":
		p.warnBare(v)
	}
	return false
}

// readNamed reads a document of another tool that a user named, and reports whether a front end takes
// it.
func (p *parsing) readNamed(doc parsed) bool {
	v := doc.value
	_, kind := v.Get("kind")
	_, version := v.Get("apiVersion")
	f, ok := formatOf(func(f format) bool { return f.isFile != nil && f.isFile(v) })
	if kind || version || !ok {
		return false
	}
	out := Document{Kind: f.kind, Pos: v.Pos, NamePos: v.Pos, Value: v}
	if !f.rereads {
		p.errs = append(p.errs, doc.errs...)
		out.Blocks = doc.blocks
		out.Last = lastLine(v)
		out.Unsure = len(doc.errs) > 0
	}
	p.ours = append(p.ours, v)
	p.out.Sources = append(p.out.Sources, out)
	return true
}

func isConfigMap(v object.Value) bool {
	return v.TextOf("apiVersion") == "v1" && v.TextOf("kind") == "ConfigMap"
}

// reportBeside marks the ConfigMaps that are modules, and reports the documents beside specs that
// nothing reads: nothing would apply them either.
func (p *parsing) reportBeside() {
	if len(p.out.ConfigMaps)+len(p.others) == 0 {
		return
	}
	modules := map[string]bool{}
	for _, v := range p.ours {
		addConfigMaps(v, modules)
	}
	for i, m := range p.out.ConfigMaps {
		meta, _ := m.Value.Get("metadata")
		p.out.ConfigMaps[i].Module = modules[meta.TextOf("name")]
		if !p.out.ConfigMaps[i].Module {
			// Only the names of the other ConfigMaps are needed, and they may be large.
			value := object.Value{Kind: object.KindMap, Pos: m.Pos, Members: []object.Member{{Name: "metadata", Value: meta}}}
			p.out.ConfigMaps[i] = Manifest{Pos: m.Pos, Value: value}
		}
	}

	// Other documents are not read.
	for _, v := range p.others {
		meta, _ := v.Get("metadata")
		name := meta.TextOf("name")
		isModule := isConfigMap(v) && modules[name]
		if v.Kind == object.KindNone || v.Kind == object.KindNull || isModule {
			continue
		}
		subject := "this document"
		if kind := v.TextOf("kind"); kind != "" {
			subject = strings.TrimSpace(kind + " " + name)
		}
		p.fail(v.Pos, nil, "move it to a file of its own, for the engine to apply as it is, or have a module make it",
			"%s is beside a spec in this file, and is not rendered", subject)
	}
}

// addConfigMaps adds the names of the ConfigMaps that references in v name.
func addConfigMaps(v object.Value, names map[string]bool) {
	if RefType(v.TextOf("type")) == RefConfigMap {
		names[v.TextOf("ref")] = true
	}
	for _, m := range v.Members {
		addConfigMaps(m.Value, names)
	}
	for _, i := range v.Items {
		addConfigMaps(i, names)
	}
}

// readOwn reads a document of Ropewalk.
func (p *parsing) readOwn(doc parsed, apiVersion, kind string) {
	v := doc.value
	version, _ := v.Get("apiVersion")
	badVersion := apiVersion != "" && apiVersion != APIVersion
	if badVersion || !isKnown(kind) {
		p.out.Incomplete = true
	}

	// The apiVersion must be the present one.
	switch {
	case apiVersion == "":
		p.fail(v.Pos, object.Fields("apiVersion"), "write apiVersion: "+APIVersion, "is missing")
	case apiVersion != APIVersion:
		p.fail(version.Pos, object.Fields("apiVersion"), "", "%q is not known: expected %s", apiVersion, APIVersion)
		return
	}

	// The kind decides the decoder.
	d := decoder{blocks: doc.blocks}
	read := transforms()[kind]
	f, compiled := formatOf(func(f format) bool { return f.kind == kind && !f.nameless })
	m, inCluster := InCluster(v)
	switch {
	case compiled && f.isWorkload:
		p.out.Workloads = append(p.out.Workloads, p.compiled(doc, kind, false))
	case compiled:
		p.out.Sources = append(p.out.Sources, p.compiled(doc, kind, false))
	case kind == KindTransform && inCluster:
		p.cluster = true
		p.out.Incomplete = true
		hint := "pass this file alone to render, vet, graph, explain or diff, with --local-sources for what it names; " +
			"where it is meant to be a spec, remove the field"
		p.fail(m.Pos, object.Fields("spec", m.Name), hint, "this Transform is for the controller in a cluster: a spec has no %s", m.Name)
		return
	case read != nil:
		p.addTransform(read(&d, v), len(doc.errs) > 0)
	case kind == KindProject:
		p.out.Projects = append(p.out.Projects, d.decodeProject(v))
	default:
		p.reportUnknown(v, kind)
	}
	p.errs = append(p.errs, d.Errs...)
}

// addTransform adds t. The argument unsure is set if a mistake may hide part of it.
func (p *parsing) addTransform(t Transform, unsure bool) {
	t.InputUnsure = t.InputUnsure || unsure
	p.out.Incomplete = p.out.Incomplete || unsure || document.BadLabel(t.Name) != ""
	p.out.Transforms = append(p.out.Transforms, t)
}

// reportUnknown reports the mistake of a kind in the group of Ropewalk that is not read.
func (p *parsing) reportUnknown(v object.Value, kind string) {
	kindValue, ok := v.Get("kind")
	path := object.Fields("kind")
	switch {
	case !ok:
		p.fail(v.Pos, path, "known kinds: "+strings.Join(knownKinds(), ", "), "is missing")
	case isRelease(kind):
		p.fail(kindValue.Pos, path, "\"ropewalk artifact sync\", \"ropewalk deploy\" and \"ropewalk build\" take it by its name",
			"%q is the kind of a release, and is not rendered", kind)
	default:
		p.fail(kindValue.Pos, path, object.Suggest(kind, knownKinds()), "%q is not known", kind)
	}
}

// reportDuplicates reports two specs of one name, in one file or in several.
func (p *parsing) reportDuplicates() {
	first := make(map[string]object.Pos, len(p.out.Transforms)+len(p.out.Workloads))
	// The second spec of a name is not rendered: each of its nodes would collide.
	claim := func(name string, at object.Pos, unsure *bool) {
		if name == "" {
			return
		}
		if other, twice := first[name]; twice {
			e := mistake(at, object.Fields("metadata", "name"), "", "a second spec is called %q; the first is at %s", name, other)
			e.Notes = []object.Note{{Pos: other, Text: "the first spec of this name"}}
			p.errs = append(p.errs, e)
			*unsure = true
			return
		}
		first[name] = at
	}
	for i, t := range p.out.Transforms {
		claim(t.Name, t.NamePos, &p.out.Transforms[i].InputUnsure)
	}
	for i, w := range p.out.Workloads {
		claim(w.Name, w.NamePos, &p.out.Workloads[i].Unsure)
	}
}

func (p *parsing) fail(pos object.Pos, path object.Path, hint, format string, args ...any) {
	p.errs = append(p.errs, mistake(pos, path, hint, format, args...))
}

// OneProject returns the project among the documents, or the zero value if there is no project. Every
// further project is an error.
func (d Documents) OneProject() (Project, error) {
	if len(d.Projects) == 0 {
		return Project{}, nil
	}
	var errs object.Errors
	for _, p := range d.Projects[1:] {
		e := mistake(p.Pos, nil, "render one project at a time", "a second project; the first is at %s", d.Projects[0].Pos)
		e.Notes = []object.Note{{Pos: d.Projects[0].Pos, Text: "the first project"}}
		errs = append(errs, e)
	}
	return d.Projects[0], errs.Err()
}
