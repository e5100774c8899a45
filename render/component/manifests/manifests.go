// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifests takes Kubernetes objects from files and text as they are.
//
// # Invariants
//
// Every document of the named files is an object of the component, or a mistake. Of a
// folder these are the files .yaml, .yml and .json in it and below it, but for hidden ones
// and those with a document of a project of ours, which describe and are not applied.
// Objects that are for tools (config.kubernetes.io/local-config) are left out, as kustomize
// and kpt do.
package manifests

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// localConfig is the annotation of objects that are for tools only.
const localConfig = "config.kubernetes.io/local-config"

// Files returns the files of fsys that a component reads, sorted; its paths are relative to dir.
// The error is an object.Errors with every path that leads to nothing.
func Files(fsys fs.FS, dir string, m spec.Manifests, fieldPath object.Path) ([]string, error) {
	var names []string
	var errs object.Errors
	for i, p := range m.Paths {
		fail := func(hint, format string, args ...any) {
			errs = append(errs, component.Fail(p.Pos, fieldPath.Append(object.Field("paths"), object.Index(i)), hint, format, args...))
		}

		// A path is relative to the spec, and stays in the project.
		name := path.Join(dir, p.Text)
		if !fs.ValidPath(name) {
			fail("keep the files below the folder of the project, or name their source", "%q leaves the root", p.Text)
			continue
		}

		// A path names a folder, a file or a pattern.
		info, err := fs.Stat(fsys, name)
		switch {
		case err == nil && info.IsDir() && isHeadless(fsys, name):
			const hint = "write Chart.yaml, with apiVersion: v2, name and version, or name a folder of manifests"
			fail(hint, "%q holds the templates and the values of a chart, and no Chart.yaml", p.Text)
		case err == nil && info.IsDir():
			files, err := below(fsys, name)
			var link *object.Error
			switch {
			case errors.As(err, &link):
				errs = append(errs, link)
			case err != nil:
				fail("", "read %q: %v", p.Text, err)
			case len(files) == 0:
				fail("", "%q holds no file .yaml, .yml or .json", p.Text)
			}
			names = append(names, files...)
		case err == nil:
			names = append(names, name)
		default:
			files, _ := fs.Glob(fsys, name)
			if !strings.ContainsAny(p.Text, "*?[") || len(files) == 0 {
				fail(object.Suggest(path.Base(name), beside(fsys, name)), "%q does not exist", p.Text)
			}
			names = append(names, files...)
		}
	}

	// Two paths may lead to one file.
	slices.Sort(names)
	return slices.Compact(names), errs.Err()
}

// isHeadless reports whether a folder is a chart that has lost its Chart.yaml.
func isHeadless(fsys fs.FS, dir string) bool {
	is := func(name string) bool { _, err := fs.Stat(fsys, path.Join(dir, name)); return err == nil }
	return is("templates") && is("values.yaml") && !is("Chart.yaml")
}

// below returns the files of manifests in a folder, and below it. A link that cannot be followed
// is an error if its name says that it may lead to a manifest or a folder. The error is the error
// of its Info.
func below(fsys fs.FS, dir string) (names []string, err error) {
	err = fs.WalkDir(fsys, dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(e.Name(), ".") && name != dir
		document := slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(path.Ext(name)))
		if isLink := e.Type()&fs.ModeSymlink != 0; isLink && !hidden && (document || path.Ext(name) == "") {
			if _, err := e.Info(); err != nil {
				return err
			}
		}
		switch {
		case hidden && e.IsDir():
			return fs.SkipDir
		case !e.IsDir() && !hidden && document:
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// beside returns the names in the folder of a file.
func beside(fsys fs.FS, name string) (names []string) {
	entries, _ := fs.ReadDir(fsys, path.Dir(name)) // A folder that does not exist has no entries.
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Build makes the objects of the manifests of a component. It is the engine.
func Build(ctx context.Context, req component.Request) (component.Output, error) {
	// The text in the spec comes before the files.
	var output component.Output
	var errs object.Errors
	m := *req.Component.Manifests
	if m.Inline.Text != "" {
		errs = append(errs, read(ctx, &output, inline, []byte(m.Inline.Text), true, place(req))...)
	}

	// Read each file, and stop when there are too many objects.
	files, err := Files(req.FS, req.Dir, m, req.Component.Path)
	if err != nil {
		return output, err
	}
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return output, err
		}
		data, err := fs.ReadFile(req.FS, name)
		if err != nil {
			return output, err
		}
		named := slices.ContainsFunc(m.Paths, func(p spec.Text) bool { return path.Join(req.Dir, p.Text) == name })
		errs = append(errs, read(ctx, &output, name, data, named, func(p object.Pos) object.Pos { return req.At(name, p.Line, p.Column) })...)
		if len(output.Objects) > component.MaxObjects {
			break // Nodes reports it.
		}
	}

	// All mistakes are reported at once.
	if err := errs.Sorted().Err(); err != nil {
		return output, err
	}
	if len(output.Objects) == 0 {
		return output, object.Errors{component.Fail(req.Component.Pos, req.Component.Path, "", "the files hold no object")}
	}
	return output, nil
}

// inline is the name of the text in a document.
const inline = "inline"

// place returns a function from positions in the text of a component to positions in its document.
func place(req component.Request) func(object.Pos) object.Pos {
	t := req.Component.Manifests.Inline
	return func(p object.Pos) object.Pos {
		if req.Component.OfUnit {
			return t.Pos
		}
		if p.Line == 1 {
			return object.Pos{File: t.Pos.File, Line: t.Pos.Line, Column: max(t.Pos.Column, 1) + max(p.Column, 1) - 1}
		}
		return object.Pos{File: t.Pos.File, Line: t.Pos.Line + p.Line - 1, Column: p.Column + t.Indent}
	}
}

// read adds the objects of a file to output. The argument named says that the component names the
// file.
func read(ctx context.Context, output *component.Output, name string, data []byte, named bool, posOf func(object.Pos) object.Pos) (errs object.Errors) {
	// A file with mistakes may hold objects all the same.
	docs, err := spec.ParseManifests(spec.File{Name: name, Data: data}.Until(ctx), component.MaxBytes)
	for _, e := range object.AsErrors(err, object.StageEvaluate) {
		moved := *e
		moved.Stage, moved.Pos = object.StageEvaluate, posOf(e.Pos)
		errs = append(errs, &moved)
	}

	// A folder may hold documents of the project, which are passed over; a file that is named may not.
	if !named && slices.ContainsFunc(docs, isOurs) {
		return nil
	}
	for _, doc := range docs {
		fail := func(v object.Value, hint, format string, args ...any) {
			errs = append(errs, component.Fail(posOf(v.Pos), nil, hint, format, args...))
		}

		// What is no object of the cluster is a mistake, and says what to do.
		kind, _ := doc.Value.Get("kind")
		version, _ := doc.Value.Get("apiVersion")
		switch {
		case doc.Value.Kind != object.KindMap:
			fail(doc.Value, "", "expected an object with apiVersion and kind, got a %s", doc.Value.Kind)
		case isOurs(doc):
			fail(kind, "name it in the specs of the project", "a %s is rendered, and is no object of the cluster", kind.Text)
		case strings.HasPrefix(version.Text, "kustomize.config.k8s.io/") || path.Base(name) == "kustomization.yaml" && kind.Text == "":
			const format = "name its folder %q alone, or write kustomize: {path: …} in place of manifests"
			fail(doc.Value, fmt.Sprintf(format, path.Dir(posOf(doc.Value.Pos).File)), "a kustomization is no object of the cluster")
		case kind.Text == "" || version.Text == "":
			fail(doc.Value, "write apiVersion and kind, or leave the file out of the folder", "this is no object: it needs apiVersion and kind")
		default:
			o, err := object.Decode(doc.Value.JSON())
			if err != nil {
				fail(doc.Value, "", "%v", err)
				continue
			}

			// The objects of a List have positions of their own.
			objects, mistake := o.Expand()
			if mistake != nil {
				path, _ := object.ReadPath(mistake.Path)
				mistake.Stage, mistake.Pos = object.StageEvaluate, posOf(doc.Value.NearestPos(path))
				errs = append(errs, mistake)
			}
			places := items(doc.Value)
			for i, o := range objects {
				pos := doc.Value.Pos
				if len(places) == len(objects) {
					pos = places[i].Pos
				}
				if o.Annotations()[localConfig] != "true" {
					output.Objects = append(output.Objects, component.Object{Object: o, Pos: posOf(pos)})
				}
			}
		}
	}
	return errs
}

// items returns the values of the objects of a List, and of Lists in it. Any other value is
// returned as it is.
func items(v object.Value) (values []object.Value) {
	kind, _ := v.Get("kind")
	list, _ := v.Get("items")
	if !strings.HasSuffix(kind.Text, "List") || list.Kind != object.KindList {
		return []object.Value{v}
	}
	for _, item := range list.Items {
		values = append(values, items(item)...)
	}
	return values
}

// isOurs reports whether a document belongs to a project of Ropewalk, and is no object of a
// cluster. A Transform and a PivotCluster may be either: they are taken for objects.
func isOurs(m spec.Manifest) bool {
	kind, _ := m.Value.Get("kind")
	version, _ := m.Value.Get("apiVersion")
	switch kind.Text {
	case spec.KindTransform, spec.KindPivotCluster:
		return false
	}
	return version.Text == spec.APIVersion || version.Text == spec.ScoreVersion
}

// Part is a part of an object.
type Part struct {
	Ref  object.Ref
	Path object.Path
}

// Place is the position of a part of an object, and Written the scalar there as its author wrote it.
type Place struct {
	Pos     object.Pos
	Written string
}

// Trace returns the place of each part of objects. A place is the zero Place if the
// component does not have the object. Trace reads every file once, until all are found or ctx
// ends.
func Trace(ctx context.Context, req component.Request, parts []Part) []Place {
	// Several parts may be of one object.
	places := make([]Place, len(parts))
	wanted := map[object.Ref][]int{}
	for i, p := range parts {
		wanted[p.Ref] = append(wanted[p.Ref], i)
	}

	// Look through the files, and finally through the text in the spec.
	m := *req.Component.Manifests
	files, _ := Files(req.FS, req.Dir, m, req.Component.Path) // Build has reported it.
	for _, name := range append(files, inline) {
		if len(wanted) == 0 || ctx.Err() != nil {
			break
		}
		data := []byte(m.Inline.Text)
		posOf := place(req)
		if name != inline {
			data, _ = fs.ReadFile(req.FS, name)
			posOf = func(p object.Pos) object.Pos { return req.At(name, p.Line, p.Column) }
		}

		// The first object of a reference answers for all of its parts.
		docs, _ := spec.ParseManifests(spec.File{Name: name, Data: data}, component.MaxBytes)
		for _, doc := range docs {
			forEachObject(doc.Value, func(ref object.Ref, v object.Value) {
				for _, i := range wanted[ref] {
					places[i].Pos = posOf(v.NearestPos(parts[i].Path))
					if part, found := v.Lookup(parts[i].Path); found == len(parts[i].Path) {
						places[i].Written = part.Raw
					}
				}
				delete(wanted, ref)
			})
		}
	}
	return places
}

// forEachObject calls do with the object that v is, or with the objects of the List that it is.
func forEachObject(v object.Value, do func(object.Ref, object.Value)) {
	items, _ := v.Get("items")
	if o, err := object.Decode(v.JSON()); err == nil {
		do(o.Ref(), v)
	}
	for _, item := range items.Items {
		forEachObject(item, do)
	}
}
