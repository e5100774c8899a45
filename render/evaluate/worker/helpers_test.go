// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

func requestOf(t *testing.T, archive *txtar.Archive) (evaluate.Request, []evaluate.Query) {
	t.Helper()
	req := evaluate.Request{
		Spec: "api", Pos: object.Pos{File: "spec.yaml", Line: 1, Column: 1},
		Module:    evaluate.Module{Label: "modules/m", Digest: "module", Tags: map[string]string{}},
		InputPath: object.Fields("spec", "input"),
		Context:   testContext(),
	}
	files := fstest.MapFS{}
	policies := map[string]fstest.MapFS{}
	var params object.Value
	for _, f := range archive.Files {
		switch {
		case f.Name == "input.yaml":
			req.Input = parseYAML(t, f.Name, string(f.Data))
		case f.Name == "params.yaml":
			params = parseYAML(t, f.Name, string(f.Data))
		case strings.HasPrefix(f.Name, "module/"):
			files[strings.TrimPrefix(f.Name, "module/")] = &fstest.MapFile{Data: f.Data}
		case strings.HasPrefix(f.Name, "policies/"):
			name, file, _ := strings.Cut(strings.TrimPrefix(f.Name, "policies/"), "/")
			if policies[name] == nil {
				policies[name] = fstest.MapFS{}
			}
			policies[name][file] = &fstest.MapFile{Data: f.Data}
		}
	}
	req.Module.FS = files
	for _, name := range object.SortedKeys(policies) {
		input, _ := params.Get(name)
		req.Policies = append(req.Policies, evaluate.Policy{
			Name: name, Input: input, Pos: object.Pos{File: "spec.yaml", Line: 9, Column: 3},
			Module: evaluate.Module{FS: policies[name], Digest: name, Label: "policies/" + name},
		})
	}
	queries := directives(archive, &req)
	return req, queries
}

// directives reads the comment of an archive.
func directives(archive *txtar.Archive, req *evaluate.Request) []evaluate.Query {
	var queries []evaluate.Query
	for line := range strings.Lines(string(archive.Comment)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "dir":
			req.Module.Dir = value
		case "tag":
			k, v, _ := strings.Cut(value, "=")
			req.Module.Tags[k] = v
		case "catalog":
			req.Operation = evaluate.OpCatalog
		case "describe":
			req.Operation = evaluate.OpDescribe
		case "allow-empty":
			req.AllowEmpty = true
		case "trace":
			node, path, _ := strings.Cut(value, " ")
			queries = append(queries, evaluate.Query{Node: object.MakeID("api", node), Path: object.ParsePath(path)})
		}
	}
	return queries
}

func testContext() object.Context {
	return object.Context{
		Name: "api", Namespace: "prod", Engine: "plain", KubeVersion: "1.36.0", ClusterDomain: "cluster.local",
	}
}

// testSchemas is a schema like the one that Ropewalk ships.
func testSchemas() map[string]fs.FS {
	return map[string]fs.FS{"ropewalk.dev/schema": os.DirFS("../inprocess/testdata/schema")}
}

// parseYAML reads a document with the position of every part.
func parseYAML(t testing.TB, file, text string) object.Value {
	t.Helper()
	var n yaml.Node
	require.NoError(t, yaml.NewDecoder(bytes.NewReader([]byte(text))).Decode(&n))
	return nodeValue(file, n.Content[0])
}

func nodeValue(file string, n *yaml.Node) object.Value {
	v := object.Value{Pos: object.Pos{File: file, Line: n.Line, Column: n.Column}}
	switch n.Kind {
	case yaml.MappingNode:
		v.Kind = object.KindMap
		for i := 0; i < len(n.Content); i += 2 {
			k := n.Content[i]
			v.Members = append(v.Members, object.Member{
				Name: k.Value, Pos: object.Pos{File: file, Line: k.Line, Column: k.Column}, Value: nodeValue(file, n.Content[i+1]),
			})
		}
	case yaml.SequenceNode:
		v.Kind = object.KindList
		for _, c := range n.Content {
			v.Items = append(v.Items, nodeValue(file, c))
		}
	default:
		v.Text = n.Value
		switch n.Tag {
		case "!!null":
			v.Kind, v.Text = object.KindNull, ""
		case "!!bool":
			v.Kind = object.KindBool
		case "!!int", "!!float":
			v.Kind = object.KindNumber
		default:
			v.Kind = object.KindString
		}
	}
	return v
}

// oneFile is a module of one file; its digest is its text.
func oneFile(text string) evaluate.Module {
	return evaluate.Module{FS: fstest.MapFS{"module.cue": {Data: []byte(text)}}, Digest: text, Label: "modules/test"}
}

func ask(text string) evaluate.Request {
	return evaluate.Request{
		Spec: "web", Pos: object.Pos{File: "specs/web.yaml", Line: 4, Column: 3},
		Module: oneFile(text), InputPath: object.Fields("spec", "input"),
		Context: object.Context{Name: "web", Namespace: "shop", Engine: "plain", KubeVersion: "1.36", ClusterDomain: "cluster.local"},
	}
}

// fieldOf is a map with one member.
func fieldOf(name string, v object.Value) object.Value {
	v.Pos = object.Pos{File: "specs/web.yaml", Line: 9, Column: 20}
	return object.Value{
		Kind: object.KindMap, Pos: object.Pos{File: "specs/web.yaml", Line: 9, Column: 10},
		Members: []object.Member{{Name: name, Pos: object.Pos{File: "specs/web.yaml", Line: 9, Column: 11}, Value: v}},
	}
}

func withReplicas(n int) object.Value {
	return fieldOf("replicas", object.Value{Kind: object.KindNumber, Text: fmt.Sprint(n)})
}

// goodModule is a small module that renders one object.
const goodModule = `package good
ropewalk: apiVersion: "v1alpha1"
#Input: {name: string | *"web", replicas: int & >0 | *1, ports: [...int]}
input: #Input
graph: nodes: web: object: {
	apiVersion: "apps/v1", kind: "Deployment"
	metadata: name: input.name
	spec: {replicas: input.replicas, ratio: 0.5, ports: input.ports}
}
`

func inputNames(r evaluate.Result) []string {
	var out []string
	for _, in := range r.Inputs {
		out = append(out, in.Path.String())
	}
	return out
}

// describing asks what a module of one file takes.
func describing(text string) evaluate.Request {
	return evaluate.Request{Module: oneFile(text), Operation: evaluate.OpDescribe}
}
