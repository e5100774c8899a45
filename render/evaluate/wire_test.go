// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func wirePos(line int) object.Pos { return object.Pos{File: "a.yaml", Line: line, Column: 2} }

// wireRequest uses every field of a request.
func wireRequest() Request {
	input := object.Value{Kind: object.KindMap, Pos: wirePos(1), Members: []object.Member{
		{Name: "text", Pos: wirePos(2), Value: object.Value{Kind: object.KindString, Pos: wirePos(3), Text: "ü\x00\xff"}},
		{Name: "", Value: object.Value{Kind: object.KindNull}},
		{Name: "list", Value: object.Value{Kind: object.KindList, Items: []object.Value{
			{Kind: object.KindNumber, Text: "1e400", Pos: object.Pos{File: "other.yaml"}},
			{Kind: object.KindBool, Text: "true"},
			{Kind: object.KindList, Items: []object.Value{}},
			{Kind: object.KindMap},
		}}},
	}}
	m := Module{
		FS:     fstest.MapFS{"a.cue": {Data: []byte("a: 1")}, "cue.mod/module.cue": {Data: []byte("x")}, "link": {Mode: fs.ModeSymlink, Data: []byte("/etc/passwd")}},
		Digest: "sha256:1", Dir: "sub", Label: "modules/a", Tags: map[string]string{"b": "1", "a": ""},
		Sources: map[string]Source{"a.cue": {Pos: wirePos(4), Indent: 3}},
	}
	return Request{
		Spec: "web", Pos: wirePos(5), Module: m, Input: input, InputPath: object.Path{object.Field("spec"), object.Index(3)},
		Context:    object.Context{Name: "1", Namespace: "2", Environment: "3", Engine: "4", KubeVersion: "5", ClusterDomain: "6"},
		Policies:   []Policy{{Name: "p", Module: Module{Digest: "sha256:2"}, Input: input, Pos: wirePos(6)}},
		Limits:     Limits{Timeout: math.MaxInt64, Memory: math.MaxInt64},
		AllowEmpty: true,
		Catalog:    true,
		Describe:   true,
	}
}

// wireReply uses every field of a reply.
func wireReply() reply {
	prune := false
	mistakes := object.Errors{
		{
			Stage: object.StageEvaluate, Severity: object.SeverityWarning, Pos: wirePos(1), Path: "a.b", Node: "web/x", Policy: "p",
			Err: errors.New("bad"), Hint: "do", Notes: []object.Note{{Pos: wirePos(2), Text: "n"}},
		},
		{Err: because(ErrMemory, "much")},
		{},
	}
	return reply{
		crash: "c", retire: true, live: -1, mistakes: mistakes,
		result: Result{
			Flavour: FlavourNative, Warnings: mistakes,
			Violations: []Violation{{
				Policy: "p", Severity: object.SeverityWarning, Message: "m", Node: "web/x",
				Path: object.Fields("a"), PolicyPos: wirePos(3),
			}},
			Nodes: []*object.Node{
				{
					ID: "web/x",
					Object: object.Object{
						"int": int64(math.MinInt64), "float": 1.0, "null": nil, "yes": true, "no": false, "text": "ü",
						"list": []any{int64(1), []any{}, map[string]any{}}, "map": map[string]any{"": "x"},
					},
					DependsOn: []object.Dependency{{ID: "db/", Pos: wirePos(4)}},
					ReadyWhen: []object.Ready{{Type: "CEL", Condition: "c", Status: "s", Expr: "e", Pos: wirePos(5)}},
					Apply:     object.Apply{Mode: "a", Conflict: "b", Adopt: "c", Deletion: "d", Prune: &prune},
					Set:       2, SetName: "s", Pos: wirePos(6), SpecPos: wirePos(7),
				},
				{ID: "web/empty"},
			},
			Provisioned: map[string]Provisioned{
				"db":    {JSON: []byte(`{"outputs":{}}`), Nodes: []*object.Node{{ID: "web/resource-db-a", Pos: wirePos(2)}}},
				"cache": {JSON: []byte(`{}`)},
			},
			Catalog: []Provisioner{
				{
					Index: 3, Type: "t", Class: "c", ID: "i", Description: "d",
					Params:  []Param{{Name: "n", Type: "text", Default: `"x"`, Required: true, Doc: "a\nb"}, {}},
					Outputs: []string{"host", "port"}, Sensitive: []string{"password"}, Pos: wirePos(3),
				},
				{},
			},
			Inputs: []Input{
				{
					Path: object.Fields("a", "b"), Type: InputNumber, Collection: CollectionMap, Expected: "a map", Default: "{}", Doc: "d",
					Required: true, Cut: true,
				},
				{},
			},
		},
		origins: []Origin{{Input: wirePos(8), InputPath: object.Fields("b"), Module: wirePos(9)}, {}},
	}
}

func TestARequestSurvivesTheWire(t *testing.T) {
	want := wireRequest()
	e := newEncoder()
	e.request(want, []treeID{1, 0})
	e.queries([]Query{{Node: "web/x", Path: object.Fields("a", "b")}})
	require.NoError(t, e.err)
	d := &decoder{data: string(e.buf[frameHead:])}
	got := d.request(map[treeID]fs.FS{1: want.Module.FS})
	queries := d.queries()
	require.NoError(t, d.finish())
	require.Equal(t, want, got)
	require.Equal(t, []Query{{Node: "web/x", Path: object.Fields("a", "b")}}, queries)
}

func TestAReplySurvivesTheWire(t *testing.T) {
	for name, want := range map[string]reply{"that is full": wireReply(), "that is empty": {}} {
		t.Run(name, func(t *testing.T) {
			e := newEncoder()
			e.reply(&want)
			require.NoError(t, e.err)
			d := &decoder{data: string(e.buf[frameHead:])}
			got := d.reply()
			require.NoError(t, d.finish())
			require.Equal(t, want, got)
		})
	}
}

func TestATreeSurvivesTheWire(t *testing.T) {
	want := wireRequest().Module.FS
	e := newEncoder()
	e.tree(want)
	e.tree(nil)
	require.NoError(t, e.err)
	d := &decoder{data: string(e.buf[frameHead:])}
	got := d.tree()
	require.Nil(t, d.tree())
	require.NoError(t, d.finish())
	for _, name := range []string{"a.cue", "cue.mod/module.cue"} {
		a, err := fs.ReadFile(want, name)
		require.NoError(t, err)
		b, err := fs.ReadFile(got, name)
		require.NoError(t, err)
		require.Equal(t, a, b)
	}
	info, err := fs.Stat(got, "link")
	require.NoError(t, err)
	require.Equal(t, fs.ModeSymlink, info.Mode().Type(), "what is no regular file must be refused at the other end too")
	require.Zero(t, info.Size())
}

func TestWhatCannotBeSentIsAnError(t *testing.T) {
	deepList, deepValue := any(nil), object.Value{}
	for range wireDepth + 1 {
		deepList = []any{deepList}
		deepValue = object.Value{Kind: object.KindList, Items: []object.Value{deepValue}}
	}
	for name, write := range map[string]func(e *encoder){
		"an object with a Go type in it": func(e *encoder) { e.any(map[string]any{"a": 1}, 0) },
		"an object that is too deep":     func(e *encoder) { e.any(deepList, 0) },
		"a value that is too deep":       func(e *encoder) { e.value(deepValue, 0) },
		"a tree that cannot be read":     func(e *encoder) { e.tree(brokenFS{}) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEncoder()
			write(e)
			require.Error(t, e.err)
		})
	}
}

type brokenFS struct{}

func (brokenFS) Open(string) (fs.File, error) { return nil, errors.New("disk on fire") }

func TestFramesAreBounded(t *testing.T) {
	e := newEncoder()
	e.text("hello")
	var b bytes.Buffer
	require.ErrorContains(t, writeFrame(&b, frameHello, e, 3), "over the limit of 3")
	require.Zero(t, b.Len())
	require.NoError(t, writeFrame(&b, frameHello, e, 100))
	whole := b.Bytes()
	f, err := readFrame(bufio.NewReader(bytes.NewReader(whole)), 100)
	require.NoError(t, err)
	require.Equal(t, frame{frameHello, "\x05hello"}, f)
	_, err = readFrame(bufio.NewReader(bytes.NewReader(whole)), 3)
	require.ErrorContains(t, err, "over the limit of 3")
	_, err = readFrame(bufio.NewReader(bytes.NewReader(nil)), 3)
	require.ErrorIs(t, err, io.EOF)
	for n := 1; n < len(whole); n++ {
		_, err = readFrame(bufio.NewReader(bytes.NewReader(whole[:n])), 100)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
}

// FuzzReply is the side of the pool: what a worker sends may be anything.
func FuzzReply(f *testing.F) {
	for _, r := range []reply{wireReply(), {}} {
		e := newEncoder()
		e.reply(&r)
		f.Add(string(e.buf[frameHead:]))
	}
	f.Fuzz(func(t *testing.T, data string) {
		d := &decoder{data: data}
		r := d.reply()
		if d.finish() != nil {
			return
		}
		e := newEncoder()
		e.reply(&r)
		require.NoError(t, e.err)
		again := &decoder{data: string(e.buf[frameHead:])}
		again.reply()
		require.NoError(t, again.finish())
	})
}

// FuzzRequest is the side of the worker.
func FuzzRequest(f *testing.F) {
	e := newEncoder()
	e.request(wireRequest(), []treeID{1, 0})
	f.Add(string(e.buf[frameHead:]))
	e = newEncoder()
	e.hello(hello{memory: 1, schemas: map[string]fs.FS{"x": wireRequest().Module.FS}})
	f.Add(string(e.buf[frameHead:]))
	f.Fuzz(func(t *testing.T, data string) {
		d := &decoder{data: data}
		req := d.request(nil)
		d.queries()
		if d.finish() == nil {
			e := newEncoder()
			e.request(req, make([]treeID, 1+len(req.Policies)))
			require.NoError(t, e.err)
		}
		d = &decoder{data: data}
		d.hello()
		_ = d.finish()
		d = &decoder{data: data}
		d.tree()
		_ = d.finish()
		_, _ = readFrame(bufio.NewReader(bytes.NewReader([]byte(data))), 1<<16)
	})
}
