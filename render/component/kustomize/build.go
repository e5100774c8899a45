// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
)

// The folders of a build: for the files, and for the fields laid over them.
const (
	treeDir = "/t"
	topDir  = "/top"
)

// Library is kustomize's own library: see package library.
type Library interface {
	// Build builds a kustomization.
	Build(r Run) (Built, error)
	// Mark gives what a chart renders to the mark that keeps the namespaces which it chose. An
	// error says what the chart renders to in its place.
	Mark(rendered []byte) ([]byte, error)
}

// Run is a build of the library.
type Run struct {
	Files filesys.FileSystem
	// Dir is the folder of the kustomization.
	Dir string
	// Origins keeps the annotations of where objects come from.
	Origins bool
	// Schema says that a kustomization brings a schema of its own.
	Schema bool
}

// Built is the result of the library.
type Built struct {
	// Results are in the order of the library.
	Results []Result
	// Unused are the names of vars that are never used, sorted, also of a build that fails.
	Unused []string
	// ManagedBy is the name of the library, with its version, in the label of its objects.
	ManagedBy string
}

// New returns the engine. The function charts renders the charts of helmCharts, which are refused if
// it is nil.
func New(library Library, charts Charts) component.Engine {
	return func(ctx context.Context, req component.Request) (component.Output, error) {
		w := newWalker(req.FS, *req.Component.Kustomize, req.At)
		top, root := w.walkAll(req.Dir, req.Component)
		w.refuseExposed(top)
		for _, r := range w.remotes {
			w.errs = append(w.errs, component.Fail(r.Pos, nil, "", "what %q refers to was not fetched", r.URL))
		}
		for _, c := range w.charts {
			w.errs = append(w.errs, component.Fail(c.Pos, nil, "", "chart %q of %q was not fetched", c.Name, c.Repo))
		}
		if err := w.errs.Sorted().Err(); err != nil {
			return component.Output{}, err
		}
		b := &build{
			walker: w, library: library, root: w.made[root], top: top, dir: treeDir + "/" + root,
			fs: memory{filesys.MakeFsInMemory(), map[string]string{}}, rendered: map[string]object.Pos{},
		}
		if err := b.inflate(ctx, charts); err != nil {
			return component.Output{}, err
		}
		return b.run(ctx)
	}
}

// build is one run of the library.
type build struct {
	*walker
	library Library
	// root is the kustomization of the component, and top the kustomization of the fields over
	// it, nil without fields.
	root, top *kustomization
	// dir is the folder that is built.
	dir string
	fs  filesys.FileSystem
	// rendered are the places of charts, by the file with what they rendered to.
	rendered map[string]object.Pos
}

// run builds the kustomization, and returns its objects with their places and with warnings.
func (b *build) run(ctx context.Context) (component.Output, error) {
	// The library reads from memory only.
	for name, data := range b.files {
		if err := b.fs.WriteFile(treeDir+"/"+name, data); err != nil {
			return component.Output{}, fmt.Errorf("write %q into memory: %w", name, err)
		}
	}

	// Fields of the component are a kustomization above the kustomization of the author.
	outermost := b.root
	if b.top != nil {
		outermost = b.top
		b.dir = topDir
		b.layOver()
	}

	// A mark in the annotations tells where an object comes from.
	plain := outermost.types.BuildMetadata
	traced := append(slices.Clone(plain), types.OriginAnnotations)
	if slices.Contains(plain, types.OriginAnnotations) {
		traced = plain
	}

	// Without the mark the objects are exact, if annotations may change them.
	results, err := b.runKustomize(ctx, traced)
	if err == nil && b.touchesAnnotations() && len(traced) > len(plain) {
		var exact []Result
		exact, err = b.runKustomize(ctx, plain)
		results = withOrigins(exact, results)
	} else if err != nil && b.touchesAnnotations() {
		results, err = b.runKustomize(ctx, plain)
	}

	// A mistake is explained with the files of the user.
	switch {
	case ctx.Err() != nil:
		return component.Output{}, ctx.Err()
	case err != nil:
		return component.Output{}, b.explain(err)
	}

	// Each object has the place that it comes from.
	b.warnOfUnused(results)
	objects := make([]component.Object, 0, len(results))
	places := b.places()
	for _, r := range results {
		objects = append(objects, component.Object{Object: r.Object, Pos: places.of(r)})
	}
	return component.Output{Objects: objects, Warnings: b.warnings.Sorted()}, nil
}

// layOver makes the kustomization of the fields of the component.
func (b *build) layOver() {
	t := &b.top.types
	at := relative("top", strings.TrimPrefix(treeDir, "/")+"/"+b.top.dir)
	move := func(ref *string) {
		if *ref != "" {
			*ref = path.Join(at, *ref)
		}
	}
	for i := range t.Components {
		move(&t.Components[i])
	}
	for i := range t.Patches {
		move(&t.Patches[i].Path)
	}
	for i := range t.Replacements {
		move(&t.Replacements[i].Path)
	}
	t.Resources = []string{relative("top", strings.TrimPrefix(b.dirOf(b.root), "/"))}
	t.BuildMetadata = b.root.types.BuildMetadata
	t.SortOptions = b.root.types.SortOptions
	t.OpenAPI = nil
}

func (b *build) dirOf(k *kustomization) string { return path.Join(treeDir, k.dir) }

// runKustomize runs kustomize with that buildMetadata at the top.
func (b *build) runKustomize(ctx context.Context, metadata []string) ([]Result, error) {
	for _, k := range b.made {
		t := k.types
		if k == b.root {
			t.BuildMetadata = metadata
		}
		if err := b.write(path.Join(treeDir, k.name), t); err != nil {
			return nil, err
		}
	}
	if b.top != nil {
		b.top.types.BuildMetadata = metadata
		if err := b.write(topDir+"/kustomization.yaml", b.top.types); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	origins := slices.Contains(b.root.types.BuildMetadata, types.OriginAnnotations)
	out, err := b.library.Build(Run{Files: b.fs, Dir: b.dir, Origins: origins, Schema: b.hasSchema()})
	b.warnOfUnusedVars(out.Unused)
	b.nameOrigins(out)
	return out.Results, err
}

// release is the release of kustomize that has this version of the library.
const release = "v5.8.2"

// nameOrigins sets the label of what built an object to kustomize of that release, and the
// annotations of where it comes from to the folder of the author instead of the folder in memory.
func (b *build) nameOrigins(built Built) {
	if len(b.root.types.BuildMetadata) == 0 {
		return
	}
	for _, r := range built.Results {
		meta, _ := r.Object["metadata"].(map[string]any)
		if labels, ok := meta["labels"].(map[string]any); ok && labels[konfig.ManagedbyLabelKey] == built.ManagedBy {
			labels[konfig.ManagedbyLabelKey] = "kustomize-" + release
		}
		annotations, _ := meta["annotations"].(map[string]any)
		for _, name := range []string{"config.kubernetes.io/origin", "alpha.config.kubernetes.io/transformations"} {
			if text, ok := annotations[name].(string); ok && b.top != nil {
				annotations[name] = strings.ReplaceAll(text, ".."+treeDir+"/", "../")
			}
		}
	}
}

// hasSchema reports whether a kustomization brings a schema of its own.
func (b *build) hasSchema() bool {
	for _, k := range b.made {
		if len(k.types.OpenAPI) > 0 {
			return true
		}
	}
	return false
}

// write writes a kustomization into memory.
func (b *build) write(name string, k types.Kustomization) error {
	data, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("write %q: %w", name, err)
	}
	return b.fs.WriteFile(name, data)
}

// warnOfUnusedVars warns of vars at the fields of the user that declare some.
func (b *build) warnOfUnusedVars(names []string) {
	if len(names) == 0 {
		return
	}
	for _, k := range b.made {
		if _, ok := k.value.Get("vars"); ok && k.repository == "." {
			b.warn(k, object.Fields("vars"), "", "never used: %s", strings.Join(names, ", "))
		}
	}
}

// touchesAnnotations reports whether a mark in the annotations could change the objects.
func (b *build) touchesAnnotations() bool {
	for _, docs := range b.docs {
		if slices.ContainsFunc(docs, func(d document) bool { return d.odd }) {
			return true
		}
	}
	risky := func(data []byte) bool {
		return slices.ContainsFunc([]string{"/annotations", ".annotations", "annotationSelector"}, func(s string) bool { return bytes.Contains(data, []byte(s)) })
	}
	for name := range b.rules {
		if risky(b.files[name]) {
			return true
		}
	}
	return b.top != nil && risky(b.top.value.JSON())
}
