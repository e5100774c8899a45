// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host/output"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
	"github.com/ropewalk/ropewalk/render/spec"
)

// maxManifests is how large one file of manifests may be, in bytes.
const maxManifests = 64 << 20

// RenderSide is a render as one side of a comparison. Where an object has
// a node, the objects of the files are compared and not those of the graph, so
// that what the dialect adds is seen too.
func RenderSide(name string, result render.Result) (diff.Snapshot, error) {
	side := diff.Snapshot{Name: name, Rendered: true, Dialect: result.Plan.Dialect.Name}
	layers, nodes := layersOf(result), map[object.ID]*object.Node{}
	for _, n := range result.Plan.Graph.Nodes {
		nodes[n.ID] = n
	}
	for _, f := range result.Files {
		n := nodes[f.Node]
		if n == nil {
			continue // It is written for the engine itself.
		}
		objects, err := objectsOf(f.Path, f.Data)
		if err != nil {
			return diff.Snapshot{}, err
		}
		apply := n.Apply.WithDefaults(n.Object.Ref())
		for _, o := range objects {
			side.Items = append(side.Items, diff.Item{
				Object: o.object, At: o.at, Node: n.ID, Wave: f.Wave, Layer: layers[f.Wave], Pos: n.SpecPos,
				Kept: apply.Prune != nil && !*apply.Prune, Forced: apply.Mode == object.ModeForce,
			})
		}
	}
	return side, nil
}

// layersOf are the names of the barrier layers by wave.
func layersOf(result render.Result) map[int]string {
	out := map[int]string{}
	for _, l := range result.Layers {
		for _, w := range l.Waves {
			out[w] = l.Name
		}
	}
	return out
}

// FilesSide is a directory of manifests, or the files of an artifact, as one
// side of a comparison. The dialect is that of graph, the document of a plan,
// where there is one. Waves come from graph, then from the annotations for Argo
// CD, then from names of files as we write them; else nobody knows.
func FilesSide(name string, fsys fs.FS, graph []byte) (diff.Snapshot, error) {
	side := diff.Snapshot{Name: name}
	document, err := documented(graph)
	if err != nil {
		return side, err
	}
	known := map[object.Ref]order.NodeDocument{}
	for _, n := range document.Nodes {
		known[n.Object] = n
	}
	side.Dialect = document.Engine
	err = fs.WalkDir(fsys, ".", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !isManifest(file) {
			return err
		}
		data, err := readManifests(fsys, file)
		if err != nil {
			return err
		}
		objects, err := objectsOf(file, data)
		for _, o := range objects {
			i := diff.Item{Object: o.object, At: o.at, Wave: waveOf(o.object, file), Delivers: delivers(file, o.object)}
			if n, ok := known[o.object.Ref()]; ok {
				i.Node, i.Wave, i.Pos = n.ID, n.Wave, n.Spec
			}
			side.Items = append(side.Items, i)
		}
		return err
	})
	return side, err
}

// delivers reports whether an object is one of those by which Flux applies
// a render, in the folder where emit writes them.
func delivers(file string, o object.Object) bool {
	if path.Base(path.Dir(file)) != emit.DeliveryDir {
		return false
	}
	switch o.Ref().GroupKind() {
	case "OCIRepository.source.toolkit.fluxcd.io", "Kustomization.kustomize.toolkit.fluxcd.io":
		return true
	}
	return false
}

func isManifest(file string) bool {
	return isDocument(file) && !strings.HasPrefix(path.Base(file), ".")
}

// readManifests reads a regular file that is not too large, or what a link
// leads to.
func readManifests(fsys fs.FS, file string) ([]byte, error) {
	// A pipe must not be waited for.
	info, err := fs.Stat(fsys, file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, plain(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: is no regular file", file)
	case info.Size() > maxManifests:
		return nil, fmt.Errorf("%s: it has %d bytes, and at most %d are read", file, info.Size(), int64(maxManifests))
	}
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, plain(err))
	}
	return data, nil
}

// documented is the document of a plan, as far as a comparison needs it.
func documented(graph []byte) (order.Document, error) {
	var d struct {
		Engine dialect.Name         `json:"engine"`
		Nodes  []order.NodeDocument `json:"nodes"`
	}
	if len(graph) > 0 {
		if err := json.Unmarshal(graph, &d); err != nil {
			return order.Document{}, fmt.Errorf("the graph cannot be read: %w", err)
		}
	}
	return order.Document{Engine: d.Engine, Nodes: d.Nodes}, nil
}

// waveOf is the wave that an object says, or that its file is named after.
func waveOf(o object.Object, file string) int {
	text, ok := o.Annotations()[dialect.ArgoSyncWave]
	if !ok {
		text, _, _ = strings.Cut(path.Base(file), "-")
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return n
	}
	return diff.NoWave
}

// placed is an object with the place of its document.
type placed struct {
	object object.Object
	at     object.Pos
}

// objectsOf are the objects of a file of manifests; those of a List stand for
// themselves.
func objectsOf(name string, data []byte) ([]placed, error) {
	manifests, err := spec.ParseManifests(spec.File{Name: name, Data: data}, maxManifests)
	if err != nil {
		return nil, err
	}
	var out []placed
	for _, m := range manifests {
		if m.Value.Kind == object.KindNone || m.Value.Kind == object.KindNull {
			continue
		}
		o, err := object.Decode(m.Value.JSON())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Pos, err)
		}
		all := []any{map[string]any(o)}
		if items, ok := o["items"].([]any); ok && strings.HasSuffix(o.Kind(), "List") {
			all = items
		}
		for _, v := range all {
			fields, _ := v.(map[string]any)
			o := object.Object(fields)
			if o.Kind() == "" || o.APIVersion() == "" || o.Name() == "" {
				return nil, fmt.Errorf("%s: no manifest: expected apiVersion, kind and metadata.name", m.Pos)
			}
			out = append(out, placed{object: o, at: m.Pos})
		}
	}
	return out, nil
}

// maxTraced is how many fields of one spec are traced: a trace costs about as
// much as an evaluation.
const maxTraced = 500

// TraceChanges puts into a report the lines of the user's own text that the fields of
// the later side come from, as far as they are known; req is the request of that side.
func TraceChanges(ctx context.Context, evaluator evaluate.Evaluator, req render.Request, report *diff.Report) error {
	var queries []evaluate.Query
	var fields []*diff.Field
	traced := map[string]int{}
	for i := range report.Changes {
		c := &report.Changes[i]
		if c.Node == "" || c.Kind == diff.Deleted {
			continue
		}
		for j := range c.Fields {
			if f := &c.Fields[j]; f.After != nil && traced[c.Node.Spec()] < maxTraced {
				traced[c.Node.Spec()]++
				fields = append(fields, f)
				queries = append(queries, evaluate.Query{Node: c.Node, Path: f.At})
			}
		}
	}
	if len(queries) == 0 {
		return nil
	}
	// Where a value comes from is an extra: only a cancelled context is an error.
	origins, err := render.Renderer{Evaluator: evaluator}.Trace(ctx, req, queries)
	if errors.Is(err, context.Canceled) {
		return err
	}
	for i, o := range origins {
		at := o.Input
		if !at.IsValid() {
			at = o.Module
		}
		fields[i].Pos = at
		if at.IsValid() {
			fields[i].From = at.String()
		}
	}
	return nil
}

// saysSpec reports whether a file has a document of ours or a Score file, in
// YAML or in JSON. Annotations of ours have no version behind the group.
func saysSpec(data []byte) bool {
	return slices.ContainsFunc([]string{"ropewalk.dev/v1", "score.dev/v1", "score.sh/v1"}, func(text string) bool {
		return bytes.Contains(data, []byte(text))
	})
}

// HoldsSpecs reports whether a render takes a file or a directory: one with specs, a
// project, or a folder that is itself a CUE package, and a part of CUE, so that the
// render says what to name instead. A directory that we wrote a render to holds
// manifests, and so does any other without a document of ours.
func HoldsSpecs(name string) (bool, error) {
	info, err := os.Stat(name)
	if err != nil {
		return false, err
	}
	if !info.IsDir() {
		if path.Ext(name) == ".cue" {
			return true, nil
		}
		data, err := readManifests(os.DirFS(filepath.Dir(name)), filepath.Base(name))
		return saysSpec(data), err
	}
	for _, marker := range []string{output.MarkerFile, spec.ProjectFile} {
		if _, err := os.Lstat(filepath.Join(name, marker)); err == nil {
			return marker == spec.ProjectFile, nil
		}
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return false, err
	}
	cue := holdsCUE(entries)
	if cue == holdsPackage {
		return true, nil
	}
	specs, manifests, err := searchSpecs(os.DirFS(name))
	// A module without a package here is no empty directory of manifests.
	return specs || cue == holdsModule && !manifests, err
}

// searchSpecs reports whether any document in a directory is one of ours, and
// whether there is any.
func searchSpecs(dir fs.FS) (specs, documents bool, err error) {
	err = fs.WalkDir(dir, ".", func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (file != "." && strings.HasPrefix(e.Name(), ".") || e.Name() == "cue.mod" || e.Name() == "node_modules"):
			return fs.SkipDir
		case e.IsDir() || !isDocument(file):
			return nil
		}
		documents = true
		data, err := readManifests(dir, file)
		if err == nil && saysSpec(data) {
			specs = true
			return fs.SkipAll
		}
		return err
	})
	return specs, documents, err
}
