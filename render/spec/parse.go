// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// group is the API group of every document of ours.
const group = "ropewalk.dev"

// Parse reads every document of files. The error is an object.Errors with
// every mistake of every file; what could be read is returned with it.
//
// A file that a user named must hold a document of ours or a ConfigMap; a file
// that was found (see [File.Found]) is left out where it does not. Documents of
// others beside ours are left alone.
func Parse(files []File) (Documents, error) {
	var p parsing
	for _, f := range files {
		p.file(f)
	}
	p.unique()
	return p.out, p.errs.Sorted().Err()
}

// parsing is what was read so far.
type parsing struct {
	out  Documents
	errs object.Errors
}

// file reads one file.
func (p *parsing) file(f File) {
	ours := mentionsUs(f.Data)
	if f.Found && !ours && !bytes.Contains(f.Data, []byte("ConfigMap")) {
		return
	}
	docs, errs := f.documents(MaxFile)
	if f.Found && !ours {
		// A template of something else may well be no YAML.
		errs = nil
	}
	p.errs = append(p.errs, errs...)
	p.out.Incomplete = p.out.Incomplete || len(errs) > 0
	kept := false
	for _, d := range docs {
		kept = p.document(d, f.Found) || kept
	}
	if !kept && !f.Found && len(errs) == 0 {
		p.errs = append(p.errs, &object.Error{
			Stage: object.StageSpec, Pos: object.Pos{File: f.Name},
			Err:  fmt.Errorf("holds no document of %s", APIVersion),
			Hint: "a spec begins with apiVersion: " + APIVersion + " and kind: " + KindTransform,
		})
	}
}

// mentionsUs reports whether a file may hold a document of ours.
func mentionsUs(data []byte) bool {
	return bytes.Contains(data, []byte(group+"/")) || bytes.Contains(data, []byte("score.dev/"))
}

// document reads one document and reports whether it is one that we know, or
// that is so wrong that this was said.
func (p *parsing) document(doc document, found bool) bool {
	v := doc.value
	if v.Kind != object.KindMap {
		if !found {
			p.fail(v.Pos, nil, "", "expected a document with apiVersion and kind, got a %s", v.Kind)
		}
		return !found
	}
	apiVersion, kind := textOf(v, "apiVersion"), textOf(v, "kind")
	docGroup, _, _ := strings.Cut(apiVersion, "/")
	switch {
	case docGroup == group || docGroup == "score.dev" || apiVersion == "" && !found && isKnown(kind):
		p.errs = append(p.errs, doc.errs...)
		p.own(doc, apiVersion, kind)
		return true
	case apiVersion == "v1" && kind == "ConfigMap":
		if !found {
			p.errs = append(p.errs, doc.errs...)
		}
		p.out.ConfigMaps = append(p.out.ConfigMaps, Manifest{Pos: v.Pos, Value: v, Blocks: doc.blocks})
		return true
	}
	return false
}

// own reads a document of ours.
func (p *parsing) own(doc document, apiVersion, kind string) {
	v := doc.value
	at, _ := v.Get("apiVersion")
	if apiVersion != "" && apiVersion != APIVersion || !isKnown(kind) {
		p.out.Incomplete = true
	}
	switch {
	case apiVersion == "":
		p.fail(v.Pos, object.Fields("apiVersion"), "write apiVersion: "+APIVersion, "is missing")
	case strings.HasPrefix(apiVersion, "score.dev/"):
		p.fail(at.Pos, object.Fields("apiVersion"), "known kinds: "+strings.Join(kinds(), ", "),
			"%q: Score workloads are not available in this version", apiVersion)
		return
	case apiVersion != APIVersion:
		p.fail(at.Pos, object.Fields("apiVersion"), "", "%q is not known: expected %s", apiVersion, APIVersion)
		return
	}
	d := decoder{blocks: doc.blocks}
	switch kind {
	case KindTransform:
		t := d.transform(v)
		t.InputUnsure = t.InputUnsure || len(doc.errs) > 0
		p.out.Transforms = append(p.out.Transforms, t)
	case KindProject:
		p.out.Projects = append(p.out.Projects, d.project(v))
	default:
		p.unknown(v, kind)
	}
	p.errs = append(p.errs, d.errs...)
}

// unknown says what is wrong with a kind of our group that is not read.
func (p *parsing) unknown(v object.Value, kind string) {
	at, ok := v.Get("kind")
	path := object.Fields("kind")
	switch {
	case !ok:
		p.fail(v.Pos, path, "known kinds: "+strings.Join(kinds(), ", "), "is missing")
	case isLater(kind):
		p.fail(at.Pos, path, "known kinds: "+strings.Join(kinds(), ", "),
			"%q is not available in this version", kind)
	default:
		p.fail(at.Pos, path, object.Suggest(kind, kinds()), "%q is not known", kind)
	}
}

// unique refuses two specs of one name, whatever files they are in.
func (p *parsing) unique() {
	first := make(map[string]Transform, len(p.out.Transforms))
	for _, t := range p.out.Transforms {
		if t.Name == "" {
			continue
		}
		if other, twice := first[t.Name]; twice {
			p.errs = append(p.errs, &object.Error{
				Stage: object.StageSpec, Pos: t.NamePos, Path: "metadata.name",
				Err:   fmt.Errorf("a second spec is called %q; the first is at %s", t.Name, other.NamePos),
				Notes: []object.Note{{Pos: other.NamePos, Text: "the first spec of this name"}},
			})
			continue
		}
		first[t.Name] = t
	}
}

func (p *parsing) fail(pos object.Pos, path object.Path, hint, format string, args ...any) {
	d := decoder{}
	d.fail(pos, path, hint, format, args...)
	p.errs = append(p.errs, d.errs...)
}

// kinds are the kinds that this version reads.
func kinds() []string { return []string{KindProject, KindTransform} }

func isKnown(kind string) bool { return kind == KindProject || kind == KindTransform }

// isLater reports whether a kind belongs to us and is not read yet.
func isLater(kind string) bool {
	switch kind {
	case "Workload", "Gateway", "Function", "Component", "PivotCluster":
		return true
	}
	return false
}

// textOf is a string field of a map, "" where it is none.
func textOf(v object.Value, name string) string {
	f, _ := v.Get(name)
	if f.Kind != object.KindString {
		return ""
	}
	return f.Text
}

// OneProject is the project among the documents; the zero value where there
// is none, and an error at every further one.
func (d Documents) OneProject() (Project, error) {
	if len(d.Projects) == 0 {
		return Project{}, nil
	}
	var errs object.Errors
	for _, p := range d.Projects[1:] {
		errs = append(errs, &object.Error{
			Stage: object.StageSpec, Pos: p.Pos,
			Err:   errors.New("a second project; the first is at " + d.Projects[0].Pos.String()),
			Hint:  "render one project at a time",
			Notes: []object.Note{{Pos: d.Projects[0].Pos, Text: "the first project"}},
		})
	}
	return d.Projects[0], errs.Err()
}
