// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/object"
)

// equal requires that both evaluators give the same for a request.
func equal(t *testing.T, p *Pool, in *inprocess.Evaluator, req evaluate.Request, queries []evaluate.Query) {
	t.Helper()
	want, wantErr := in.Evaluate(t.Context(), req)
	for range 2 { // cold and warm
		got, err := p.Evaluate(t.Context(), req)
		require.Equal(t, want, got)
		equalErrors(t, wantErr, err)
	}
	wantOrigins, wantErr := in.Trace(t.Context(), req, queries)
	origins, err := p.Trace(t.Context(), req, queries)
	require.Equal(t, wantOrigins, origins)
	equalErrors(t, wantErr, err)
}

// equalErrors compares all that an error says.
func equalErrors(t *testing.T, want, got error) {
	t.Helper()
	if want == nil {
		require.NoError(t, got)
		return
	}
	var a, b object.Errors
	require.ErrorAs(t, want, &a)
	require.ErrorAs(t, got, &b)
	require.Equal(t, want.Error(), got.Error())
	require.Len(t, b, len(a))
	for i := range a {
		x, y := *a[i], *b[i]
		x.Err, y.Err = nil, nil
		require.Equal(t, x, y)
		for _, c := range sentinels() {
			require.Equal(t, isAny(a[i].Err, c), isAny(b[i].Err, c))
		}
	}
}

// anyNodes are queries for each object of a result.
func anyNodes(r evaluate.Result) []evaluate.Query {
	queries := []evaluate.Query{{Node: "web/none", Path: object.Fields("spec")}}
	for _, n := range r.Nodes {
		queries = append(queries, evaluate.Query{Node: n.ID}, evaluate.Query{Node: n.ID, Path: object.Fields("metadata", "name")})
	}
	return queries
}

func TestAPoolGivesTheSameAsInProcess(t *testing.T) {
	t.Parallel()
	in := inprocess.New(inprocess.Options{Schemas: testSchemas()})
	p := newTestPool(t, Options{Size: 1, Schemas: testSchemas()})
	names, err := filepath.Glob("../inprocess/testdata/cases/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			require.NoError(t, err)
			req, queries := requestOf(t, archive)
			req.Module.Digest = name
			for i := range req.Policies {
				req.Policies[i].Module.Digest = name + "/" + req.Policies[i].Name
			}
			result, err := in.Evaluate(t.Context(), req)
			if err == nil {
				queries = append(queries, anyNodes(result)...)
			}
			equal(t, p, in, req, queries)
			req.Module.Digest = ""
			equal(t, p, in, req, queries)
		})
	}
}

func TestAPoolGivesTheSameErrorsAsInProcess(t *testing.T) {
	in := inprocess.New(inprocess.Options{})
	p := newTestPool(t, Options{Size: 1})
	for name, change := range map[string]func(r *evaluate.Request){
		"a module without files":       func(r *evaluate.Request) { r.Module.FS, r.Module.Digest = nil, "none" },
		"a folder that is not there":   func(r *evaluate.Request) { r.Module.Dir = "nowhere" },
		"a folder outside of the tree": func(r *evaluate.Request) { r.Module.Dir = "../x" },
		"a symbolic link":              func(r *evaluate.Request) { r.Module = linkModule() },
		"invalid UTF-8 in a module":    func(r *evaluate.Request) { r.Module = oneFile("package x\nx: \"\xff\"\n") },
		"invalid UTF-8 in the input": func(r *evaluate.Request) {
			r.Input = fieldOf("name", object.Value{Kind: object.KindString, Text: "\xff"})
		},
		"an input that is too large": func(r *evaluate.Request) {
			r.Input = fieldOf("name", object.Value{Kind: object.KindString, Text: strings.Repeat("x", 10<<20)})
		},
		"a wrong value": func(r *evaluate.Request) { r.Input = withReplicas(-1) },
		"an unknown field": func(r *evaluate.Request) {
			r.Input = fieldOf("replica", object.Value{Kind: object.KindNumber, Text: "1"})
		},
		"a module that ends in a panic": func(r *evaluate.Request) { r.Module = oneFile(hostileFile(t, "panic")) },
		"a module that contains itself": func(r *evaluate.Request) { r.Module = oneFile(hostileFile(t, "structural-cycle")) },
		"an older version": func(r *evaluate.Request) {
			older := oneFile(strings.Replace(goodModule, "replicas", "copies", 1))
			r.Older = &older
		},
		"an older version that is broken": func(r *evaluate.Request) {
			older := oneFile("package m\na: {")
			r.Older = &older
		},
		"a policy without files": func(r *evaluate.Request) {
			r.Policies = []evaluate.Policy{{Name: "p", Pos: object.Pos{File: "specs/web.yaml", Line: 20}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			req := ask(goodModule)
			change(&req)
			equal(t, p, in, req, anyNodes(evaluate.Result{}))
		})
	}
}

func hostileFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/hostile/" + name + ".cue")
	require.NoError(t, err)
	return string(text)
}

func linkModule() evaluate.Module {
	m := oneFile(goodModule)
	m.Digest = "link"
	m.FS = fstest.MapFS{"module.cue": {Data: []byte(goodModule)}, "link.cue": {Data: []byte("/etc/passwd"), Mode: os.ModeSymlink}}
	return m
}
