// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/component/kustomize"
	"github.com/ropewalk/ropewalk/render/component/kustomize/library"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// theirs is the library of all builds of this process, which keeps state of its own.
var theirs library.Library

// TestMain makes the log of the process that of the library, as the program of components does.
func TestMain(m *testing.M) {
	log.SetOutput(&theirs)
	os.Exit(m.Run())
}

// engine is that of these tests.
func engine(charts kustomize.Charts) component.Engine { return kustomize.New(&theirs, charts) }

// tree is a tree of "name: content" with files of Kubernetes objects by short names.
func tree(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func request(fsys fs.FS, change func(*spec.Kustomize)) component.Request {
	at := object.Pos{File: "app.yaml", Line: 5, Column: 3}
	k := &spec.Kustomize{Path: spec.Text{Text: "k", Pos: at}}
	if change != nil {
		change(k)
	}
	return component.Request{
		Name: "app", FS: fsys, Dir: ".", Component: spec.Component{Pos: at, Path: object.Fields("spec", "kustomize"), Kustomize: k},
		At: func(name string, line, column int) object.Pos {
			return object.Pos{File: name, Line: line, Column: column}
		},
	}
}

func laid(t *testing.T, text string) object.Value {
	t.Helper()
	v, err := spec.ParseValue(spec.File{Name: "app.yaml", Data: []byte(text)})
	require.NoError(t, err)
	return v
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, image: nginx}]}}}
`

const service = `---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
`

const secretAndConfig = `apiVersion: v1
kind: Secret
metadata: {name: s}
data: {x: Y2FuYXJ5}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {x: y}
`

func TestMistakesAreAtTheirLine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files  map[string]string
		change func(*spec.Kustomize)
		want   string
	}{
		"no folder":           {map[string]string{}, nil, `app.yaml:5:3: evaluate: spec.kustomize.path: folder "k" holds no kustomization.yaml`},
		"two kustomizations":  {map[string]string{"k/kustomization.yaml": "namePrefix: a\n", "k/Kustomization": "namePrefix: a\n"}, nil, `app.yaml:5:3: evaluate: spec.kustomize.path: folder "k" holds kustomization.yaml and Kustomization`},
		"a file not there":    {map[string]string{"k/kustomization.yaml": "resources:\n- web.yml\n", "k/web.yaml": deployment}, nil, `k/kustomization.yaml:2:3: evaluate: resources[0]: file or folder "k/web.yml" is not there (did you mean "web.yaml"?)`},
		"outside of the tree": {map[string]string{"k/kustomization.yaml": "resources: [../../x]\n"}, nil, `k/kustomization.yaml:1:13: evaluate: resources[0]: path "../../x" leaves the source`},
		"outside of the folder": {
			map[string]string{"k/kustomization.yaml": "resources: [../web.yaml]\n", "web.yaml": deployment},
			nil, `k/kustomization.yaml:1:13: evaluate: resources[0]: file "web.yaml" is not in the folder of the kustomization, "k" (move it`,
		},
		"a circle": {
			map[string]string{"k/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources:\n- ../k\n"},
			nil, `b/kustomization.yaml:2:3: evaluate: resources[0]: the kustomizations refer to each other in a circle: k -> b -> k`,
		},
		"unknown fields, all of them": {
			map[string]string{"k/kustomization.yaml": "resource: [a]\npatches:\n- pach: x\n"},
			nil, "k/kustomization.yaml:1:11: evaluate: resource: kustomize knows no field \"resource\" here (did you mean \"resources\"?)\nk/kustomization.yaml:3:9: evaluate: patches[0].pach: ",
		},
		"a literal without =":   {map[string]string{"k/kustomization.yaml": "secretGenerator:\n- name: a\n  literals: ['p: x']\n"}, nil, "k/kustomization.yaml:3:14: evaluate: secretGenerator[0].literals[0]: expected NAME=VALUE"},
		"no UTF-8":              {map[string]string{"k/kustomization.yaml": "secretGenerator:\n- name: a\n  envs: [e]\n", "k/e": "A=1\nB=x\xe9\n"}, nil, "k/e:2: evaluate: the line is not valid UTF-8"},
		"a key over lines":      {map[string]string{"k/kustomization.yaml": "secretGenerator:\n- name: a\n  envs: [e]\n", "k/e": "A=-----BEGIN\nab+c/==\n"}, nil, "k/e:2: evaluate: expected NAME=VALUE, with a name"},
		"a type":                {map[string]string{"k/kustomization.yaml": "resources: web.yaml\n"}, nil, "k/kustomization.yaml:1:12: evaluate: resources: expected list, got string"},
		"a word that is a bool": {map[string]string{"k/kustomization.yaml": "configMapGenerator:\n- name: a\n- name: no\n"}, nil, "k/kustomization.yaml:2:1: evaluate: configMapGenerator: it is no kustomization: cannot unmarshal bool"},
		"nothing in it":         {map[string]string{"k/kustomization.yaml": "kind: Kustomization\n"}, nil, "k/kustomization.yaml:1:1: evaluate: the kustomization is empty"},
		"an old version":        {map[string]string{"k/kustomization.yaml": "apiVersion: v1\nnamePrefix: a\n"}, nil, "k/kustomization.yaml:1:13: evaluate: apiVersion: "},
		"no YAML":               {map[string]string{"k/kustomization.yaml": "resources: [web.yaml]\n", "k/web.yaml": "a: b\nc: [\n"}, nil, "k/web.yaml:2: evaluate: it is no valid YAML"},
		"charts":                {map[string]string{"k/kustomization.yaml": "helmCharts:\n- name: x\n"}, nil, "k/kustomization.yaml:2:3: evaluate: helmCharts[0]: the kustomization has helmCharts (set enableHelm: true"},
		"no Helm":               {map[string]string{"k/kustomization.yaml": "helmCharts:\n- {name: x, releaseName: x}\n", "k/charts/x/Chart.yaml": "name: x"}, func(k *spec.Kustomize) { k.EnableHelm = true }, "k/kustomization.yaml:2:3: evaluate: helmCharts[0]: " + component.ErrNoEngine.Error()},
		"nameTemplate":          {map[string]string{"k/kustomization.yaml": "helmCharts:\n- {name: x, nameTemplate: tpl}\n", "k/charts/x/Chart.yaml": "name: x"}, func(k *spec.Kustomize) { k.EnableHelm = true }, "k/kustomization.yaml:2:3: evaluate: helmCharts[0]: nameTemplate"},
		"a plugin":              {map[string]string{"k/kustomization.yaml": "transformers: [t.yaml]\n", "k/t.yaml": "\napiVersion: x.io/v1\nkind: Sed\nmetadata: {name: s}\n"}, nil, `k/t.yaml:2:1: evaluate: Sed "s" starts a program`},
		"a function":            {map[string]string{"k/kustomization.yaml": "transformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: s, annotations: {config.kubernetes.io/function: \"exec: {path: /bin/sh}\"}}\n"}, nil, "k/kustomization.yaml:2:3: evaluate: PatchTransformer \"s\" starts a program"},
		"a URL of a file":       {map[string]string{"k/kustomization.yaml": "generators:\n- |-\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {name: c}\n  files: [a=https://example.com/a.txt]\n"}, nil, "k/kustomization.yaml:2:3: evaluate: files[0]: expected a path, got a URL"},
		"a patch without an object": {
			map[string]string{"k/kustomization.yaml": "resources: [web.yaml]\npatches:\n- path: p.yaml\n", "k/web.yaml": deployment, "k/p.yaml": "\n" + strings.Replace(deployment, "name: web}", "name: wob}", 1)},
			nil, `k/p.yaml:2:1: evaluate: the patch matches nothing: no Deployment "wob" (did you mean "web"?)`,
		},
		"operations without a target": {
			map[string]string{"k/kustomization.yaml": "resources: [web.yaml]\npatches:\n- patch: |-\n    - {op: add, path: /spec/replicas, value: 2}\n- path: p.json\n- {target: {kind: Pod}}\n- {path: p.json, patch: a}\n- {target: {kind: Deployment}, patch: '[{op: remove, path: /a}]'}\n", "k/web.yaml": deployment, "k/p.json": "[{}]"}, nil,
			"k/kustomization.yaml:3:3: evaluate: patches[0]: a patch of operations needs a target (add target: {kind: …, name: …})\n" +
				"k/kustomization.yaml:5:3: evaluate: patches[1]: a patch of operations needs a target (add target: {kind: …, name: …})\n" +
				"k/kustomization.yaml:6:3: evaluate: patches[2]: a patch is a file or a text (write one of path and patch)\n" +
				"k/kustomization.yaml:7:3: evaluate: patches[3]: a patch is a file or a text (write one of path and patch)\n" +
				"k/kustomization.yaml:8:3: evaluate: patches[4]: operations in brackets have to be JSON (put names and texts into double quotes, or write the list with dashes)",
		},
		"two of one name": {
			map[string]string{"k/kustomization.yaml": "resources: [a.yaml, web.yaml]\n", "k/web.yaml": deployment, "k/a.yaml": deployment},
			nil, `k/web.yaml:1:1: evaluate: Deployment "web" is there twice`,
		},
		"no name":             {map[string]string{"k/kustomization.yaml": "resources: [a.yaml]\n", "k/a.yaml": "\nkind: Pod\napiVersion: v1\n"}, nil, "k/a.yaml:2:1: evaluate: Pod has no metadata.name"},
		"a path that is none": {map[string]string{"k/kustomization.yaml": "resources: [web.yaml]\npatches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: remove, path: /spec/nothing}\n", "k/web.yaml": deployment}, nil, "k/kustomization.yaml:4:"},
		"fields of the author": {map[string]string{"k/kustomization.yaml": "resources: [web.yaml]\n", "k/web.yaml": deployment}, func(k *spec.Kustomize) {
			k.Fields = object.Value{Kind: object.KindMap, Members: fields("patches:\n- path: no.yaml\n")}
		}, `app.yaml:2:9: evaluate: patches[0].path: file "no.yaml" is not there`},
		"replicas of nothing": {
			map[string]string{"k/kustomization.yaml": "resources: [web.yaml]\nreplicas:\n- {name: wob, count: 3}\n", "k/web.yaml": deployment},
			nil, `k/kustomization.yaml:3:3: evaluate: replicas[0]: no Deployment, StatefulSet, ReplicaSet or ReplicationController is called "wob"`,
		},
		"a replacement of a Secret": {
			map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\nreplacements:\n- source: {kind: Secret, name: s, fieldPath: data.x}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x]}]\n", "k/s.yaml": secretAndConfig},
			nil, "k/kustomization.yaml:3:3: evaluate: replacements[0]: it copies a value of a Secret into an object that is none (refer to",
		},
		"a replacement without a kind": {
			map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\nreplacements:\n- source: {name: s, fieldPath: \"data.[x]\"}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x]}]\n", "k/s.yaml": secretAndConfig},
			nil, "k/kustomization.yaml:3:3: evaluate: replacements[0]: it copies",
		},
		"a replacement in a file": {
			map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\nreplacements:\n- path: r.yaml\n", "k/s.yaml": secretAndConfig, "k/r.yaml": "- source: {kind: Secret, name: s, fieldPath: data.x}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x]}]\n"},
			nil, "k/kustomization.yaml:3:3: evaluate: replacements[0]: it copies",
		},
		"a replacement of a transformer": {
			map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\ntransformers:\n- |-\n  apiVersion: builtin\n  kind: ReplacementTransformer\n  metadata: {name: r}\n  replacements:\n  - source: {kind: Secret, name: s, fieldPath: data.x}\n    targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x]}]\n", "k/s.yaml": secretAndConfig},
			nil, "k/kustomization.yaml:3:3: evaluate: it copies",
		},
		"a var of a Secret": {
			map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\nvars:\n- {name: X, objref: {apiVersion: v1, kind: Secret, name: s}, fieldref: {fieldpath: data.x}}\n", "k/s.yaml": secretAndConfig},
			nil, "k/kustomization.yaml:3:3: evaluate: vars[0]: it copies",
		},
		"many aliases": {map[string]string{"k/kustomization.yaml": "resources: [a.yaml]\n", "k/a.yaml": bomb()}, nil, "k/a.yaml:1: evaluate: it has more than 2000000 values"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := engine(nil)(t.Context(), request(tree(tt.files), tt.change))
			require.Error(t, err)
			require.Contains(t, err.Error(), tt.want)
			var errs object.Errors
			require.ErrorAs(t, err, &errs)
		})
	}
}

func fields(text string) []object.Member {
	v, _ := spec.ParseValue(spec.File{Name: "app.yaml", Data: []byte(text)})
	return v.Members
}

// bomb is a file of a kilobyte that is a gigabyte without its aliases.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	return b.String()
}

// Bases that share bases are built once for each way to them.
func TestBasesAreBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{"k/kustomization.yaml": "resources: [../b0, ../c0]\n"}
	for i := range 30 {
		for _, name := range []string{"b", "c"} {
			files[fmt.Sprintf("%s%d/kustomization.yaml", name, i)] = fmt.Sprintf("namePrefix: %s\nresources: [../b%d, ../c%d]\n", name, i+1, i+1)
		}
	}
	for _, name := range []string{"b30", "c30"} {
		files[name+"/kustomization.yaml"] = "resources: [web.yaml]\n"
		files[name+"/web.yaml"] = deployment
	}
	_, err := engine(nil)(t.Context(), request(tree(files), nil))
	require.ErrorContains(t, err, "built more than 2000 times")

	files = map[string]string{"k/kustomization.yaml": "resources: [b]\n"}
	dir := "k"
	for range 70 {
		dir += "/b"
		files[dir+"/kustomization.yaml"] = "resources: [b]\n"
	}
	_, err = engine(nil)(t.Context(), request(tree(files), nil))
	require.ErrorContains(t, err, "bases of bases are more than 64 deep")
}

func TestObjectsAreThoseOfKustomizeAtTheirLines(t *testing.T) {
	t.Parallel()
	files := tree(map[string]string{
		"k/kustomization.yaml":    "namePrefix: p-\nresources: [../base]\nconfigMapGenerator:\n- name: other\n- name: conf\n  literals: [a=b]\n",
		"base/kustomization.yaml": "resources:\n- all.yaml\ncommonLabels: {team: a}\n",
		"base/all.yaml":           service + "---\n" + deployment,
	})
	req := request(files, func(k *spec.Kustomize) {
		k.Fields = laid(t, "namespace: prod\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: Service\n    metadata: {name: p-web}\n    spec: {type: LoadBalancer}\n")
	})
	out, err := engine(nil)(t.Context(), req)
	require.NoError(t, err)
	var got []string
	for _, o := range out.Objects {
		got = append(got, fmt.Sprintf("%s %s/%s %s", o.Object.Kind(), o.Object.Namespace(), o.Object.Name(), o.Pos))
		require.Empty(t, o.Object.Text("metadata", "annotations", "config.kubernetes.io/origin"))
	}
	require.Equal(t, []string{
		"ConfigMap prod/p-conf-4h2mbtbbt6 k/kustomization.yaml:5:3",
		"ConfigMap prod/p-other-6ct58987ht k/kustomization.yaml:4:3",
		"Service prod/p-web base/all.yaml:2:1",
		"Deployment prod/p-web base/all.yaml:7:1",
	}, got)
	require.Equal(t, "LoadBalancer", out.Objects[2].Object.Text("spec", "type"))
	require.Len(t, out.Warnings, 1)
	require.Contains(t, out.Warnings[0].Error(), "base/kustomization.yaml:3:15: evaluate: commonLabels: kustomize has deprecated this field (write it as labels")
}

// A mark in the annotations must not make good what kustomize refuses.
func TestAnnotationsAreThoseOfTheAuthor(t *testing.T) {
	t.Parallel()
	patch := "resources: [web.yaml]\npatches:\n- target: {kind: Deployment}\n  patch: '[{op: add, path: /metadata/annotations/a, value: b}]'\n"
	_, err := engine(nil)(t.Context(), request(tree(map[string]string{"k/kustomization.yaml": patch, "k/web.yaml": deployment}), nil))
	require.Error(t, err)

	out, err := engine(nil)(t.Context(), request(tree(map[string]string{"k/kustomization.yaml": "resources: [web.yaml]\nbuildMetadata: [originAnnotations]\n", "k/web.yaml": deployment}), nil))
	require.NoError(t, err)
	require.Equal(t, "path: web.yaml\n", out.Objects[0].Object.Text("metadata", "annotations", "config.kubernetes.io/origin"))
}

// The library keeps the schema of a build for the next one.
func TestASchemaIsThatOfItsBuild(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"k/kustomization.yaml": "resources: [web.yaml]\npatches:\n- path: p.yaml\n", "k/web.yaml": deployment,
		"k/p.yaml":             strings.Replace(deployment, "image: nginx", "args: [a]", 1),
		"s/kustomization.yaml": "resources: [web.yaml]\nopenapi: {path: s.json}\n", "s/web.yaml": deployment, "s/s.json": `{"definitions": {}}`,
	}
	_, err := engine(nil)(t.Context(), request(tree(files), func(k *spec.Kustomize) { k.Path.Text = "s" }))
	require.NoError(t, err)
	out, err := engine(nil)(t.Context(), request(tree(files), nil))
	require.NoError(t, err)
	require.Contains(t, string(mustJSON(t, out.Objects[0].Object)), `"image":"nginx"`, "containers are merged by name")
}

func mustJSON(t *testing.T, o object.Object) []byte {
	t.Helper()
	data, err := json.Marshal(o)
	require.NoError(t, err)
	return data
}

func TestRemotesAreFetchedByTheCaller(t *testing.T) {
	t.Parallel()
	const base, file = "github.com/org/repo/deploy/prod?ref=v1.2.0", "https://example.com/releases/crds.yaml"
	files := tree(map[string]string{
		"k/kustomization.yaml":                    "resources:\n- " + base + "\n- " + file + "\n",
		"far/repo/deploy/prod/kustomization.yaml": "resources: [../base]\n",
		"far/repo/deploy/base/kustomization.yaml": "resources: [web.yaml]\n",
		"far/repo/deploy/base/web.yaml":           deployment,
		"far/crds.yaml":                           service,
	})
	req := request(files, nil)
	got, err := kustomize.Collect(files, ".", req.Component, req.At)
	require.NoError(t, err)
	require.Equal(t, []kustomize.Remote{
		{URL: base, Pos: object.Pos{File: "k/kustomization.yaml", Line: 2, Column: 3}, Type: "git", Path: "deploy/prod", Refs: []string{"https://github.com/org/repo?tag=v1.2.0&submodules=true", "https://github.com/org/repo?branch=v1.2.0&submodules=true"}},
		{URL: file, Pos: object.Pos{File: "k/kustomization.yaml", Line: 3, Column: 3}, Type: "http", Refs: []string{file}},
	}, got.Remotes)
	_, err = engine(nil)(t.Context(), req)
	require.ErrorContains(t, err, "k/kustomization.yaml:2:3: evaluate: what \""+base+"\" refers to was not fetched")

	req.Component.Kustomize.Remotes = map[string]string{base: "far/repo/deploy/prod", file: "far/crds.yaml"}
	got, err = kustomize.Collect(files, ".", req.Component, req.At)
	require.NoError(t, err)
	require.Empty(t, got.Remotes)
	require.Equal(t, []string{"far/crds.yaml", "far/repo/deploy/base/kustomization.yaml", "far/repo/deploy/base/web.yaml", "far/repo/deploy/prod/kustomization.yaml", "k/kustomization.yaml"}, got.Files)
	out, err := engine(nil)(t.Context(), req)
	require.NoError(t, err)
	require.Len(t, out.Objects, 2)
	require.Equal(t, object.Pos{File: "far/repo/deploy/base/web.yaml", Line: 1, Column: 1}, out.Objects[1].Pos)

	files["far/repo/deploy/prod/kustomization.yaml"].Data = []byte("resources: [../../../../k2]\n")
	files["k2/kustomization.yaml"] = &fstest.MapFile{Data: []byte("namePrefix: a\n")}
	_, err = engine(nil)(t.Context(), req)
	require.ErrorContains(t, err, `"k2" is outside of the repository that refers to it`)
}

func TestChartsComeAfterGenerators(t *testing.T) {
	t.Parallel()
	files := tree(map[string]string{
		"k/kustomization.yaml": "namespace: prod\nsortOptions: {order: fifo}\nconfigMapGenerator:\n- {name: c}\nhelmCharts:\n- name: web\n  releaseName: r\n  version: 1.0.0\n" +
			"  repo: https://example.com\n  valuesInline: {a: 1}\n  additionalValuesFiles: [v.yaml]\n  apiVersions: [x/v1]\n",
		"k/v.yaml": "b: 2\n", "far/web/Chart.yaml": "name: web\n", "far/web/values.yaml": "a: 0\n",
	})
	req := request(files, func(k *spec.Kustomize) { k.EnableHelm = true })
	got, err := kustomize.Collect(files, ".", req.Component, req.At)
	require.NoError(t, err)
	require.Equal(t, []kustomize.Chart{{Repo: "https://example.com", Name: "web", Version: "1.0.0", Pos: object.Pos{File: "k/kustomization.yaml", Line: 6, Column: 3}}}, got.Charts)

	req.Component.Kustomize.Charts = map[string]string{spec.ChartKey("https://example.com", "web", "1.0.0"): "far/web"}
	var options kustomize.ChartOptions
	out, err := engine(func(_ context.Context, _ fs.FS, dir string, o kustomize.ChartOptions) ([]byte, error) {
		require.Equal(t, "far/web", dir)
		options = o
		return []byte(service), nil
	})(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, kustomize.ChartOptions{
		Name: "web", ReleaseName: "r", Namespace: "prod", Values: [][]byte{[]byte("a: 0\n"), []byte(`{"a":1}`), []byte("b: 2\n")}, APIVersions: []string{"x/v1"},
	}, options)
	require.Equal(t, "ConfigMap", out.Objects[0].Object.Kind())
	require.Equal(t, "Service", out.Objects[1].Object.Kind())
	require.Equal(t, object.Pos{File: "k/kustomization.yaml", Line: 6, Column: 3}, out.Objects[1].Pos)
	require.NotContains(t, string(mustJSON(t, out.Objects[1].Object)), "helm-generated")

	_, err = engine(func(context.Context, fs.FS, string, kustomize.ChartOptions) ([]byte, error) {
		return nil, errors.New("the chart is broken")
	})(t.Context(), req)
	require.ErrorContains(t, err, "k/kustomization.yaml:6:3: evaluate: helmCharts[0]: the chart is broken")
}

// canary is a secret that nothing may show.
const canary = "hunter2-canary"

func TestNoErrorShowsASecret(t *testing.T) {
	t.Parallel()
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: " + canary + "}\n"
	for name, files := range map[string]map[string]string{
		"a literal":        {"k/kustomization.yaml": "secretGenerator:\n- name: s\n  literals: [" + canary + "]\n"},
		"two of one key":   {"k/kustomization.yaml": "secretGenerator:\n- name: s\n  literals: [a=" + canary + ", a=" + canary + "]\n"},
		"a broken patch":   {"k/kustomization.yaml": "resources: [s.yaml]\npatches:\n- patch: '[{op: add, path: /x, valu: " + canary + "}, 3]'\n", "k/s.yaml": secret},
		"a patch":          {"k/kustomization.yaml": "resources: [s.yaml]\npatches:\n- target: {kind: Secret}\n  patch: '[{op: test, path: /stringData/password, value: other}]'\n", "k/s.yaml": secret},
		"no name":          {"k/kustomization.yaml": "resources: [s.yaml]\n", "k/s.yaml": strings.Replace(secret, "{name: s}", "{}", 1)},
		"twice":            {"k/kustomization.yaml": "resources: [s.yaml, t.yaml]\n", "k/s.yaml": secret, "k/t.yaml": secret},
		"no YAML":          {"k/kustomization.yaml": "resources: [s.yaml]\n", "k/s.yaml": secret + "\t\"" + canary + ": x\n"},
		"an unknown patch": {"k/kustomization.yaml": "resources: [s.yaml]\npatches:\n- patch: " + canary + "\n", "k/s.yaml": secret},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := engine(nil)(t.Context(), request(tree(files), nil))
			require.Error(t, err)
			require.NotContains(t, err.Error(), canary)
			require.NotContains(t, err.Error(), "/t/")
		})
	}
}

func TestDeprecatedFieldsAndUnusedVarsAreWarningsAtTheirLines(t *testing.T) {
	t.Parallel()
	out, err := engine(nil)(t.Context(), request(tree(map[string]string{
		"k/kustomization.yaml": "bases: [../b]\ncommonLabels: {a: b}\nvars:\n- {name: X, objref: {kind: Deployment, name: web, apiVersion: apps/v1}}\n",
		"b/kustomization.yaml": "resources: [web.yaml]\n", "b/web.yaml": deployment,
	}), nil))
	require.NoError(t, err)
	require.Len(t, out.Warnings, 4, "%v", out.Warnings)
}

func TestABuildEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := engine(nil)(ctx, request(tree(map[string]string{"k/kustomization.yaml": "resources: [web.yaml]\n", "k/web.yaml": deployment}), nil))
	require.ErrorIs(t, err, context.Canceled)
}

// What kustomize passes over in silence is a warning at its line.
func TestWhatSelectsNothingIsWarnedOf(t *testing.T) {
	t.Parallel()
	out, err := engine(nil)(t.Context(), request(tree(map[string]string{
		"k/kustomization.yaml": "resources: [web.yaml]\nnamePrefix: p-\nconfigMapGenerator: [{name: made, literals: [a=b]}]\n" +
			"images: [{name: nginx, newTag: '1'}, {name: ngnix, newTag: '1'}, {name: '(docker.io/)?ngin.', newTag: '1'}]\npatches:\n" +
			"- {target: {kind: Deployment, name: none}, patch: '[{\"op\": \"remove\", \"path\": \"/spec\"}]'}\n" +
			"- {target: {kind: Job}, patch: '[{\"op\": \"remove\", \"path\": \"/spec\"}]'}\n" +
			"- {target: {kind: ConfigMap, name: made}, patch: '[{\"op\": \"add\", \"path\": \"/data/c\", \"value\": \"d\"}]'}\n" +
			"- {target: {kind: Deployment, name: w.*}, patch: '[{\"op\": \"add\", \"path\": \"/spec/replicas\", \"value\": 2}]'}\n",
		"k/web.yaml": deployment,
	}), nil))
	require.NoError(t, err)
	var got []string
	for _, w := range out.Warnings {
		got = append(got, w.Error())
	}
	require.Equal(t, []string{
		`k/kustomization.yaml:4:38: evaluate: images[1]: no file has the image "ngnix" (correct the name, which is without tag and digest, or remove it)`,
		"k/kustomization.yaml:6:3: evaluate: patches[0]: the patch selects no object (correct the target, or remove the patch)",
		"k/kustomization.yaml:7:3: evaluate: patches[1]: the patch selects no object (correct the target, or remove the patch)",
	}, got)
}
