// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// backends are the ways in which secrets reach pods.
var backends = []string{spec.BackendExternalSecrets, spec.BackendKubernetes}

// catalog is what the embedded provisioners can make.
func catalog(t testing.TB, e evaluate.Evaluator) []evaluate.Provisioner {
	req := request(t, embedded(t, "provisioners"), "none.yaml", []byte("{}"))
	req.Operation = evaluate.OpCatalog
	res, err := e.Evaluate(context.Background(), req)
	require.NoError(t, err)
	return res.Catalog
}

// asked is the input of a golden: config as a project has it, and resources by
// name, with type, class, id and params as a workload has them. What stands in
// ports and target of a resource is what the project would know.
func asked(t testing.TB, e evaluate.Evaluator, file, backend string, data []byte) evaluate.Request {
	req := request(t, embedded(t, "provisioners"), file, data)
	known := catalog(t, e)
	resources, _ := req.Input.Get("resources")
	for i, m := range resources.Members {
		resources.Members[i].Value = entry(t, known, backend, m)
	}
	return req
}

// entry is one resource as Ropewalk asks for it (schema.#Requests).
func entry(t testing.TB, known []evaluate.Provisioner, backend string, m object.Member) object.Value {
	word := func(name, otherwise string) string {
		if v, ok := m.Value.Get(name); ok {
			return v.Text
		}
		return otherwise
	}
	kind, class, id := word("type", ""), word("class", "default"), word("id", "web-"+m.Name)
	_, shared := m.Value.Get("id")
	index := slices.IndexFunc(known, func(p evaluate.Provisioner) bool { return p.Type == kind && p.Class == class })
	require.GreaterOrEqual(t, index, 0, "%s %s", kind, class)
	uid := kind + "." + class + "#web." + m.Name
	if shared {
		uid = kind + "." + class + "#" + id
	}
	data, err := json.Marshal(map[string]any{"provisioner": index, "resource": map[string]any{
		"name": m.Name, "type": kind, "class": class, "id": id, "shared": shared, "uid": uid,
		"workload": word("workload", "web"), "namespace": "shop", "secrets": backend,
		"users":  users(m.Value),
		"store":  map[string]any{"name": "vault", "kind": "ClusterSecretStore", "refreshInterval": "1h"},
		"target": map[string]any{"name": m.Name, "namespace": "shop", "known": false},
	}})
	require.NoError(t, err)
	out, err := spec.ParseValue(spec.File{Name: "resource", Data: data})
	require.NoError(t, err)
	given, _ := out.Get("resource")
	for _, name := range []string{"ports", "target"} {
		if v, ok := m.Value.Get(name); ok {
			given = given.Merge(object.Value{Kind: object.KindMap, Members: []object.Member{{Name: name, Value: v}}})
		}
	}
	params, ok := m.Value.Get("params")
	if !ok {
		params = object.Value{Kind: object.KindMap, Pos: m.Pos}
	}
	return object.Value{Kind: object.KindMap, Pos: m.Pos, Members: []object.Member{
		out.Members[0], {Name: "resource", Pos: m.Pos, Value: given}, {Name: "params", Pos: params.Pos, Value: params},
	}}
}

// users are the workloads that have a resource: web, or what the golden says.
func users(m object.Value) any {
	v, ok := m.Get("users")
	if !ok {
		return []any{map[string]any{"name": "web", "namespace": "shop"}}
	}
	return json.RawMessage(v.JSON())
}

// made writes what a module made of resources: each result, and its objects.
func made(t testing.TB, res evaluate.Result) []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(res.Provisioned)) {
		one := res.Provisioned[name]
		var result any
		require.NoError(t, json.Unmarshal(one.JSON, &result))
		b.WriteString("=== " + name + "\n")
		e := yaml.NewEncoder(&b)
		e.SetIndent(2)
		require.NoError(t, e.Encode(result))
		require.NoError(t, e.Close())
		b.Write(stream(t, one.Nodes))
		for _, n := range one.Nodes {
			for _, d := range n.DependsOn {
				fmt.Fprintf(&b, "# %s comes after %s\n", n.ID, d.ID)
			}
			for _, r := range n.ReadyWhen {
				if r.Type == object.ReadyExists {
					fmt.Fprintf(&b, "# %s is ready as soon as it exists\n", n.ID)
					continue
				}
				fmt.Fprintf(&b, "# %s is ready when %s is %s\n", n.ID, r.Condition, r.Status)
			}
			if n.Apply != (object.Apply{}) {
				fmt.Fprintf(&b, "# %s: deletion %s, prune %t\n", n.ID, n.Apply.Deletion, *n.Apply.Prune)
			}
		}
	}
	return []byte(b.String())
}

// The entries do not import the schema, for speed; unified with it they make the
// same.
func TestProvisionersKeepToTheSchema(t *testing.T) {
	files, _ := cue.Module("provisioners")
	tree, entries := fstest.MapFS{}, 0
	for path, text := range contents(t, files) {
		with := text
		for _, before := range []string{"", "\t_server\n", "\t_database\n", "\t_target\n", "\t_owner\n", "\t_public\n", "\t_owner\n\t_public\n", "\t_volume\n", "\t_local\n", "\t_localDatabase\n"} {
			with = strings.ReplaceAll(with, ": {\n"+before+"\ttype:", ": schema.#Provisioner & {\n"+before+"\ttype:")
		}
		if with != text {
			entries += strings.Count(with, "schema.#Provisioner")
			with = strings.Replace(with, "package provisioners\n", "package provisioners\n\nimport \"ropewalk.dev/schema\"\n", 1)
		}
		tree[path] = &fstest.MapFile{Data: []byte(with)}
	}
	e := evaluator()
	require.Equal(t, len(catalog(t, e)), entries)
	checked := evaluate.Module{FS: tree, Digest: "checked", Label: "checked"}
	for path, a := range cases(t, "provisioners/*.txtar") {
		if strings.HasSuffix(path, "mistakes.txtar") {
			continue
		}
		for _, backend := range backends {
			req := asked(t, e, path, backend, file(t, a, "input.yaml"))
			want, err := e.Evaluate(context.Background(), req)
			require.NoError(t, err)
			req.Module = checked
			got, err := e.Evaluate(context.Background(), req)
			require.NoError(t, err, path)
			for name, one := range want.Provisioned {
				require.Equal(t, stream(t, one.Nodes), stream(t, got.Provisioned[name].Nodes), path)
				require.Equal(t, withEmpty(t, one.JSON), withEmpty(t, got.Provisioned[name].JSON), path)
			}
		}
	}
}

// withEmpty is a result with the fields that the schema adds.
func withEmpty(t *testing.T, data []byte) map[string]any {
	out := map[string]any{"outputs": map[string]any{}, "sensitive": map[string]any{}}
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

// What people get wrong is said at their own line.
func TestProvisionersExplainTypicalMistakes(t *testing.T) {
	e := evaluator()
	const path = "testdata/provisioners/mistakes.txtar"
	a, err := txtar.ParseFile(path)
	require.NoError(t, err)
	for _, name := range mistakes(a) {
		t.Run(name, func(t *testing.T) {
			result, err := e.Evaluate(context.Background(), asked(t, e, name, spec.BackendExternalSecrets, file(t, a, name)))
			errs := append(object.AsErrors(err, object.StageEvaluate), result.Warnings...)
			require.NotEmpty(t, errs)
			for _, one := range errs {
				require.Equal(t, name, one.Pos.File, "the user's own file comes first: %s", one)
			}
			golden(t, path, a, strings.TrimSuffix(name, ".yaml")+".txt", []byte(errs.Error()+"\n"))
		})
	}
}

// Each golden is made for both backends. What is the same is written once.
func TestProvisionersMakeWhatTheGoldensSay(t *testing.T) {
	e, checker := evaluator(), check.New(check.Options{KubeVersion: "1.36"})
	seen := map[string]bool{}
	for path, a := range cases(t, "provisioners/*.txtar") {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		if name == "mistakes" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var first []byte
			for _, backend := range backends {
				req := asked(t, e, "input.yaml", backend, file(t, a, "input.yaml"))
				res, err := e.Evaluate(context.Background(), req)
				require.NoError(t, err)
				var nodes []*object.Node
				for _, name := range slices.Sorted(maps.Keys(res.Provisioned)) {
					nodes = append(nodes, res.Provisioned[name].Nodes...)
				}
				findings, err := checker.Check(t.Context(), nodes)
				require.NoError(t, err)
				require.Empty(t, findings)
				got := made(t, res)
				if first == nil {
					first = got
				} else if string(got) == string(first) {
					got = []byte("The same.\n")
				}
				golden(t, path, a, backend+".yaml", got)
				resources, _ := req.Input.Get("resources")
				for _, m := range resources.Members {
					number, _ := m.Value.Get("provisioner")
					seen[number.Text] = true
				}
			}
		})
	}
	require.Len(t, seen, len(catalog(t, e)), "every provisioner has a golden")
}

// What nearly every workload asks for, once the module is warm: together, and
// each resource by itself.
func BenchmarkProvisionWarm(b *testing.B) {
	archive, err := txtar.ParseFile("testdata/provisioners/typical.txtar")
	require.NoError(b, err)
	e := evaluator()
	req := asked(b, e, "input.yaml", spec.BackendExternalSecrets, archive.Files[0].Data)
	b.Run("typical", func(b *testing.B) { renderWarm(b, req) })
	resources, _ := req.Input.Get("resources")
	for _, m := range resources.Members {
		one := req
		one.Input = req.Input.Merge(object.Value{})
		one.Input.Members = slices.Clone(req.Input.Members)
		for i := range one.Input.Members {
			if one.Input.Members[i].Name == "resources" {
				one.Input.Members[i].Value = object.Value{Kind: object.KindMap, Members: []object.Member{m}}
			}
		}
		b.Run(m.Name, func(b *testing.B) { renderWarm(b, one) })
	}
}
