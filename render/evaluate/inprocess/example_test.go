// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/object"
)

const greeting = `
ropewalk: apiVersion: "v1alpha1"
input: {name!: string, replicas: int & >0 | *1}
graph: nodes: web: object: {
	apiVersion: "apps/v1"
	kind:       "Deployment"
	metadata: name: input.name
	spec: replicas: input.replicas
}
`

// values is an input as render/spec reads it: every part knows its place.
func values(replicas string) object.Value {
	at := func(line, column int) object.Pos { return object.Pos{File: "api.yaml", Line: line, Column: column} }
	return object.Value{Kind: object.KindMap, Pos: at(7, 5), Members: []object.Member{
		{Name: "name", Pos: at(7, 5), Value: object.Value{Kind: object.KindString, Text: "api", Pos: at(7, 11)}},
		{Name: "replicas", Pos: at(8, 5), Value: object.Value{Kind: object.KindNumber, Text: replicas, Pos: at(8, 15)}},
	}}
}

func request(replicas string) evaluate.Request {
	return evaluate.Request{
		Spec: "api", Pos: object.Pos{File: "api.yaml", Line: 1, Column: 1},
		Module: evaluate.Module{
			FS:     fstest.MapFS{"module.cue": {Data: []byte(greeting)}},
			Digest: "sha256:1", Label: "modules/greeting",
		},
		Input:     values(replicas),
		InputPath: object.Fields("spec", "input"),
	}
}

// A module is evaluated with an input; what comes out are nodes.
func ExampleEvaluator_Evaluate() {
	e := inprocess.New(inprocess.Options{})
	result, err := e.Evaluate(context.Background(), request("3"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range result.Nodes {
		fmt.Println(n.ID, n.Object.Ref(), n.Object.Get("spec", "replicas"))
	}
	// Output: api/web Deployment.apps api 3
}

const licences = `
ropewalk: {apiVersion: "v1alpha1", kind: "Provisioners"}
#Provisioners: [{
	type:        "license"
	description: "a licence of the licence server"
	params: tier: *"basic" | "gold"
	outputs: url: "https://\(params.tier).license.example.com"
}]
`

// one is a map with one field.
func one(name string, v object.Value) object.Value {
	return object.Value{Kind: object.KindMap, Members: []object.Member{{Name: name, Value: v}}}
}

// A module of provisioners says what it can make, and makes it.
func ExampleEvaluator_Evaluate_provisioners() {
	e := inprocess.New(inprocess.Options{})
	req := evaluate.Request{Spec: "api", Operation: evaluate.OpCatalog, Module: evaluate.Module{
		FS: fstest.MapFS{"module.cue": {Data: []byte(licences)}}, Digest: "sha256:2", Label: "modules/licences",
	}}
	result, err := e.Evaluate(context.Background(), req)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range result.Catalog {
		fmt.Println(p.Index, p.Type, p.Params[0].Name, p.Params[0].Type, p.Outputs)
	}
	req.Operation = evaluate.OpRender
	// {"resources": {"key": {"provisioner": 0, "params": {"tier": "gold"}}}}
	req.Input = one("resources", one("key", object.Value{Kind: object.KindMap, Members: []object.Member{
		{Name: "provisioner", Value: object.Value{Kind: object.KindNumber, Text: "0"}},
		{Name: "params", Value: one("tier", object.Value{Kind: object.KindString, Text: "gold"})},
	}}))
	if result, err = e.Evaluate(context.Background(), req); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(result.Provisioned["key"].JSON))
	// Output:
	// 0 license tier one of "basic" or "gold" [url]
	// {"outputs":{"url":"https://gold.license.example.com"}}
}

// A mistake is reported at the user's own line.
func ExampleEvaluator_Evaluate_mistake() {
	e := inprocess.New(inprocess.Options{})
	_, err := e.Evaluate(context.Background(), request("0"))
	fmt.Println(err)
	// Output: api.yaml:8:15: evaluate: spec.input.replicas: expected an integer greater than 0, got 0
}

// A rendered value is traced back to the line that it was computed from.
func ExampleEvaluator_Trace() {
	e := inprocess.New(inprocess.Options{})
	origins, err := e.Trace(context.Background(), request("3"), []evaluate.Query{
		{Node: "api/web", Path: object.Fields("spec", "replicas")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(origins[0].Input, origins[0].InputPath, "by", origins[0].Module)
	// Output: api.yaml:8:15 replicas by modules/greeting/module.cue:8:8
}
