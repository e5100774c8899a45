// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provenance"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
)

// The folders of a build: that of the files, and that of the fields laid over them.
const (
	treeDir = "/t"
	topDir  = "/top"
)

// New makes the engine; charts renders those of helmCharts, which are refused where it is nil.
func New(charts Charts) component.Engine {
	return func(ctx context.Context, req component.Request) (component.Output, error) {
		w := newWalker(req.FS, *req.Component.Kustomize, req.At)
		top, root := w.all(req.Dir, req.Component)
		w.exposed(top)
		for _, r := range w.remotes {
			w.errs = append(w.errs, component.Fail(r.Pos, nil, "", "what %q refers to was not fetched", r.URL))
		}
		for _, c := range w.charts {
			w.errs = append(w.errs, component.Fail(c.Pos, nil, "", "chart %q of %q was not fetched", c.Name, c.Repo))
		}
		if err := w.errs.Sorted().Err(); err != nil {
			return component.Output{}, err
		}
		b := &build{walker: w, root: w.made[root], top: top, dir: treeDir + "/" + root, fs: memory{filesys.MakeFsInMemory(), map[string]string{}}, rendered: map[string]object.Pos{}}
		if err := b.inflate(ctx, charts); err != nil {
			return component.Output{}, err
		}
		return b.run(ctx)
	}
}

// build is one run of the library.
type build struct {
	*walker
	// root is the kustomization of the component, and top that of the fields over it, nil
	// where there are none.
	root, top *kustomization
	// dir is the folder that is built.
	dir string
	fs  filesys.FileSystem
	// rendered are the places of charts, by the file with what they rendered to.
	rendered map[string]object.Pos
}

func (b *build) run(ctx context.Context) (component.Output, error) {
	for name, data := range b.files {
		if err := b.fs.WriteFile(treeDir+"/"+name, data); err != nil {
			return component.Output{}, fmt.Errorf("write %q into memory: %w", name, err)
		}
	}
	first := b.root
	if b.top != nil {
		first, b.dir = b.top, topDir
		b.overlay()
	}
	plain := first.types.BuildMetadata
	traced := append(slices.Clone(plain), types.OriginAnnotations)
	if slices.Contains(plain, types.OriginAnnotations) {
		traced = plain
	}
	out, err := b.library(ctx, traced)
	if err == nil && b.touchesAnnotations() && len(traced) > len(plain) {
		var exact []result
		exact, err = b.library(ctx, plain)
		out = placed(exact, out)
	} else if err != nil && b.touchesAnnotations() {
		out, err = b.library(ctx, plain)
	}
	switch {
	case ctx.Err() != nil:
		return component.Output{}, ctx.Err()
	case err != nil:
		return component.Output{}, b.explain(err)
	}
	b.unused(out)
	objects := make([]component.Object, 0, len(out))
	places := b.places()
	for _, r := range out {
		objects = append(objects, component.Object{Object: r.object, Pos: places.of(r)})
	}
	return component.Output{Objects: objects, Warnings: b.warnings.Sorted()}, nil
}

// overlay makes the kustomization of the fields of the component.
func (b *build) overlay() {
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
	t.BuildMetadata, t.SortOptions, t.OpenAPI = b.root.types.BuildMetadata, b.root.types.SortOptions, nil
}

func (b *build) dirOf(k *kustomization) string { return path.Join(treeDir, k.dir) }

// library runs kustomize with that buildMetadata at the top.
func (b *build) library(ctx context.Context, metadata []string) (out []result, err error) {
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
	select {
	case running <- struct{}{}:
		defer func() { <-running }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer b.quiet()()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("kustomize crashed: %v", p)
		}
	}()
	// The schema of a build is that of the next one as well, unless it is taken away.
	if b.schema() {
		defer openapi.ResetOpenAPI()
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified
	// What may be loaded was decided above, at the lines that load it.
	options.LoadRestrictions = types.LoadRestrictionsNone
	m, err := krusty.MakeKustomizer(options).Run(b.fs, b.dir)
	if err != nil {
		return nil, err
	}
	out, err = results(m, slices.Contains(b.root.types.BuildMetadata, types.OriginAnnotations))
	b.named(out)
	return out, err
}

// release is that of the kustomize that has this version of the library.
const release = "v5.8.2"

// named has the label of who built an object name that release in place of ours, and the
// annotations of where it comes from the folder of the author in place of that in memory.
func (b *build) named(out []result) {
	if len(b.root.types.BuildMetadata) == 0 {
		return
	}
	ours := "kustomize-" + provenance.GetProvenance().Semver()
	for _, r := range out {
		meta, _ := r.object["metadata"].(map[string]any)
		if labels, ok := meta["labels"].(map[string]any); ok && labels[konfig.ManagedbyLabelKey] == ours {
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

// schema reports whether a kustomization brings a schema of its own.
func (b *build) schema() bool {
	for _, k := range b.made {
		if len(k.types.OpenAPI) > 0 {
			return true
		}
	}
	return false
}

func (b *build) write(name string, k types.Kustomization) error {
	data, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("write %q: %w", name, err)
	}
	return b.fs.WriteFile(name, data)
}

// running is held while the library runs: it keeps the schema of a build in a variable.
var running = make(chan struct{}, 1) //nolint:gochecknoglobals // It guards variables of a library.

// quiet keeps to itself what the library prints, until the caller calls back. It writes to the
// logger of the process, and of deprecated fields to its stderr, which nothing else can avert.
func (b *build) quiet() (loud func()) {
	before, stderr := log.Writer(), os.Stderr
	log.SetOutput(&filter{next: before, build: b})
	if discard, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil && len(b.warnings) > 0 {
		os.Stderr = discard
		defer func(f *os.File) { loud = closing(loud, f) }(discard)
	}
	return func() {
		log.SetOutput(before)
		os.Stderr = stderr
	}
}

func closing(first func(), f *os.File) func() {
	return func() {
		first()
		_ = f.Close()
	}
}

// filter makes warnings of what the library logs, and passes on what others do.
type filter struct {
	next  io.Writer
	build *build
}

func (f *filter) Write(p []byte) (int, error) {
	if dies() {
		panic("it gave up: " + string(p))
	}
	_, text, ok := bytes.Cut(p, []byte("well-defined vars that were never replaced: "))
	if !ok {
		return f.next.Write(p)
	}
	names := strings.Split(strings.TrimSpace(string(text)), ",")
	slices.Sort(names) // They come out of a map.
	for _, k := range f.build.made {
		if _, ok := k.value.Get("vars"); !ok || k.in != "." {
			continue
		}
		e := component.Fail(f.build.pos(k, object.Fields("vars")), object.Fields("vars"), "", "never used: %s", strings.Join(names, ", "))
		e.Severity = object.SeverityWarning
		f.build.warnings = append(f.build.warnings, e)
	}
	return len(p), nil
}

// dies reports whether the library is about to end the process: what it cannot write as JSON
// is fatal in some places.
func dies() bool {
	pcs := make([]uintptr, maxDepth)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for fatal := false; ; {
		f, more := frames.Next()
		fatal = fatal || strings.HasPrefix(f.Function, "log.Fatal")
		if fatal && strings.HasPrefix(f.Function, "sigs.k8s.io/kustomize/") {
			return true
		}
		if !more {
			return false
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

// results are the objects of a build, with the annotations of their origin if the author wants
// them.
func results(m resmap.ResMap, keep bool) ([]result, error) {
	out := make([]result, 0, m.Size())
	for _, r := range m.Resources() {
		origin, err := r.GetOrigin()
		if err != nil {
			return nil, err
		}
		out = append(out, result{origin: origin})
	}
	if !keep {
		if err := m.RemoveOriginAnnotations(); err != nil {
			return nil, err
		}
	}
	for i, r := range m.Resources() {
		data, err := r.MarshalJSON()
		if err != nil {
			return nil, err
		}
		if out[i].object, err = object.Decode(data); err != nil {
			return nil, err
		}
	}
	return out, nil
}
