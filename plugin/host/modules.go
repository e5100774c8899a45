// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/configmap"
	"github.com/ropewalk/ropewalk/source/local"
	sourcemodules "github.com/ropewalk/ropewalk/source/modules"
)

// parallelFetches limits the modules that are fetched at once.
const parallelFetches = 8

// reference is a reference to a module.
type reference struct {
	ref spec.CueRef
	// path is the path of the reference in its document.
	path object.Path
	// key is equal for references to the same module.
	key module
	// neededBy is the position of the first workload, for a module that no document refers to;
	// it may be the zero value.
	neededBy object.Pos
}

// module identifies a module in one run.
type module struct {
	source.Ref
	// root is the root of a path, nil for other types.
	root *project.Root
	// files says that it is not a module: nothing is completed.
	files bool
}

// modules fetches the modules that documents reference, each once.
type modules struct {
	host      Host
	discovery *project.Discovery
	// configMaps are the ConfigMaps among the documents, for references of their type.
	configMaps []spec.Manifest
	// trees and errs are by module, once everything is fetched.
	trees map[module]source.Tree
	errs  map[module]error
	// positions are the files of modules that several specs may share, once a spec has
	// asked for them.
	positions map[module]map[string]evaluate.Source
	// charge is Options.Charge.
	charge func(ctx context.Context, bytes int64) error
}

// newModules returns modules before any fetch.
func newModules(h Host, d *project.Discovery, configMaps []spec.Manifest, charge func(context.Context, int64) error) *modules {
	return &modules{
		host: h, discovery: d, configMaps: configMaps, charge: charge,
		trees: map[module]source.Tree{}, errs: map[module]error{}, positions: map[module]map[string]evaluate.Source{},
	}
}

// reference resolves a reference of a document, as far as that needs no fetch. It returns false if
// it does not refer to a module, which has been reported.
func (m *modules) reference(ref spec.CueRef, p object.Path) (reference, bool) {
	// A type that is not available is reported with the available types.
	w := reference{ref: ref, path: p}
	if ref.Type == "" || ref.Ref == "" {
		return w, false
	}
	kind, ok := reftype.Of(string(ref.Type))
	if !ok {
		return w, false // Parsing the document reported it.
	}
	if !slices.Contains(m.types(), string(ref.Type)) {
		why := ""
		if kind.Absent != "" {
			why = ": " + kind.Absent
		}
		m.discovery.Errs = append(m.discovery.Errs, &object.Error{
			Stage: object.StageResolve, Pos: ref.TypePos, Path: p.Append(object.Field("type")).String(),
			Err:  fmt.Errorf("cueRef.type %q is not available here%s", ref.Type, why),
			Hint: "available types: " + strings.Join(m.types(), ", "),
		})
		return w, false
	}

	// References with the same key are fetched once.
	w.key.Ref = source.Ref{Type: string(ref.Type), Ref: ref.Ref, Path: ref.Path, Secret: ref.PullSecretRef}
	if ref.Verify != nil {
		w.key.Verify = source.Verify{Provider: ref.Verify.Provider, Secret: ref.Verify.SecretRef}
	}
	if ref.Type == spec.RefPath && m.host.Fetchers[string(spec.RefPath)] == nil {
		location := m.discovery.Location(ref.Pos.File)
		w.key.root = location.Root
		if !path.IsAbs(ref.Ref) {
			w.key.Ref.Ref = path.Join(location.Dir, ref.Ref)
		}
	}
	return w, true
}

// types returns the types of references that resolve.
func (m *modules) types() []string {
	names := map[string]bool{}
	for _, t := range reftype.All() {
		if !t.Remote {
			names[t.Name] = true
		}
	}
	for name := range m.host.Fetchers {
		names[name] = true
	}
	return object.SortedKeys(names)
}

// fetch fetches every module once, several at a time. The result does not depend on
// their order.
func (m *modules) fetch(ctx context.Context, references []reference) error {
	var keys []module
	indexes := map[module]int{}
	for _, w := range references {
		if _, twice := indexes[w.key]; !twice {
			indexes[w.key] = len(keys)
			keys = append(keys, w.key)
		}
	}

	// One module needs no goroutine.
	if len(keys) == 1 {
		key := keys[0]
		m.trees[key], m.errs[key] = m.complete(ctx, key)
		return ctx.Err()
	}

	// Several are fetched at once, and their errors are kept by module.
	trees := make([]source.Tree, len(keys))
	errs := make([]error, len(keys))
	var group errgroup.Group
	group.SetLimit(parallelFetches)
	for i, key := range keys {
		group.Go(func() error {
			trees[i], errs[i] = m.complete(ctx, key)
			return nil
		})
	}
	// No function of the group fails.
	_ = group.Wait()
	for i, key := range keys {
		m.trees[key] = trees[i]
		m.errs[key] = errs[i]
	}
	return ctx.Err()
}

// complete fetches a module with the modules that it depends on.
func (m *modules) complete(ctx context.Context, key module) (tree source.Tree, err error) {
	defer crash.Recover(&err)
	tree, err = m.fetcher(key).Fetch(ctx, key.Ref)
	if err == nil && m.host.Complete != nil && !key.files {
		tree, err = m.host.Complete(ctx, tree)
	}
	if err != nil || tree.FS == nil {
		return tree, err
	}
	return tree, m.charge(ctx, treeSize(tree.FS))
}

// treeSize returns the bytes that a tree takes, roughly.
func treeSize(tree fs.FS) (size int64) {
	const file = 300
	_ = fs.WalkDir(tree, ".", func(_ string, e fs.DirEntry, err error) error {
		if info, failed := e.Info(); err == nil && failed == nil {
			size += file + info.Size()
		}
		return err
	})
	return size
}

// fetcher returns the fetcher of a module.
func (m *modules) fetcher(key module) source.Fetcher {
	if f := m.host.Fetchers[key.Type]; f != nil {
		return f
	}
	switch key.Type {
	case source.TypePath:
		return local.Fetcher{Root: key.root.Dir, FS: key.root.FS, Limits: m.host.Limits}
	case source.TypeInline:
		return source.Inline(m.host.Limits)
	case source.TypeConfigMap:
		return configmap.Fetcher{Getter: configmap.GetterFunc(m.configMap), Limits: m.host.Limits}
	}
	return source.Embedded(m.embedded, m.host.Limits)
}

// embedded returns the embedded module of a name.
func (m *modules) embedded(name string) (fs.FS, bool) {
	if m.host.Embedded == nil {
		return nil, false
	}
	return m.host.Embedded(name)
}

// tree returns a module that was fetched. It returns false if that failed, and reports it at the
// reference.
func (m *modules) tree(w reference) (source.Tree, bool) {
	// The module was fetched, or its error is kept.
	err := m.errs[w.key]
	if err == nil {
		return m.trees[w.key], true
	}
	e := &object.Error{
		Stage: object.StageResolve, Pos: w.ref.RefPos, Path: w.path.Append(object.Field("ref")).String(), Err: err,
	}

	// The position and the hint depend on where the reference is.
	switch {
	case len(w.path) > 0 && w.path[0].Name == "bundle":
		e.Path = w.path.Append(object.Field("url")).String()
	case w.path == nil:
		e.Path = "" // No document has the reference.
	case !w.ref.RefPos.IsValid() && w.neededBy.IsValid():
		e.Path = ""
		e.Pos = w.neededBy
		e.Hint = "every workload needs this embedded module"
		if errors.Is(err, source.ErrLocked) {
			e.Hint += ", which is locked like any other: run it in the rendered folder"
		}
	case w.key.root != nil && errors.Is(err, source.ErrPath) && strings.Contains(err.Error(), " leaves the root"):
		e.Hint = w.key.root.Describe()
	case w.key.root != nil && errors.Is(err, source.ErrNotFound):
		e.Hint = nearest(w.key.root.Files(), path.Join(w.key.Ref.Ref, w.key.Path), true)
	case w.ref.Type == spec.RefInline || w.ref.Type == spec.RefConfigMap:
		e.Pos = w.ref.Pos
	case w.ref.Type == spec.RefEmbedded && errors.Is(err, source.ErrNotFound) && w.ref.Path == "":
		e.Hint = object.Suggest(w.ref.Ref, m.host.EmbeddedNames)
		if len(m.host.EmbeddedNames) == 0 {
			e.Hint = ""
		}
	}
	m.discovery.Errs = append(m.discovery.Errs, e)
	return source.Tree{}, false
}

// module returns a module in the form that evaluate takes.
func (m *modules) module(w reference, tree source.Tree, tags map[string]string) evaluate.Module {
	out := evaluate.Module{
		FS:      tree.FS,
		Digest:  tree.Digest,
		Dir:     tree.Dir,
		Label:   tree.Origin,
		Tags:    tags,
		Pos:     w.ref.Pos,
		Version: tree.Version,
	}

	// A module of a server is foreign, and so is a module that needs other modules.
	switch w.ref.Type {
	case spec.RefPath, spec.RefInline, spec.RefConfigMap, spec.RefEmbedded:
		out.Foreign = sourcemodules.Depends(tree)
	default:
		out.Foreign = true
	}
	if tag, _, ok := strings.Cut(tree.Revision, "@"); ok && out.Version == "" && w.ref.Type == spec.RefType(reftype.OCI) {
		out.Version = tag
	}

	// Positions lead to the user's own files.
	switch {
	case w.key.root != nil:
		holds := above(path.Join(w.key.Ref.Ref, w.key.Path), tree.Dir)
		out.Label = w.key.root.Display(holds)
		if strings.HasPrefix(out.Label, "..") {
			out.Sources = m.positionsOnce(w.key, func() map[string]evaluate.Source { return displayed(w.key.root, holds, tree) })
		}
	case w.ref.Type == spec.RefInline:
		out.Sources = map[string]evaluate.Source{source.InlineFile: {Pos: w.ref.RefPos, Indent: w.ref.RefIndent, Whole: w.ref.Generated}}
	case w.ref.Type == spec.RefConfigMap:
		out.Sources = m.positionsOnce(w.key, func() map[string]evaluate.Source { return m.sources(w.ref.Ref) })
	}
	return out
}

// positionsOnce returns the positions of the files of a module, which its specs share.
func (m *modules) positionsOnce(key module, read func() map[string]evaluate.Source) map[string]evaluate.Source {
	out, known := m.positions[key]
	if !known {
		out = read()
		m.positions[key] = out
	}
	return out
}

// displayed returns the positions of the files of a module in a folder that holds the user's own.
// A name below the display name of that folder would lead out of the user's folder and back into
// it.
func displayed(root *project.Root, folder string, tree source.Tree) map[string]evaluate.Source {
	out := map[string]evaluate.Source{}
	// The evaluation reports files that cannot be read.
	_ = fs.WalkDir(tree.FS, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == "cue.mod":
			return fs.SkipDir
		case path.Ext(name) == ".cue":
			out[name] = evaluate.Source{Pos: object.Pos{File: root.Display(path.Join(folder, name)), Line: 1, Column: 1}}
		}
		return nil
	})
	return out
}

// above returns full without dir at its end: the folder that holds dir.
func above(full, dir string) string {
	for ; dir != "." && dir != ""; dir = path.Dir(dir) {
		full = path.Dir(full)
	}
	return full
}

// manifest finds a ConfigMap of the documents by its name.
func (m *modules) manifest(name string) (spec.Manifest, error) {
	var found []spec.Manifest
	var names []string
	for _, doc := range m.configMaps {
		meta, _ := doc.Value.Get("metadata")
		is, _ := meta.Get("name")
		names = append(names, is.Text)
		if is.Text == name {
			found = append(found, doc)
		}
	}
	switch len(found) {
	case 0:
		return spec.Manifest{}, source.Refuse(source.ErrNotFound,
			fmt.Sprintf("no ConfigMap of the project is named %q (%s)", name, object.Suggest(name, names)))
	case 1:
		return found[0], nil
	}
	return spec.Manifest{}, fmt.Errorf("two ConfigMaps are named %q: at %s and %s", name, found[0].Pos, found[1].Pos)
}

// configMap returns a ConfigMap of the documents in the form that its fetcher takes.
func (m *modules) configMap(_ context.Context, name string) (configmap.ConfigMap, error) {
	doc, err := m.manifest(name)
	if err != nil {
		return configmap.ConfigMap{}, err
	}
	out := configmap.ConfigMap{Name: name, Data: map[string]string{}, BinaryData: map[string][]byte{}}
	data, _ := doc.Value.Get("data")
	for _, f := range data.Members {
		if f.Value.Kind != object.KindString {
			return out, fmt.Errorf("%s: data of a ConfigMap: expected a string, got a %s", f.Value.Pos, f.Value.Kind)
		}
		out.Data[f.Name] = f.Value.Text
	}
	binary, _ := doc.Value.Get("binaryData")
	for _, f := range binary.Members {
		text := strings.Join(strings.Fields(f.Value.Text), "")
		out.BinaryData[f.Name], err = base64.StdEncoding.DecodeString(text)
		if err != nil {
			return out, fmt.Errorf("%s: binaryData of a ConfigMap: not base64", f.Value.Pos)
		}
	}
	return out, nil
}

// sources returns the positions of the files of a ConfigMap.
func (m *modules) sources(name string) map[string]evaluate.Source {
	doc, err := m.manifest(name)
	if err != nil {
		return nil
	}
	out := map[string]evaluate.Source{}
	data, _ := doc.Value.Get("data")
	for _, f := range data.Members {
		block := doc.TextAt(f.Value)
		out[f.Name] = evaluate.Source{Pos: block.Pos, Indent: block.Indent}
	}
	return out
}

// Reference is a reference of a document, with the tree that was fetched for it.
type Reference struct {
	source.Ref
	Tree source.Tree
	// Pos is the place of its text.
	Pos object.Pos
	// Version is the place of the version where the version is a field of its own, else the zero
	// value.
	Version object.Pos
	// Digest is the place of the digest beside the version, else the zero value.
	Digest object.Pos
	// Module says that it is a module, and not files of a component.
	Module bool
}

// references returns the references to servers that were fetched. Dependencies of charts, remote
// bases of kustomizations and dependencies of modules of CUE are in no document, and are left out.
func (m *modules) references(refs []reference) (out []Reference) {
	for _, w := range refs {
		kind, _ := reftype.Of(w.key.Type)
		tree, ok := m.trees[w.key]
		if !ok || m.errs[w.key] != nil || !kind.Remote {
			continue
		}
		out = append(out, Reference{
			Ref:     w.key.Ref,
			Tree:    tree,
			Pos:     w.ref.RefPos,
			Version: w.ref.VersionPos,
			Digest:  w.ref.DigestPos,
			Module:  !w.key.files,
		})
	}
	slices.SortStableFunc(out, func(a, b Reference) int { return a.Pos.Compare(b.Pos) })
	return out
}

// sourceOf returns the provenance of a tree.
func sourceOf(name, policy string, tree source.Tree) render.Source {
	return render.Source{
		Spec: name, Policy: policy, Origin: tree.Origin, Revision: tree.Revision, Pinned: tree.Pinned, Digest: tree.Digest,
	}
}
