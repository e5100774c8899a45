// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/ropewalk/ropewalk/internal/subpath"
	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Bounds of what a build reads.
const (
	maxFiles = 2_000
	maxDepth = 64
	// maxBuilds counts a base as often as it is built: bases that share bases multiply.
	maxBuilds = 2_000
)

// kustomization is a kustomization with the places of its fields.
type kustomization struct {
	// dir is the folder that its paths are relative to.
	dir string
	// name is the path of its file; "" for the fields of a component.
	name  string
	value object.Value
	// types holds the fields for the library, with references to elsewhere replaced.
	types types.Kustomization
	// repository is the folder that its bases must be in.
	repository string
	// charts are the folders of its helmCharts.
	charts []string
	bases  []*kustomization
	builds int
}

// patch is YAML that changes objects, or says how.
type patch struct {
	text string
	docs []document
	// field is the place of the reference to it, and pos returns the place of a document of it.
	field object.Pos
	pos   func(d document) object.Pos
}

// walker finds all that a build reads.
type walker struct {
	fsys  fs.FS
	c     spec.Kustomize
	posOf func(name string, line, column int) object.Pos
	files map[string][]byte
	docs  map[string][]document
	made  map[string]*kustomization
	// rules are the files that say how objects are changed.
	rules map[string]bool
	// chain leads from the first kustomization to the present kustomization.
	chain []string
	bytes int
	// found counts the objects of the files.
	found   int
	remotes []Remote
	charts  []Chart
	patches []patch
	// later are the checks of plugins that have to know all objects.
	later []func()
	errs  object.Errors
	// warnings are about the files of the user.
	warnings object.Errors
}

func newWalker(fsys fs.FS, c spec.Kustomize, posOf func(name string, line, column int) object.Pos) *walker {
	if posOf == nil {
		posOf = func(name string, line, column int) object.Pos {
			return object.Pos{File: name, Line: line, Column: column}
		}
	}
	return &walker{
		fsys:  fsys,
		c:     c,
		posOf: posOf,
		files: map[string][]byte{},
		docs:  map[string][]document{},
		made:  map[string]*kustomization{},
		rules: map[string]bool{},
	}
}

// walkAll walks the kustomization of c and the fields that are laid over it, which top holds.
func (w *walker) walkAll(dir string, c spec.Component) (top *kustomization, root string) {
	root = path.Join(dir, c.Kustomize.Path.Text)
	if !fs.ValidPath(root) {
		w.errs = append(w.errs, component.Fail(c.Kustomize.Path.Pos, c.Path.Append(object.Field("path")), "", "path %q leaves the source", c.Kustomize.Path.Text))
		return nil, root
	}
	top = &kustomization{dir: dir, value: c.Kustomize.Fields, repository: "."}
	w.walkBase(root, ".", false, func(hint, format string, args ...any) {
		pos := c.Kustomize.Path.Pos
		if !pos.IsValid() {
			pos = c.Pos
		}
		w.errs = append(w.errs, component.Fail(pos, c.Path.Append(object.Field("path")), hint, format, args...))
	})
	if top.value.Kind == object.KindNone {
		return nil, root
	}
	if w.decode(top, top.value.JSON()) {
		w.walkFields(top)
	}
	return top, root
}

// pos returns the place of a field of k.
func (w *walker) pos(k *kustomization, p object.Path) object.Pos {
	pos := k.value.NearestPos(p)
	if k.name == "" {
		return pos
	}
	return w.posOf(k.name, pos.Line, pos.Column)
}

type failure func(hint, format string, args ...any)

// fail reports mistakes of the field p of k.
func (w *walker) fail(k *kustomization, p object.Path) failure {
	return func(hint, format string, args ...any) {
		w.errs = append(w.errs, component.Fail(w.pos(k, p), p, hint, format, args...))
	}
}

// walkBase walks the kustomization in a folder, whose bases must be in the folder repository.
func (w *walker) walkBase(dir, repository string, isComponent bool, fail failure) *kustomization {
	// A base is walked once, and contains itself nowhere.
	if k, ok := w.made[dir]; ok && !slices.Contains(w.chain, dir) {
		w.checkKind(k, isComponent, fail)
		return k
	}
	for i, c := range w.chain {
		if subpath.Within(c, dir) {
			circle := strings.Join(append(slices.Clone(w.chain[i:]), dir), " -> ")
			fail("remove one of these references", "the kustomizations refer to each other in a circle: %s", circle)
			return nil
		}
	}
	if len(w.chain) == maxDepth {
		fail("", "bases of bases are more than %d deep", maxDepth)
		return nil
	}

	// A folder is a kustomization by one file.
	names := slices.DeleteFunc(konfig.RecognizedKustomizationFileNames(), func(name string) bool {
		info, err := fs.Stat(w.fsys, path.Join(dir, name))
		return err != nil || info.IsDir()
	})
	switch len(names) {
	case 0:
		hint := "add one that lists the files in resources, or name the folder that has one" + w.foldersWith(dir)
		if len(w.chain) == 0 {
			hint += "; write manifests in place of kustomize for files without one"
		}
		fail(hint, "folder %q holds no kustomization.yaml", dir)
		return nil
	case 1:
	default:
		fail("keep one of them", "folder %q holds %s", dir, strings.Join(names, " and "))
		return nil
	}

	// Its own bases are walked from it.
	k := &kustomization{dir: dir, name: path.Join(dir, names[0]), repository: repository}
	w.made[dir] = k
	if !w.parse(k, fail) {
		return nil
	}
	w.checkKind(k, isComponent, fail)
	w.chain = append(w.chain, dir)
	w.walkFields(k)
	w.chain = w.chain[:len(w.chain)-1]
	return k
}

func (w *walker) checkKind(k *kustomization, isComponent bool, fail failure) {
	switch is := k.types.Kind == types.ComponentKind; {
	case is && !isComponent && len(w.chain) > 0:
		fail("list it in components", "%q is a component of kustomize", k.dir)
	case isComponent && !is:
		fail("list it in resources, or write kind: Component in it", "%q is no component of kustomize", k.dir)
	}
}

// foldersWith returns a hint that names a folder below dir with a kustomization.
func (w *walker) foldersWith(dir string) string {
	entries, _ := fs.ReadDir(w.fsys, dir)
	for _, e := range entries[:min(len(entries), maxDepth)] {
		for _, name := range konfig.RecognizedKustomizationFileNames() {
			if info, err := fs.Stat(w.fsys, path.Join(dir, e.Name(), name)); err == nil && !info.IsDir() {
				return fmt.Sprintf(": %q has one", path.Join(dir, e.Name()))
			}
		}
	}
	return ""
}

// read returns the content of a file, within the bounds.
func (w *walker) read(name string, fail failure) ([]byte, bool) {
	if data, ok := w.files[name]; ok {
		return data, true
	}
	if info, err := fs.Stat(w.fsys, name); err == nil && info.Size() > component.MaxBytes-int64(w.bytes) || len(w.files) == maxFiles {
		fail("make several components of it", "a build reads more than %d files or %d MiB", maxFiles, component.MaxBytes>>20)
		return nil, false
	}
	data, err := fs.ReadFile(w.fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fail(w.near(name), "file %q is not there", name)
		return nil, false
	case err != nil:
		fail("", "read %q: %w", name, err)
		return nil, false
	}
	w.files[name] = data
	w.bytes += len(data)
	return data, true
}

// near returns a hint that names the file or folder that name was meant to be.
func (w *walker) near(name string) string {
	dir := path.Dir(name)
	entries, err := fs.ReadDir(w.fsys, dir)
	if err != nil {
		return fmt.Sprintf("folder %q is not there", dir)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	if len(names) == 0 {
		return fmt.Sprintf("folder %q is empty", dir)
	}
	return object.Suggest(path.Base(name), names)
}

// join returns the path of ref, which k refers to. It reports false if the path leaves the tree.
func (w *walker) join(k *kustomization, ref string, fail failure) (string, bool) {
	name := path.Join(k.dir, ref)
	switch {
	case ref == "":
		fail("", "the path is empty")
	case path.IsAbs(ref):
		fail("write it relative to the folder of the kustomization", "path %q is absolute", ref)
	case name == ".." || strings.HasPrefix(name, "../"):
		fail("put the file into the source, or choose a folder further up as the source", "path %q leaves the source", ref)
	default:
		return name, true
	}
	return "", false
}

// readFile reads a file that k refers to. Remote files are replaced by what was fetched.
func (w *walker) readFile(k *kustomization, ref *string, p object.Path) (name string, data []byte, ok bool) {
	fail := w.fail(k, p)
	r, isRemote := parseRemote(*ref)
	if u, err := url.Parse(*ref); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		r = Remote{URL: *ref, Type: TypeHTTP, Refs: []string{*ref}}
		isRemote = true // No folder of a repository.
	}
	if isRemote && r.Type == TypeHTTP {
		local, there := w.findFetched(k, r, p)
		if there {
			*ref = relative(k.dir, local)
			data, ok = w.read(local, fail)
		}
		return local, data, ok
	}
	name, ok = w.join(k, *ref, fail)
	if !ok {
		return "", nil, false
	}
	if !w.within(k, name, fail) {
		return name, nil, false
	}
	if info, err := fs.Stat(w.fsys, name); err == nil && info.IsDir() {
		fail("name a file of it", "%q is a folder", *ref)
		return name, nil, false
	}
	data, ok = w.read(name, fail)
	return name, data, ok
}

// within reports whether k may load the file: kustomize's own restriction.
func (w *walker) within(k *kustomization, name string, fail failure) bool {
	switch {
	case k.repository != "." && !subpath.Within(name, k.repository):
		fail("", "%q is outside of the repository that refers to it", name)
	case (!w.c.AnyPath || k.repository != ".") && !subpath.Within(name, k.dir):
		const hint = "move it into that folder, make a base of its folder, or set loadRestrictor: none"
		fail(hint, "file %q is not in the folder of the kustomization, %q", name, k.dir)
	default:
		return true
	}
	return false
}

// relative returns the path from dir to name.
func relative(dir, name string) string {
	return strings.Repeat("../", depth(dir)) + name
}

func depth(dir string) int {
	if dir == "." {
		return 0
	}
	return strings.Count(dir, "/") + 1
}

// findFetched returns the path in the tree of what r refers to. What is not there is noted as to be
// fetched.
func (w *walker) findFetched(k *kustomization, r Remote, p object.Path) (string, bool) {
	if local, ok := w.c.Remotes[r.URL]; ok {
		return local, true
	}
	if !slices.ContainsFunc(w.remotes, func(o Remote) bool { return o.URL == r.URL }) {
		r.Pos = w.pos(k, p)
		w.remotes = append(w.remotes, r)
	}
	return "", false
}

// walkResource walks what resources, and lists like it, refer to: a file, or a folder with a
// kustomization.
func (w *walker) walkResource(k *kustomization, ref *string, p object.Path, isComponent bool) {
	fail := w.fail(k, p)
	name := path.Join(k.dir, *ref)

	// A file of the tree comes before a remote of the same name.
	if info, err := fs.Stat(w.fsys, name); *ref != "" && !isComponent && err == nil && !info.IsDir() {
		w.readObjects(k, ref, p)
		return
	}

	// A remote is a file, or a folder of a repository.
	if r, ok := parseRemote(*ref); ok {
		local, there := w.findFetched(k, r, p)
		if !there {
			return
		}
		if info, err := fs.Stat(w.fsys, local); err == nil && !info.IsDir() {
			w.readObjects(k, ref, p)
			return
		}
		*ref = relative(k.dir, local)
		repo := strings.TrimSuffix(strings.TrimSuffix(local, r.Path), "/")
		w.descend(k, local, repo, isComponent, fail)
		return
	}

	// Anything else is a folder of the tree.
	if strings.HasPrefix(*ref, "file://") {
		fail("write a path, or the URL of a server", "a repository of this machine is not read: %q", *ref)
		return
	}
	name, ok := w.join(k, *ref, fail)
	if !ok {
		return
	}
	if info, err := fs.Stat(w.fsys, name); err != nil || !info.IsDir() {
		what := "file or folder"
		if isComponent {
			what = "folder"
		}
		fail(w.near(name), "%s %q is not there", what, name)
		return
	}
	if k.repository != "." && !subpath.Within(name, k.repository) {
		fail("", "%q is outside of the repository that refers to it", name)
		return
	}
	w.descend(k, name, k.repository, isComponent, fail)
}

// descend walks a base of k, and counts how often it is built.
func (w *walker) descend(k *kustomization, dir, repository string, isComponent bool, fail failure) {
	base := w.walkBase(dir, repository, isComponent, fail)
	if base == nil {
		return
	}
	k.bases = append(k.bases, base)
	k.builds += 1 + base.builds
	if k.builds > maxBuilds {
		k.builds = maxBuilds
		fail("refer to each base once", "its bases are built more than %d times", maxBuilds)
	}
}

// readObjects reads a file of objects.
func (w *walker) readObjects(k *kustomization, ref *string, p object.Path) {
	name, data, ok := w.readFile(k, ref, p)
	if !ok {
		return
	}
	if _, known := w.docs[name]; !known {
		w.docs[name] = nil
		w.readDocument(name, data)
	}
}

// readDocument reads the YAML of a file.
func (w *walker) readDocument(name string, data []byte) {
	if w.found > component.MaxObjects {
		return // It was reported.
	}
	docs, line, err := documents(data)
	if err != nil {
		w.errs = append(w.errs, component.Fail(w.posOf(name, line, 0), nil, "", "%w", err))
		return
	}
	w.docs[name] = docs
	w.found += len(docs)
	if w.found > component.MaxObjects {
		w.errs = append(w.errs, component.Fail(w.posOf(name, 1, 0), nil, "make several components of it", "the files up to this one hold more than %d objects", component.MaxObjects))
	}
}
