// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/config"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/internal/subpath"
	"github.com/ropewalk/ropewalk/plugin/host/output"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source/flux/ignore"
)

// Bounds of a repository.
const (
	// maxFiles is how many files and folders are looked at.
	maxFiles = 100_000
	// MaxUnits is how many units a repository may have.
	MaxUnits = 10_000
)

// Repository is a folder of files with objects of Argo CD or of Flux in them.
type Repository struct {
	// FS holds the files of the whole repository. It must not change.
	FS fs.FS
	// Dir is the folder to look for entries in; "." is all of it.
	Dir string
	// URLs are those by which objects name this repository.
	URLs []string
	// Remotes are those that it was cloned from, which count where an object names one of them.
	Remotes []string
	// Local are the folders of FS that stand for sources, by KIND/NAMESPACE/NAME.
	Local map[string]string
}

// Written is an object as it is in a file, or as a unit renders it.
type Written struct {
	object.Value
	// Rendered is set if a unit made it.
	Rendered bool
}

// named returns the name of an object in a cluster.
func (w Written) named(cluster string) ID {
	meta, _ := w.Get("metadata")
	return ID{Cluster: cluster, Kind: w.TextOf("kind"), Namespace: meta.TextOf("namespace"), Name: meta.TextOf("name")}
}

// group returns the group of the API of an object.
func (w Written) group() string {
	group, _, _ := strings.Cut(w.TextOf("apiVersion"), "/")
	return group
}

// at returns the value at a path of names, of KindNone if there is none.
func (w Written) at(names ...string) object.Value { return lookup(w.Value, names...) }

// text returns the text at a path of names.
func (w Written) text(names ...string) string { return w.at(names...).Text }

// is reports whether the value at a path of names is true.
func (w Written) is(names ...string) bool {
	v := w.at(names...)
	return v.Kind == object.KindBool && v.Text == "true"
}

// lookup returns the value at a path of names below v, of KindNone if there is none.
func lookup(v object.Value, names ...string) object.Value {
	for _, name := range names {
		below, ok := v.Get(name)
		if !ok {
			return object.Value{}
		}
		v = below
	}
	return v
}

// scanned is what the files of a repository hold.
type scanned struct {
	// objects are those of both engines, and of what they refer to, in the order of their files.
	objects []Written
	// byFile and byName are the same objects, by their files, and by their names in any cluster.
	byFile map[string][]Written
	byName map[ID][]Written
	// kustomizations are the files of kustomizations.
	kustomizations []string
	// ignores is set if a file says what Flux leaves out of its sources.
	ignores bool
	// charts are the folders of charts whose templates make objects of an engine, sorted.
	charts []string
	// specs are the files with documents of Ropewalk, and plain those with other objects.
	specs, plain []string
	// unread are files that look as if they had such objects and are no YAML, such as templates.
	unread object.Errors
}

// plainObject is the begin of a line of an object that is no template.
var plainObject = regexp.MustCompile(`(?m)^apiVersion: *[a-z0-9./"'-]+ *$`)

// engineObject is the group of an engine, with a version or alone. In a label or an annotation, such as
// argocd.argoproj.io/sync-wave, another word follows it.
var engineObject = regexp.MustCompile(`(fluxcd\.[a-z.]*io|argoproj\.io)(/v[0-9]|[^/a-z.]|$)`)

// scan reads the objects of the engines in the files of a repository, and the ConfigMaps and
// Secrets that they may refer to.
func (r Repository) scan(ctx context.Context) (scanned, error) {
	out := scanned{byFile: map[string][]Written{}, byName: map[ID][]Written{}}
	names, charts, ignores, err := r.files(ctx)
	if err != nil {
		return out, err
	}
	out.ignores = ignores || isFile(r.FS, ignore.File)
	out.charts = slices.DeleteFunc(charts, func(folder string) bool { return !r.makesUnits(folder) })

	// Most repositories have nothing of an engine, and no ConfigMap or Secret counts there.
	var data []string
	for _, name := range names {
		if slices.Contains(kustomizationNames(), path.Base(name)) {
			out.kustomizations = append(out.kustomizations, name)
		}
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		text, err := readFile(r.FS, name)
		switch {
		case bytes.Contains(text, []byte("ropewalk.dev/v1")):
			out.specs = append(out.specs, name)
		case plainObject.Match(text) && !bytes.Contains(text, []byte("kustomize.config.k8s.io")):
			out.plain = append(out.plain, name)
		}
		switch {
		case err != nil: // What cannot be read is told where something refers to it.
		case bytes.Contains(text, []byte("fluxcd.")) || bytes.Contains(text, []byte(groupArgo)):
			out.addFile(name, text)
		case bytes.Contains(text, []byte("ConfigMap")) || bytes.Contains(text, []byte("kind: Secret")) || bytes.Contains(text, []byte(`"Secret"`)):
			data = append(data, name)
		}
	}
	if !slices.ContainsFunc(out.objects, isUnit) && len(out.charts) == 0 {
		return out, nil
	}
	engines := len(out.unread)
	for _, name := range data {
		text, err := readFile(r.FS, name)
		if err == nil {
			out.addFile(name, text)
		}
	}
	out.unread = out.unread[:engines] // Templates of these are many, and no unit refers to them.
	return out, ctx.Err()
}

// Kinds returns which units the files have, for people: Applications of Argo CD, Kustomizations of
// Flux. It returns none if files cannot be read.
func (r Repository) Kinds(ctx context.Context) []string {
	found, err := r.scan(ctx)
	if err != nil {
		return nil
	}
	var out []string
	for _, w := range found.objects {
		engine := " of Flux"
		if w.group() == groupArgo {
			engine = " of Argo CD"
		}
		if text := w.TextOf("kind") + "s" + engine; isUnit(w) && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// addFile adds the objects of a file.
func (s *scanned) addFile(name string, data []byte) {
	documents, err := spec.ParseManifests(spec.File{Name: name, Data: data}, spec.MaxFile)
	if err != nil {
		if engineObject.Match(data) { // Others have a label or an annotation of an engine.
			s.unread = append(s.unread, unread(name, err))
		}
		return
	}
	for _, d := range documents {
		s.addObject(name, d.Value)
	}
}

// addObject adds an object of a file, or those of a List, such as kubectl prints of several.
func (s *scanned) addObject(name string, v object.Value) {
	switch v.TextOf("kind") {
	case "":
	case "List":
		for _, item := range lookup(v, "items").Items {
			s.addObject(name, item)
		}
	default:
		w := Written{Value: v}
		s.objects = append(s.objects, w)
		s.byFile[name] = append(s.byFile[name], w)
		s.byName[w.named("")] = append(s.byName[w.named("")], w)
	}
}

// unread returns the warning of a file that is no YAML.
func unread(name string, err error) *object.Error {
	first := object.AsErrors(err, object.StageSpec)[0]
	return &object.Error{
		Stage: object.StageSpec, Pos: object.Pos{File: name, Line: first.Pos.Line, Column: first.Pos.Column}, Severity: object.SeverityWarning,
		Err: fmt.Errorf("objects of Argo CD or Flux in this file are not looked at: %w", first.Err), Hint: "a template is rendered by what uses it",
	}
}

// readFile reads a file that is no larger than a document may be.
func readFile(files fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > spec.MaxFile {
		return nil, fmt.Errorf("%q is no file of a document", name)
	}
	return fs.ReadFile(files, name)
}

// files returns the YAML and JSON files of the repository, sorted, the folders of its charts, and
// whether a file says what Flux leaves out.
// Hidden folders, the templates of charts and the outputs of renders are left out.
func (r Repository) files(ctx context.Context) (out, charts []string, ignores bool, err error) {
	seen := 0
	err = fs.WalkDir(r.FS, path.Clean(r.Dir), func(name string, entry fs.DirEntry, err error) error {
		seen++
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case seen > maxFiles:
			return fmt.Errorf("the repository has more than %d files and folders: name a folder of it", maxFiles)
		case entry.IsDir() && name != r.Dir && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir() && name != r.Dir && isFile(r.FS, path.Join(name, output.MarkerFile)):
			return fs.SkipDir
		case entry.IsDir() && entry.Name() == "templates" && isFile(r.FS, path.Join(path.Dir(name), chartFile)):
			return fs.SkipDir
		case entry.Type().IsRegular() && (project.IsDocument(name) || entry.Name() == "Kustomization"):
			out = append(out, name)
			if entry.Name() == chartFile {
				charts = append(charts, path.Dir(name))
			}
		case entry.Name() == ignore.File:
			ignores = true
		}
		return nil
	})
	return out, charts, ignores, err
}

// isFile reports whether a regular file is there.
func isFile(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && info.Mode().IsRegular()
}

// isFolder reports whether a folder is there.
func isFolder(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && info.IsDir()
}

// submoduleOf returns the submodule that a folder of the repository is in, or "" if it is in none.
func (r Repository) submoduleOf(folder string) string {
	text, err := readFile(r.FS, ".gitmodules")
	modules := config.NewModules()
	if err != nil || modules.Unmarshal(text) != nil {
		return ""
	}
	for _, name := range object.SortedKeys(modules.Submodules) {
		if at := path.Clean(modules.Submodules[name].Path); subpath.Within(folder, at) {
			return at
		}
	}
	return ""
}

// missing returns why a folder or a file is not in the repository. It is no mistake if it is in a
// submodule, which has files in a checkout alone.
func (x *expanding) missing(pos object.Pos, format, folder string) *object.Error {
	if module := x.repo.submoduleOf(folder); module != "" {
		return warning(pos, "check it out: git submodule update --init; a revision has none of its files", "%q is in the submodule %q, whose files are not here", folder, module)
	}
	return mistake(pos, "", format, folder)
}

// inSubmodule returns why a kustomization has no file that it refers to, if the file is in a
// submodule; nil for another mistake.
func (x *expanding) inSubmodule(e *object.Error) *object.Error {
	for _, name := range object.SortedKeys(x.overlays.parents) {
		isNamed := slices.Contains(x.overlays.parents[name], e.Pos.File) && strings.Contains(e.Err.Error(), strconv.Quote(name))
		if isNamed && x.repo.submoduleOf(name) != "" {
			return x.missing(e.Pos, "%q is not there", name)
		}
	}
	return nil
}

// unapplied returns the files with objects that no unit applies, and warns of specs of Ropewalk that
// no project has. Where a unit cannot be rendered, or a project is, nothing is known to be left over.
func (x *expanding) unapplied() ([]string, error) {
	if len(x.units) == 0 {
		return nil, nil
	}
	folders, err := project.Projects(x.repo.FS, path.Clean(x.repo.Dir))
	if err != nil {
		return nil, err
	}
	for _, u := range x.units {
		if u.Problem != nil {
			folders = append(folders, x.folders(Written{Value: u.Object})...)
		}
	}
	left := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return x.read[name] || x.used[name] || slices.ContainsFunc(folders, func(folder string) bool { return folder == "." || subpath.Within(name, folder) })
		})
	}
	if specs := left(x.written.specs); len(specs) > 0 {
		x.warn(object.Pos{File: specs[0], Line: 1, Column: 1}, "add a ropewalk.yaml to their folder, or render it by itself",
			"the specs of %s are in no project, and no unit applies them: %s", printable.Count(len(specs), "file"), printable.List(specs, mostNamed))
	}
	return left(x.written.plain), nil
}
