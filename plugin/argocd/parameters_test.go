// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
)

// announce asks for the parameters of an application.
func announce(t testing.TB, socket string, c call) ([]*wire.Parameter, error) {
	t.Helper()
	stream, err := dial(t, socket).GetParametersAnnouncement(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.send(stream))
	out, err := stream.CloseAndRecv()
	return out.GetParameters(), err
}

// folders is a repository of applications that have no document of ours: a plain
// package in a module around it, a module of Timoni, and a file of Score; and of a
// project of two specs.
func folders() map[string]string {
	return map[string]string{
		"cue.mod/module.cue": "module: \"example.com/m\"\nlanguage: version: \"v0.9.0\"\n",
		"lib/lib.cue":        "package lib\n\n#ConfigMap: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name!: string, data: [string]: string}\n",
		"plain/a.cue": `package plain

import "example.com/m/lib"

// text that the ConfigMap holds. It may be
// long.
text: string | *"none"
n:    int | *1
on:   bool | *false
list: [...string]
tags: [string]: string
config: lib.#ConfigMap & {metadata: name: "plain", data: {
	"text": text, num: "\(n)", "on": "\(on)", items: "\(len(list))", for k, v in tags {"tag-\(k)": v}
}}
`,
		"timoni/cue.mod/module.cue": "module: \"timoni.sh/m\"\nlanguage: version: \"v0.9.0\"\n",
		"timoni/values.cue":         "package main\n\nvalues: {text: \"own\", list: [], tags: team: \"a\"}\n",
		"timoni/timoni.cue": `package main

values: #Config
#Config: {
	metadata: {name!: string, namespace!: string}
	text!: string
	n:     int | *1
	list: [...string]
	tags: [string]: string
	env: [...{name: string}]
}
timoni: {
	apiVersion: "v1alpha1"
	instance: config: values
	instance: config: metadata: {name: string @tag(name), namespace: string @tag(namespace)}
	let c = instance.config
	apply: app: [{
		apiVersion: "v1", kind: "ConfigMap", metadata: c.metadata
		data: {text: c.text, num: "\(c.n)", items: "\(len(c.list))", for k, v in c.tags {"tag-\(k)": v}}
	}]
}
timoni: #Timoni
`,
		"score/score.yaml": "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {main: {image: .}, side: {image: 'nginx:1'}}\n",
		"two/a.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: web}\n" +
			"spec: {cueRef: {type: embedded, ref: webservice}, input: {image: 'nginx:1', replicas: 3, env: {A: 'b', V: '1'}}}\n",
		"two/b.yaml":       "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: broken}\nspec: {cueRef: {type: path, ref: m}}\n",
		"two/m/m.cue":      "package m\n\nx: {\n",
		"one/web.yaml":     "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: web}\nspec: {cueRef: {type: embedded, ref: webservice}}\n",
		"static/web.yaml":  "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: web}\nspec: {cueRef: {type: path, ref: m}}\n",
		"static/m/m.cue":   "package m\n\nropewalk: apiVersion: \"v1alpha1\"\ninput: {set: string | *\"x\", \"a.b\": \"c=d\": int | *1, \"a.b\": \"c:d\": int | *2}\n" + "graph: nodes: {}\n",
		"manifests/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n",
		"bundle/bundle.cue": `bundle: {
	apiVersion: "v1alpha1"
	name:       "all"
	_text:      string @timoni(runtime:string:TEXT)
	instances: first: {module: url: "file://../timoni", namespace: "one", values: text: _text}
	instances: second: {module: url: "file://../timoni", namespace: "two"}
}
`,
	}
}

func TestAFolderWithoutADocumentIsRendered(t *testing.T) {
	_, socket := start(t, options(t))
	packed := archive(t, texts(folders()))
	for name, c := range map[string]struct {
		path   string
		env    map[string]string
		want   []string
		errors string
	}{
		"a plain package":                    {"plain", nil, []string{"name: plain", "text: none"}, ""},
		"a module of Timoni, by its folder":  {"timoni", nil, []string{"name: timoni", "namespace: default", "text: own"}, ""},
		"and by the name of the application": {"timoni", map[string]string{"ARGOCD_APP_NAME": "team_Shop.eu", "ARGOCD_APP_NAMESPACE": "eu"}, []string{"name: team-shop-eu", "namespace: eu"}, ""},
		"a file of Score keeps its own name": {"score", map[string]string{"ARGOCD_APP_NAME": "other", "ARGOCD_APP_PARAMETERS": `[{"name": "images", "array": ["x:1"]}]`}, []string{"name: web"}, ""},
		"a bundle of Timoni": {"bundle", params(`[{"name": "runtime", "map": {"TEXT": "given"}}, {"name": "second:text", "string": "set"}]`),
			[]string{"name: first", "namespace: one", "text: given", "name: second", "text: set", `sync-wave: "1"`}, ""},
		"a bundle without a runtime value": {"bundle", nil, nil, `bundle/bundle.cue:4:21: evaluate: runtime value "TEXT" is not set`},
		"a runtime value of no use": {"bundle", params(`[{"name": "runtime", "array": ["TEXT=a", "TEST=secret"]}]`), nil,
			`spec.source.plugin.parameters: runtime: TEST: spec: no bundle and no module has an attribute @timoni(runtime:TYPE:TEST)`},
		"a folder of manifests": {"manifests", nil, []string{"kind: ConfigMap"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := generate(t, socket, call{archive: packed, path: c.path, env: c.env})
			if c.errors != "" {
				require.ErrorContains(t, err, c.errors)
				return
			}
			require.NoError(t, err)
			for _, want := range c.want {
				require.Contains(t, strings.Join(got, "---\n"), want)
			}
		})
	}
}

// announcedInputs are the parameters of an announcement behind the static ones, by name.
func announcedInputs(t *testing.T, all []*wire.Parameter) map[string]*wire.Parameter {
	t.Helper()
	require.GreaterOrEqual(t, len(all), len(static()))
	for i, p := range static() {
		require.True(t, proto.Equal(p, all[i]), p.GetName())
	}
	out := map[string]*wire.Parameter{}
	for _, p := range all[len(static()):] {
		require.NotContains(t, out, p.GetName())
		out[p.GetName()] = p
	}
	return out
}

func TestInputsAreAnnounced(t *testing.T) {
	_, socket := start(t, options(t))
	packed := archive(t, texts(folders()))
	for name, c := range map[string]struct {
		path string
		env  map[string]string
		// names are all, where they are given.
		names []string
		want  []*wire.Parameter
	}{
		"of a plain package": {"plain", nil, []string{"list", "n", "on", "tags", "text"}, []*wire.Parameter{
			{Name: "text", Title: "text that the ConfigMap holds", Tooltip: "It may be long. Expected text.", ItemType: "string", CollectionType: "string", String_: "none"},
			{Name: "n", Title: "n", Tooltip: "Expected an integer.", ItemType: "number", CollectionType: "string", String_: "1"},
			{Name: "on", Title: "on", Tooltip: "Expected true or false.", ItemType: "boolean", CollectionType: "string", String_: "false"},
			{Name: "list", Title: "list", Tooltip: "Expected a list.", ItemType: "string", CollectionType: "array"},
			{Name: "tags", Title: "tags", Tooltip: "Expected a map.", ItemType: "string", CollectionType: "map"},
		}},
		"of a module of Timoni, with its own values": {"timoni", nil, []string{"env", "list", "n", "tags", "text"}, []*wire.Parameter{
			{Name: "text", Title: "text", Tooltip: "Expected text.", ItemType: "string", CollectionType: "string", String_: "own"},
			{Name: "tags", Title: "tags", Tooltip: "Expected a map.", ItemType: "string", CollectionType: "map", Map: map[string]string{"team": "a"}},
			{Name: "env", Title: "env", Tooltip: "Expected a list. A list or a map is YAML in one line.", ItemType: "string", CollectionType: "string", String_: "[]"},
		}},
		"of a module of ours, where they are required": {"one", nil, nil, []*wire.Parameter{
			{Name: "image", Title: "image with its registry, and a tag or a digest", ItemType: "string", CollectionType: "string", Required: true},
		}},
		"with the spec before them, and the value that it has": {"two", nil, nil, []*wire.Parameter{
			{Name: "web:image", Title: "image with its registry, and a tag or a digest", ItemType: "string", CollectionType: "string", String_: "nginx:1"},
			{Name: "web:replicas", Title: "replicas to run; 1 where it is absent", ItemType: "number", CollectionType: "string", String_: "3"},
			{Name: "web:env", Title: "env holds variables with plain values", ItemType: "string", CollectionType: "map", Map: map[string]string{"A": "b", "V": `"1"`}},
		}},
		"without what the application itself sets": {"plain", params(`[{"name": "text", "string": "mine"}, {"name": "set", "array": ["n=4"]}, {"name": "images", "array": ["x"]}]`), nil, []*wire.Parameter{
			{Name: "text", Title: "text that the ConfigMap holds", ItemType: "string", CollectionType: "string", String_: "none"},
			{Name: "n", Title: "n", ItemType: "number", CollectionType: "string", String_: "4"},
		}},
		"by names that lead to them": {"static", nil, []string{"web:set", `["a.b"]["c:d"]`}, nil},
		"the images of a workload": {"score", nil, []string{"containers.main.image", "containers.side.image"}, []*wire.Parameter{
			{Name: "containers.main.image", Title: "image of the container main", Tooltip: "Expected text.", ItemType: "string", CollectionType: "string", Required: true},
			{Name: "containers.side.image", Title: "image of the container side", ItemType: "string", CollectionType: "string", String_: "nginx:1"},
		}},
		"not of a folder without a spec":      {"manifests", nil, []string{}, nil},
		"not of a folder that is none":        {"none", nil, []string{}, nil},
		"not with a parameter that is broken": {"plain", params(`[{"name": "n"}]`), []string{}, nil},
		"not with parameters that are none":   {"plain", params(`{`), []string{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := announce(t, socket, call{archive: packed, path: c.path, env: c.env})
			require.NoError(t, err)
			got := announcedInputs(t, all)
			if c.names != nil {
				require.ElementsMatch(t, c.names, slices.Collect(maps.Keys(got)))
			}
			for _, want := range c.want {
				is := got[want.GetName()]
				require.NotNil(t, is, "%s of %v", want.GetName(), slices.Sorted(maps.Keys(got)))
				if want.GetTooltip() == "" {
					want.Tooltip = is.GetTooltip()
				}
				require.True(t, proto.Equal(want, is), "%v", is)
			}
		})
	}
}

// TestSettingWhatIsAnnouncedChangesNothing sets every input to the value that it is
// announced with.
func TestSettingWhatIsAnnouncedChangesNothing(t *testing.T) {
	_, socket := start(t, options(t))
	files := folders()
	delete(files, "two/b.yaml")
	files["plain/a.cue"] = strings.Replace(files["plain/a.cue"], `*"none"`, `*"12: [x"`, 1)
	packed := archive(t, texts(files))
	for _, path := range []string{"plain", "timoni", "two"} {
		t.Run(path, func(t *testing.T) {
			want, err := generate(t, socket, call{archive: packed, path: path})
			require.NoError(t, err)
			all, err := announce(t, socket, call{archive: packed, path: path})
			require.NoError(t, err)
			var set []map[string]any
			for name, p := range announcedInputs(t, all) {
				switch {
				case p.GetArray() != nil:
					set = append(set, map[string]any{"name": name, "array": p.GetArray()})
				case p.GetMap() != nil:
					set = append(set, map[string]any{"name": name, "map": p.GetMap()})
				case p.GetString_() != "":
					set = append(set, map[string]any{"name": name, "string": p.GetString_()})
				}
			}
			require.NotEmpty(t, set)
			text, err := json.Marshal(set)
			require.NoError(t, err)
			got, err := generate(t, socket, call{archive: packed, path: path, env: params(string(text))})
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestEveryTypeOfParameterChangesTheRender(t *testing.T) {
	_, socket := start(t, options(t))
	packed := archive(t, texts(folders()))
	for name, c := range map[string]struct {
		path, params string
		want         []string
	}{
		"of a plain package": {"plain", `[{"name": "text", "string": "hello"}, {"name": "n", "string": "7"}, {"name": "on", "string": "true"},
			{"name": "list", "array": ["a", "b"]}, {"name": "tags", "map": {"x.y": "z"}}]`,
			[]string{"text: hello", `num: "7"`, `"on": "true"`, `items: "2"`, "tag-x.y: z"}},
		"of a module of Timoni": {"timoni", `[{"name": "text", "string": "hello"}, {"name": "n", "string": "7"}, {"name": "list", "array": ["a", "b"]},
			{"name": "tags", "map": {"x.y": "z"}}, {"name": "env", "string": "[{name: a}]"}]`,
			[]string{"text: hello", `num: "7"`, `items: "2"`, "tag-x.y: z", "tag-team: a"}},
		"of a module of ours": {"one", `[{"name": "image", "string": "nginx:2"}, {"name": "replicas", "string": "4"}, {"name": "args", "array": ["-v", "a b"]},
			{"name": "env", "map": {"LEVEL": "debug"}}, {"name": "security.runAsNonRoot", "string": "false"}, {"name": "resources.limits", "map": {"memory": "64Mi"}},
			{"name": "ports", "string": "{http: {port: 8080}}"}]`,
			[]string{"image: nginx:2", "replicas: 4", "- -v", "- a b", "name: LEVEL", "value: debug", "runAsNonRoot: false", "memory: 64Mi", "containerPort: 8080"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := generate(t, socket, call{archive: packed, path: c.path, env: params(c.params)})
			require.NoError(t, err)
			for _, want := range c.want {
				require.Contains(t, strings.Join(got, "---\n"), want)
			}
		})
	}
}

func TestAModuleThatHangsIsLeftOutOfTheAnnouncement(t *testing.T) {
	t.Parallel()
	pool, err := worker.NewPool(worker.Options{Size: 2, Schemas: schemas()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	var said []string
	opts := options(t)
	opts.Evaluator, opts.Workers, opts.Evaluations, opts.Stores = pool, 2, nil, nil
	opts.Limits = evaluate.Limits{Timeout: 2 * time.Second}
	opts.Report = func(err error) { said = append(said, err.Error()) }
	_, socket := start(t, opts)
	hang, err := os.ReadFile("../../render/evaluate/worker/testdata/hostile/long-range.cue")
	require.NoError(t, err)
	files := projectOf("web")
	files["apps/web/bad.yaml"] = "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: bad}\nspec: {cueRef: {type: path, ref: m}}\n"
	files["apps/web/m/m.cue"] = string(hang)
	began := time.Now()
	all, err := announce(t, socket, call{archive: archive(t, texts(files)), path: "apps/web"})
	require.NoError(t, err)
	require.Less(t, time.Since(began), 10*time.Second)
	require.ElementsMatch(t, []string{"web:list", "web:n", "web:tags", "web:text"}, slices.Collect(maps.Keys(announcedInputs(t, all))))
	require.Len(t, said, 1)
	require.Contains(t, said[0], `inputs of "bad", module path:apps/web/m: `)
}

func TestAnAnnouncementIsBounded(t *testing.T) {
	_, socket := start(t, options(t))
	files := map[string]string{"m/m.cue": "package m\n\nropewalk: apiVersion: \"v1alpha1\"\ninput: {\n// " + strings.Repeat("ü", 3000) + "\na: string | *\"x\"\n"}
	for i := range 300 {
		files["m/m.cue"] += fmt.Sprintf("k%d: int | *1\n", i)
	}
	files["m/m.cue"] += "}\ngraph: nodes: {}\n"
	for i := range 7 {
		files[fmt.Sprintf("app/s%d.yaml", i)] = fmt.Sprintf("apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: s%d}\nspec: {cueRef: {type: path, ref: ../m}}\n", i)
	}
	all, err := announce(t, socket, call{archive: archive(t, texts(files)), path: "app"})
	require.NoError(t, err)
	got := announcedInputs(t, all)
	require.Len(t, got, maxAnnounced)
	require.Contains(t, all[len(all)-1].GetTooltip(), andMore)
	last := map[string]string{} // of each spec, what is said with its last input
	for _, p := range all {
		require.LessOrEqual(t, len(p.GetTooltip()), maxTooltip)
		if spec, _, ok := strings.Cut(p.GetName(), ":"); ok {
			require.NotContains(t, last[spec], andMore, "it is said with the last one")
			last[spec] = p.GetTooltip()
		}
	}
	require.Len(t, last, maxAnnounced/maxOfOne)
	for _, tooltip := range last {
		require.Contains(t, tooltip, andMore)
	}
	require.LessOrEqual(t, len(got["s0:a"].GetTitle()), maxTitle)
	require.LessOrEqual(t, len(got["s0:a"].GetTooltip()), maxTooltip)
}
