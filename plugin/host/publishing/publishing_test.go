// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publishing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/publishing"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload"
)

func TestFilesOfARenderArePacked(t *testing.T) {
	one := []emit.Layer{{Name: "shop-1", Dir: "layer-1"}}
	two := append(one, emit.Layer{Name: "shop-2", Dir: "layer-2"})
	files := []emit.File{{Path: "layer-1/db.yaml", Data: []byte("a")}, {Path: "layer-2/web.yaml", Data: []byte("b")}}
	for name, c := range map[string]struct {
		files  []emit.File
		layers []emit.Layer
		opts   artifact.Options
		want   []string
	}{
		"a layer of each folder":         {files, two, artifact.Options{}, []string{"shop-1", "shop-2"}},
		"the only layer is the render":   {files[:1], one, artifact.Options{}, nil},
		"folders take the place of them": {files, two, artifact.Options{Folders: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := publishing.Pack(c.files, c.layers, c.opts)
			require.NoError(t, err)
			require.Equal(t, len(c.files), set.Complete.Files)
			var names []string
			for _, l := range set.Layers {
				names = append(names, l.Name)
			}
			require.Equal(t, c.want, names)
		})
	}
	twice := []emit.File{{Path: "layer-1/web.yaml"}, {Path: "layer-2/web.yaml"}}
	_, err := publishing.Pack(twice, two, artifact.Options{})
	require.ErrorContains(t, err, `two files are named "web.yaml"`)
	_, err = publishing.Pack(twice, two, artifact.Options{Folders: true})
	require.NoError(t, err, "folders tell them apart")
}

func TestImagesOfObjects(t *testing.T) {
	image := func(name string) map[string]any { return map[string]any{"image": name} }
	pod := map[string]any{
		"initContainers": []any{image("init")}, "containers": []any{image("web"), image("web"), image(""), "none"},
		"ephemeralContainers": []any{image("debug")}, "volumes": []any{map[string]any{"image": map[string]any{"reference": "data"}}, map[string]any{}},
	}
	template := map[string]any{"template": map[string]any{"spec": pod}}
	want := []string{"data", "debug", "init", "web"}
	for kind, o := range map[string]object.Object{
		"Pod": {"spec": pod}, "Deployment": {"spec": template}, "CronJob": {"spec": map[string]any{"jobTemplate": map[string]any{"spec": template}}}, "PodTemplate": template,
	} {
		require.Equal(t, want, publishing.Images([]*object.Node{{Object: o}}), kind)
	}
	require.Equal(t, []string{}, publishing.Images([]*object.Node{{Object: object.Object{"kind": "Service"}}}), "an SBOM without images is one")
}

// Builds have the same inputs where all that a render reads is the same, and hold no value of it.
func TestTheProvenanceOfABuildDependsOnItsInputs(t *testing.T) {
	build := func(change func(*render.Spec)) (inputs, variables string) {
		s := render.Spec{Workload: &workload.Source{Files: map[string][]byte{"a.ini": []byte("x")}, Variables: map[string]string{"PASSWORD": "hunter2"}}}
		s.Evaluate.Spec, s.Evaluate.Module.Tags = "web", map[string]string{"tier": "gold"}
		change(&s)
		b := publishing.BuildOf(host.Loaded{Name: "shop", Request: render.Request{Specs: []render.Spec{s}}}, nil, "v1")
		require.Equal(t, "shop", b.Project)
		return b.Inputs, b.Variables
	}
	inputs, variables := build(func(*render.Spec) {})
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", inputs)
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", variables)
	for name, change := range map[string]func(*render.Spec){
		"a file":             func(s *render.Spec) { s.Workload.Files["a.ini"] = []byte("y") },
		"the name of a file": func(s *render.Spec) { s.Workload.Files = map[string][]byte{"b.ini": []byte("x")} },
		"a variable":         func(s *render.Spec) { s.Workload.Variables["PASSWORD"] = "hunter3" },
		"a tag":              func(s *render.Spec) { s.Evaluate.Module.Tags["tier"] = "silver" },
		"the name of a spec": func(s *render.Spec) { s.Evaluate.Spec = "api" },
		"the input":          func(s *render.Spec) { s.Evaluate.Input = object.TextAt("x", object.Pos{}) },
	} {
		changed, of := build(change)
		require.NotEqual(t, inputs, changed, name)
		require.Equal(t, name != "a variable", of == variables, name)
	}
	_, none := build(func(s *render.Spec) { s.Workload = nil })
	require.Empty(t, none)
	require.Empty(t, publishing.BuildOf(host.Loaded{}, nil, "").Parameters)
	loosened := render.Spec{Loosened: []spec.PolicyOverride{{Policy: "owners", Action: "ignore", Reason: "https://a:hunter2@x"}}}
	loosened.Evaluate.Spec = "web"
	public := publishing.BuildOf(host.Loaded{Request: render.Request{Specs: []render.Spec{loosened}}}, nil, "").Parameters
	require.Contains(t, public["policyOverrides.web.owners"], "ignore: https://")
	require.NotContains(t, public["policyOverrides.web.owners"], "hunter2")
	require.Equal(t, "oci://a@sha256:b", publishing.BuildOf(host.Loaded{}, []render.Source{{Origin: "oci://a:v1", Pinned: "oci://a@sha256:b"}}, "").Sources[0].URI)
}
