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

// PostRender lays the kustomizations of a chart over its objects, one after the other, as
// postRenderers of a HelmRelease do. Hooks, and CRDs in a phase of their own, stay as they are: Helm
// gives a post-renderer the objects of the templates. The argument kustomize is the engine.
func PostRender(ctx context.Context, kustomize Engine, req Request, output Output) (Output, error) {
	for i, fields := range req.Component.Helm.PostRenderers {
		if kustomize == nil {
			return output, object.Errors{Fail(fields.Pos, postRenderer(req, i), "", "%w", ErrNoEngine)}
		}
		var err error
		output, err = postRender(ctx, kustomize, req, output, i)
		if err != nil {
			return output, err
		}
	}
	return output, nil
}

// postRenderer returns the path of a post-renderer.
func postRenderer(req Request, i int) object.Path {
	return req.Component.Path.Append(object.Field("postRenderers"), object.Index(i), object.Field("kustomize"))
}

// postRender lays one kustomization over the objects of a chart.
func postRender(ctx context.Context, kustomize Engine, req Request, output Output, i int) (Output, error) {
	// The objects of the templates are the resources of the kustomization.
	fields := req.Component.Helm.PostRenderers[i]
	byRef := map[object.Ref]Object{}
	var text bytes.Buffer
	first := -1
	var others []Object
	for _, item := range output.Objects {
		if item.Phase != 0 {
			others = append(others, item)
			continue
		}
		if first < 0 {
			first = len(others)
		}
		data, err := json.Marshal(item.Object)
		if err != nil {
			return output, fmt.Errorf("post-render %s: %w", item.Object.Ref(), err)
		}
		text.WriteString("---\n")
		text.Write(data)
		text.WriteString("\n")
		objectsOf, _ := item.Object.Expand() // What is wrong with a List is found when nodes are made of it.
		for _, o := range objectsOf {
			byRef[o.Ref()] = item
		}
	}
	if first < 0 {
		return output, nil
	}
	files, err := memfs.New(map[string][]byte{"kustomization.yaml": []byte("resources: [objects.yaml]\n"), "objects.yaml": text.Bytes()})
	if err != nil {
		return output, err
	}

	// Mistakes are in the fields, which have places of their own.
	built, err := kustomize(ctx, Request{
		Name: req.Name, FS: files, Dir: ".", Context: req.Context, At: func(string, int, int) object.Pos { return fields.Pos },
		Component: spec.Component{Pos: fields.Pos, Path: postRenderer(req, i), Kustomize: &spec.Kustomize{Path: spec.Text{Text: ".", Pos: fields.Pos}, Fields: fields}},
	})
	if err != nil {
		return output, err
	}

	// Each object keeps what is known of it, by its name. An object with another name is new.
	objects := make([]Object, 0, len(built.Objects))
	for _, item := range built.Objects {
		if was, ok := byRef[item.Object.Ref()]; ok {
			was.Object = item.Object
			item = was
		}
		objects = append(objects, item)
	}
	output.Objects = append(append(others[:first:first], objects...), others[first:]...)
	output.Warnings = append(output.Warnings, built.Warnings...).Sorted()
	return output, nil
}
