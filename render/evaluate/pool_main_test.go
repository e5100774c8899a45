// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

// TestMain is the worker of the pools under test: the test binary starts
// itself, as the program does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case WorkerArg:
			if err := ServeWorker(context.Background(), os.Stdin, os.Stdout, Options{}); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(3)
			}
			os.Exit(0)
		case "worker-exits":
			fmt.Fprintln(os.Stderr, "unknown command")
			os.Exit(2)
		case "worker-babbles":
			fmt.Println("usage: ropewalk [command] and so on, which is no frame at all")
			time.Sleep(time.Minute)
		}
	}
	os.Exit(m.Run())
}

func newTestPool(t testing.TB, opts PoolOptions) *Pool {
	t.Helper()
	p, err := NewPool(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
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

// hangs is a module that never comes to an end.
const hangs = `package hangs
x: (int | {d: d}) & (int | {}) & (int | {})
`

// oneFile is a module of one file; its digest is its text.
func oneFile(text string) Module {
	return Module{FS: fstest.MapFS{"module.cue": {Data: []byte(text)}}, Digest: text, Label: "modules/test"}
}

func ask(text string) Request {
	return Request{
		Spec: "web", Pos: object.Pos{File: "specs/web.yaml", Line: 4, Column: 3},
		Module: oneFile(text), InputPath: object.Fields("spec", "input"),
		Context: object.Context{Name: "web", Namespace: "shop", Engine: "plain", KubeVersion: "1.36", ClusterDomain: "cluster.local"},
	}
}

// field is a map with one member.
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

func requireGood(t testing.TB, p *Pool) {
	t.Helper()
	result, err := p.Evaluate(t.Context(), ask(goodModule))
	require.NoError(t, err)
	require.Len(t, result.Nodes, 1)
}
