// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cue_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// update rewrites goldens instead of comparing with them.
func update() bool { return os.Getenv("ROPEWALK_UPDATE") == "1" }

func evaluator() *inprocess.Evaluator {
	return inprocess.New(inprocess.Options{
		Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()},
	})
}

func embedded(t testing.TB, name string) evaluate.Module {
	files, ok := cue.Module(name)
	require.True(t, ok, name)
	return evaluate.Module{FS: files, Digest: "embedded:" + name, Label: "embedded:" + name}
}

// request asks for a spec called web in namespace shop.
func request(t testing.TB, module evaluate.Module, file string, input []byte) evaluate.Request {
	value, err := spec.ParseValue(spec.File{Name: file, Data: input})
	require.NoError(t, err)
	return evaluate.Request{
		Spec:   "web",
		Pos:    object.Pos{File: file, Line: 1, Column: 1},
		Module: module,
		Input:  value,
		Context: object.Context{
			Name: "web", Namespace: "shop", Environment: "prod",
			Engine: "plain", KubeVersion: "1.36", ClusterDomain: "cluster.local",
		},
	}
}

// stream writes nodes as YAML documents, each below its id.
func stream(t testing.TB, nodes []*object.Node) []byte {
	var b strings.Builder
	for _, n := range nodes {
		b.WriteString("# " + string(n.ID) + "\n")
		e := yaml.NewEncoder(&b)
		e.SetIndent(2)
		require.NoError(t, e.Encode(map[string]any(n.Object)))
		require.NoError(t, e.Close())
		b.WriteString("---\n")
	}
	return []byte(strings.TrimSuffix(b.String(), "---\n"))
}

// cases reads the txtar archives of a folder of testdata.
func cases(t *testing.T, pattern string) map[string]*txtar.Archive {
	paths, err := filepath.Glob(filepath.Join("testdata", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, paths, pattern)
	out := make(map[string]*txtar.Archive, len(paths))
	for _, p := range paths {
		a, err := txtar.ParseFile(p)
		require.NoError(t, err, p)
		out[p] = a
	}
	return out
}

// file is the content of a file of an archive.
func file(t *testing.T, a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	require.Failf(t, "no such file", "%s", name)
	return nil
}

// golden compares got with a file of an archive, or writes it there.
func golden(t *testing.T, path string, a *txtar.Archive, name string, got []byte) {
	if !update() {
		require.Equal(t, string(file(t, a, name)), string(got), "%s: %s; ROPEWALK_UPDATE=1 rewrites it", path, name)
		return
	}
	for i, f := range a.Files {
		if f.Name == name {
			a.Files[i].Data = got
			require.NoError(t, os.WriteFile(path, txtar.Format(a), 0o644))
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: got})
	require.NoError(t, os.WriteFile(path, txtar.Format(a), 0o644))
}
