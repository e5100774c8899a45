// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package snapshot describes a render, or a directory of manifests, in the form that
// render/diff compares, and traces the differences to the lines of specs.
//
// A render and its files give equal snapshots in every dialect, so that a render can be
// compared with an artifact. It prints nothing; it reads only the file systems that it is
// given.
package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Known are the files that were read for one render, by their paths: most of those of
// another render of the project are the same, and are not read again. It is not safe for
// concurrent use; nil knows none.
type Known map[string]known

type known struct {
	data    []byte
	objects []located
}

// objectsOf returns the objects of a file that may be known already.
func (k Known) objectsOf(ctx context.Context, name string, data []byte) ([]located, error) {
	if f, ok := k[name]; ok && bytes.Equal(f.data, data) {
		return f.objects, nil
	}
	objects, err := objectsOf(ctx, name, data)
	if k != nil && err == nil {
		k[name] = known{data, objects}
	}
	return objects, err
}

// OfRender returns the snapshot of a render. Its objects are those of the files, not those of the
// graph, so that what the dialect adds is compared too. Snapshots with the same known files share
// objects. It ends with the context.
func OfRender(ctx context.Context, name string, result render.Result, files Known) (diff.Snapshot, error) {
	out := diff.Snapshot{Name: name, Rendered: true, Dialect: result.Plan.Dialect.Name}
	layers := layersOf(result)
	nodes := map[object.ID]*object.Node{}
	for _, n := range result.Plan.Graph.Nodes {
		nodes[n.ID] = n
	}

	// Each file has the object of one node, or a List of them.
	for _, f := range result.Files {
		n := nodes[f.Node]
		if n == nil {
			continue // Written for the engine itself.
		}
		objects, err := files.objectsOf(ctx, f.Path, f.Data)
		if err != nil {
			return diff.Snapshot{}, err
		}
		// All items of a List have its position.
		if len(objects) == 0 || objects[0].pos != objects[len(objects)-1].pos {
			return diff.Snapshot{}, fmt.Errorf("%s: expected one document, the object of node %s", f.Path, n.ID)
		}

		// The node knows how and from where the object is applied.
		apply := n.Apply.WithDefaults(n.Object.Ref())
		at := n.SpecPos
		if at.Line == 0 && n.Pos.IsValid() { // The spec is a folder.
			at = n.Pos
		}
		for _, o := range objects {
			out.Items = append(out.Items, diff.Item{
				Object: o.object, At: o.pos, Node: n.ID, Wave: f.Wave, Layer: layers[f.Wave], Pos: at,
				Kept: apply.Prune != nil && !*apply.Prune, Forced: apply.Mode == object.ModeForce,
			})
		}
	}
	return out, nil
}

// layersOf returns the names of the barrier layers by wave.
func layersOf(result render.Result) map[int]string {
	out := map[int]string{}
	for _, l := range result.Layers {
		for _, w := range l.Waves {
			out[w] = l.Name
		}
	}
	return out
}

// OfFiles returns the snapshot of a directory of manifests, or of the files of an artifact. The
// dialect is that of graph, the document of a plan, if there is one. Waves come from graph, then
// from the annotations for Argo CD, then from names of files as a render writes them. An object
// without any of these has the wave diff.NoWave. The files may hold as many values as a render
// may.
func OfFiles(ctx context.Context, name string, fsys fs.FS, graph []byte) (diff.Snapshot, error) {
	return readSnapshot(ctx, name, fsys, graph, isManifest)
}

// OfFile returns the snapshot of the manifests of one file, whatever its name ends in.
func OfFile(ctx context.Context, name string, data []byte) (diff.Snapshot, error) {
	files, err := memfs.New(map[string][]byte{path.Base(filepath.ToSlash(name)): data})
	if err != nil {
		return diff.Snapshot{}, err
	}
	out, err := readSnapshot(ctx, name, files, nil, func(string) bool { return true })
	if err == nil && len(out.Items) == 0 && len(bytes.TrimSpace(data)) > 0 {
		err = fmt.Errorf("%s: the file holds no object", name)
	}
	return out, err
}

// readSnapshot reads the files of a snapshot that isRead chooses.
func readSnapshot(ctx context.Context, name string, fsys fs.FS, graph []byte, isRead func(file string) bool) (diff.Snapshot, error) {
	out := diff.Snapshot{Name: name}

	// The plan knows nodes and waves of its objects.
	document, err := planOf(graph)
	if err != nil {
		return out, err
	}
	known := map[object.Ref]order.NodeDocument{}
	for _, n := range document.Nodes {
		known[n.Object] = n
	}
	out.Dialect = document.Engine
	values := 0

	// Files are read until they hold more than a render may.
	err = fs.WalkDir(fsys, ".", func(file string, e fs.DirEntry, err error) error {
		if err := cmp.Or(err, ctx.Err()); err != nil || e.IsDir() || !isRead(file) {
			return err
		}
		data, err := project.ReadManifests(fsys, file)
		if err != nil {
			return err
		}
		values += spec.Values(data)
		if values > evaluate.DefaultValues {
			return fmt.Errorf("%s: %w: the files up to this one hold more than %d values (no flag raises it)", file, evaluate.ErrLimit, evaluate.DefaultValues)
		}
		objects, err := objectsOf(ctx, file, data)
		for _, o := range objects {
			i := diff.Item{Object: o.object, At: o.pos, Wave: waveOf(o.object, file), Delivers: delivers(file, o.object)}
			if n, ok := known[o.object.Ref()]; ok {
				i.Node = n.ID
				i.Wave = n.Wave
				i.Pos = n.Spec
			}
			out.Items = append(out.Items, i)
		}
		return err
	})
	return out, err
}

// delivers reports whether an object is one of those by which Flux applies a render, in the folder
// where emit writes them.
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

// isManifest reports whether a file is read as manifests.
func isManifest(file string) bool {
	return project.IsDocument(file) && !strings.HasPrefix(path.Base(file), ".")
}

// planOf decodes the document of a plan, as far as a comparison needs it.
func planOf(graph []byte) (order.Document, error) {
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

// waveOf returns the wave in the annotation of an object, or in the name of its file.
func waveOf(o object.Object, file string) int {
	text, ok := o.Annotations()[dialect.ArgoSyncWave]
	if !ok {
		text, _, _ = strings.Cut(path.Base(file), "-") // A file of a render has none below 0.
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return diff.NoWave
}

// located is an object with the position of its document.
type located struct {
	object object.Object
	pos    object.Pos
}

// objectsOf returns the objects of a file of manifests, those of a List one by one.
func objectsOf(ctx context.Context, name string, data []byte) ([]located, error) {
	manifests, err := spec.ParseManifests(spec.File{Name: name, Data: data}.Until(ctx), project.MaxManifests)
	if err != nil {
		return nil, err
	}

	// Empty documents are no objects.
	var out []located
	for _, m := range manifests {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if m.Value.Kind == object.KindNone || m.Value.Kind == object.KindNull {
			continue
		}
		o, err := object.Decode(m.Value.JSON())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Pos, err)
		}

		// A List has several objects.
		below, mistake := o.Expand()
		if mistake != nil {
			mistake.Stage = object.StageCheck
			mistake.Pos = m.Pos
			return nil, object.Errors{mistake}
		}
		for _, o := range below {
			if o.Kind() == "" || o.APIVersion() == "" || o.Name() == "" {
				return nil, fmt.Errorf("%s: not a manifest: expected apiVersion, kind and metadata.name", m.Pos)
			}
			out = append(out, located{object: o, pos: m.Pos})
		}
	}
	return out, nil
}
