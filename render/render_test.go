// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// web renders a Deployment with a port that the input computes, and a
// ConfigMap that the module alone writes.
const web = `package web

ropewalk: apiVersion: "v1alpha1"
#Input: {replicas: int | *1, image: string | *"nginx:1.29", portName: string | *"http"}
input: #Input
context: {name: string, namespace: string, ...}
graph: nodes: {
	config: object: {
		apiVersion: "v1", kind: "ConfigMap"
		metadata: {name: context.name, namespace: context.namespace}
	}
	deployment: object: {
		apiVersion: "apps/v1", kind: "Deployment"
		metadata: {name: context.name, namespace: context.namespace}
		spec: {
			replicas: input.replicas
			selector: matchLabels: app: context.name
			template: {
				metadata: labels: app: context.name
				spec: containers: [{
					name: "main", image: input.image
					ports: [{name: "\(input.portName)-main", containerPort: 8080}]
				}]
			}
		}
	}
}
`

// policy warns of images without a tag and refuses one replica.
const policy = `package policy

ropewalk: {apiVersion: "v1alpha1", kind: "Policy"}
subject: {...}
violations: [
	for id, o in subject.objects if o.kind == "Deployment" if o.spec.replicas < 2 {
		policy: "two", message: "one replica is none", object: id, path: "spec.replicas"
	},
	for id, o in subject.objects if o.kind == "Deployment" if o.spec.template.spec.containers[0].image !~ ":" {
		policy: "tag", severity: "warning", message: "the image has no tag", object: id, path: "spec.template.spec.containers[0].image"
	},
]
`

func module(label, text string) evaluate.Module {
	return evaluate.Module{
		FS:     fstest.MapFS{"m.cue": {Data: []byte(text)}},
		Digest: "sha256:" + label, Label: label,
	}
}

func input(t *testing.T, name, text string) object.Value {
	t.Helper()
	v, err := spec.ParseValue(spec.File{Name: name, Data: []byte(text)})
	require.NoError(t, err)
	return v
}

// transform is a spec of the module web with an input in a file of its own.
func transform(t *testing.T, name, text string) render.Spec {
	return render.Spec{
		Evaluate: evaluate.Request{
			Spec: name, Pos: object.Pos{File: name + ".yaml", Line: 1, Column: 1},
			Module: module("modules/web", web), Input: input(t, name+".yaml", text), InputPath: spec.Transform{}.InputPath(),
			Context: object.Context{Name: name, Namespace: "shop", Engine: "plain", KubeVersion: "1.36", ClusterDomain: "cluster.local"},
		},
		Source: render.Source{Spec: name, Digest: "sha256:web"},
	}
}

func renderer() render.Renderer {
	return render.Renderer{
		Evaluator: inprocess.New(inprocess.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}}),
		Schemas:   &check.Schemas{},
	}
}

func TestRenderGivesTheSameBytesForShuffledSpecs(t *testing.T) {
	specs := []render.Spec{transform(t, "a", "replicas: 2"), transform(t, "b", "{}"), transform(t, "c", "{}")}
	specs[0].DependsOn = []object.SpecDependency{{Name: "c"}}
	r := renderer()
	for _, dialect := range []dialect.Name{dialect.Plain, dialect.ArgoCD, dialect.Flux} {
		req := render.Request{Specs: specs, Emit: emit.Options{Dialect: dialect, Name: "shop"}}
		want, err := r.Render(t.Context(), req)
		require.NoError(t, err)
		require.Len(t, want.Plan.Waves, 2, "the Deployment of c must be ready before a")

		req.Specs, req.Parallel = slices.Clone(specs), 3
		slices.Reverse(req.Specs)
		got, err := renderer().Render(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, want.Files, got.Files)
		require.Equal(t, want.Sources, got.Sources)
	}
}

func TestObjectsHoldNoMoreValuesThanARenderMay(t *testing.T) {
	for most, good := range map[int]bool{30: false, 100: true} {
		specs := []render.Spec{transform(t, "a", "{}"), transform(t, "b", "{}"), transform(t, "c", "{}")}
		for i := range specs {
			specs[i].Evaluate.Limits.Values = most
		}
		_, err := renderer().Render(t.Context(), render.Request{Specs: specs, Parallel: 3})
		if good {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, evaluate.ErrLimit)
		require.ErrorContains(t, err, "the objects hold more than 30 values: split the render into several, or raise --max-values")
	}
}

func TestMistakesOfDifferentSpecsComeInOneRun(t *testing.T) {
	specs := []render.Spec{
		transform(t, "input", "a: 1"),
		transform(t, "computed", "image: nginx:1.29\nportName: much-too-long-a-name"),
		transform(t, "module", "{}"),
		transform(t, "unknown", "{}"),
		transform(t, "needs", "{}"),
	}
	specs[2].Evaluate.Module = module("modules/typo", strings.Replace(web, "kind: \"ConfigMap\"", "kind: \"ConfigMap\", dta: a: \"b\"", 1))
	specs[3].DependsOn = []object.SpecDependency{{Name: "nobody", Pos: object.Pos{File: "unknown.yaml", Line: 9}}}
	specs[4].DependsOn = []object.SpecDependency{{Name: "input"}, {Name: "lost"}}
	before := &object.Error{Stage: object.StageSpec, Pos: object.Pos{File: "a.yaml", Line: 1}, Err: errors.New("found before")}
	_, err := renderer().Render(t.Context(), render.Request{
		Specs: specs, Mistakes: object.Errors{before}, Broken: []string{"lost"},
	})
	var mistakes object.Errors
	require.ErrorAs(t, err, &mistakes)
	var at []string
	for _, e := range mistakes {
		at = append(at, e.Pos.String()+" "+string(e.Stage))
	}
	require.Equal(t, []string{
		"a.yaml:1 spec", "computed.yaml:2:11 check", "input.yaml:1:1 evaluate", "modules/typo/m.cue:9:40 check", "unknown.yaml:9 graph",
	}, at, mistakes.Error())
}

func TestPoliciesSpeakOfTheUsersLine(t *testing.T) {
	s := transform(t, "api", "image: nginx\nreplicas: 1")
	s.Evaluate.Policies = []evaluate.Policy{{Name: "baseline", Module: module("policies", policy)}}
	_, err := renderer().Render(t.Context(), render.Request{Specs: []render.Spec{s}})
	var mistakes object.Errors
	require.ErrorAs(t, err, &mistakes)
	require.Len(t, mistakes, 2)
	require.Equal(t, object.SeverityWarning, mistakes[0].Severity)
	require.Equal(t, "api.yaml:1:8", mistakes[0].Pos.String())
	require.Equal(t, "api.yaml:2:11", mistakes[1].Pos.String())
	require.Equal(t, "two", mistakes[1].Policy)
	require.Equal(t, "policies/m.cue", mistakes[1].Notes[len(mistakes[1].Notes)-1].Pos.File)
}

func TestStrictTakesWarningsAsErrors(t *testing.T) {
	s := transform(t, "api", "{image: nginx, replicas: 2}")
	s.Evaluate.Policies = []evaluate.Policy{{Name: "baseline", Module: module("policies", policy)}}
	req := render.Request{Specs: []render.Spec{s}}
	result, err := renderer().Render(t.Context(), req)
	require.NoError(t, err)
	require.Len(t, result.Warnings, 1)

	req.Strict = true
	_, err = renderer().Render(t.Context(), req)
	require.ErrorContains(t, err, "the image has no tag")
}

func TestSpecsDefaultTheAdoptionOfTheirNodes(t *testing.T) {
	s := transform(t, "api", "{}")
	s.Adopt = object.AdoptMirror
	result, err := renderer().Render(t.Context(), render.Request{Specs: []render.Spec{s}, Emit: emit.Options{Dialect: dialect.ArgoCD}})
	require.NoError(t, err)
	require.Empty(t, result.Files)
	require.Len(t, result.Warnings, 2, "each object that is left out is named")
}

func TestABrokenSchemaIsAMistakeOfNoSpec(t *testing.T) {
	crd := object.Object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "x"}}
	_, err := renderer().Render(t.Context(), render.Request{
		Specs: []render.Spec{transform(t, "api", "{}")}, CRDs: []object.Object{crd},
	})
	require.ErrorContains(t, err, "CustomResourceDefinition")
}

func TestACancelledRenderSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := renderer().Render(ctx, render.Request{Specs: []render.Spec{transform(t, "api", "{}")}})
	require.ErrorIs(t, err, context.Canceled)
}

func TestAnUnknownDialectIsRefused(t *testing.T) {
	_, err := renderer().Render(t.Context(), render.Request{Emit: emit.Options{Dialect: "helm"}})
	require.ErrorContains(t, err, "expected plain, argocd or flux")
}

func BenchmarkRender(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r, req := renderer(), render.Request{Emit: emit.Options{Dialect: dialect.ArgoCD}, Parallel: 2}
			for i := range n {
				s := render.Spec{Evaluate: evaluate.Request{
					Spec: fmt.Sprintf("s%d", i), Module: module("modules/web", web),
					Context: object.Context{Name: fmt.Sprintf("s%d", i), Namespace: "shop", Engine: "argocd", KubeVersion: "1.36", ClusterDomain: "cluster.local"},
				}}
				req.Specs = append(req.Specs, s)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Render(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func ExampleRenderer_Render() {
	r := render.Renderer{Evaluator: inprocess.New(inprocess.Options{})}
	result, err := r.Render(context.Background(), render.Request{Specs: []render.Spec{{Evaluate: evaluate.Request{
		Spec: "hello",
		Module: evaluate.Module{Digest: "sha256:1", Label: "hello", FS: fstest.MapFS{"hello.cue": {Data: []byte(`
			input: {greeting: string | *"hello"}
			config: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "hello", data: greeting: input.greeting}
		`)}}},
	}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range result.Files {
		fmt.Printf("%s\n%s", f.Path, f.Data)
	}
	// Output:
	// 00-configmap-hello.yaml
	// apiVersion: v1
	// data:
	//   greeting: hello
	// kind: ConfigMap
	// metadata:
	//   name: hello
}
