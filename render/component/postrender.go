// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// PostRender lays the kustomizations of a chart over its objects, one after the other, as those of
// postRenderers of a HelmRelease. Hooks, and CRDs in a phase of their own, stay as they are: Helm
// gives a post-renderer the objects of the templates. The argument kustomize is the engine.
func PostRender(ctx context.Context, kustomize Engine, req Request, out Output) (Output, error) {
	for i, fields := range req.Component.Helm.PostRenderers {
		if kustomize == nil {
			return out, object.Errors{Fail(fields.Pos, postRenderer(req, i), "", "%w", ErrNoEngine)}
		}
		var err error
		out, err = postRender(ctx, kustomize, req, out, i)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// postRenderer returns the path of a post-renderer.
func postRenderer(req Request, i int) object.Path {
	return req.Component.Path.Append(object.Field("postRenderers"), object.Index(i), object.Field("kustomize"))
}

// postRender lays one kustomization over the objects of a chart.
func postRender(ctx context.Context, kustomize Engine, req Request, out Output, i int) (Output, error) {
	// The objects of the templates are the resources of the kustomization.
	fields := req.Component.Helm.PostRenderers[i]
	known := map[object.Ref]Object{}
	var text bytes.Buffer
	first := -1
	var others []Object
	for _, made := range out.Objects {
		if made.Phase != 0 {
			others = append(others, made)
			continue
		}
		if first < 0 {
			first = len(others)
		}
		data, err := json.Marshal(made.Object)
		if err != nil {
			return out, fmt.Errorf("post-render %s: %w", made.Object.Ref(), err)
		}
		text.WriteString("---\n")
		text.Write(data)
		text.WriteString("\n")
		below, _ := made.Object.Expand() // What is wrong with a List is found when nodes are made of it.
		for _, o := range below {
			known[o.Ref()] = made
		}
	}
	if first < 0 {
		return out, nil
	}
	files, err := memfs.New(map[string][]byte{"kustomization.yaml": []byte("resources: [objects.yaml]\n"), "objects.yaml": text.Bytes()})
	if err != nil {
		return out, err
	}

	// Mistakes are those of the fields, which have places of their own.
	built, err := kustomize(ctx, Request{
		Name: req.Name, FS: files, Dir: ".", Context: req.Context, At: func(string, int, int) object.Pos { return fields.Pos },
		Component: spec.Component{Pos: fields.Pos, Path: postRenderer(req, i), Kustomize: &spec.Kustomize{Path: spec.Text{Text: ".", Pos: fields.Pos}, Fields: fields}},
	})
	if err != nil {
		return out, err
	}

	// Each object keeps what is known of it, by its name. One with another name is new.
	objects := make([]Object, 0, len(built.Objects))
	for _, made := range built.Objects {
		if was, ok := known[made.Object.Ref()]; ok {
			was.Object = made.Object
			made = was
		}
		objects = append(objects, made)
	}
	out.Objects = append(append(others[:first:first], objects...), others[first:]...)
	out.Warnings = append(out.Warnings, built.Warnings...).Sorted()
	return out, nil
}
