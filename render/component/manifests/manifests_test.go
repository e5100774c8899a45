// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/component/manifests"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

func TestFilesOfAFolder(t *testing.T) {
	files := fstest.MapFS{}
	for _, name := range []string{"a/B.YAML", "a/c.Yml", "a/d.JSON", "a/e.yaml", "a/f+g h.yml", "a/.hidden.yaml", "a/.git/x.yaml", "a/README.md", "a/e.yaml.bak"} {
		files[name] = &fstest.MapFile{}
	}
	got, err := manifests.Files(files, ".", spec.Manifests{Paths: []spec.Text{{Text: "a"}}}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a/B.YAML", "a/c.Yml", "a/d.JSON", "a/e.yaml", "a/f+g h.yml"}, got)
}

// counted counts how often the files of a folder are read.
type counted struct {
	fstest.MapFS
	reads map[string]int
}

func (c counted) ReadFile(name string) ([]byte, error) {
	c.reads[name]++
	return fs.ReadFile(c.MapFS, name)
}

func TestPartsAreFoundInOnePass(t *testing.T) {
	files := counted{fstest.MapFS{
		"a.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  k: n\n")},
		"b.yaml": {Data: []byte("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: w\n")},
		"c.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: z}\n")},
	}, map[string]int{}}
	req := component.Request{
		FS: files, Dir: ".",
		Component: spec.Component{Manifests: &spec.Manifests{Paths: []spec.Text{{Text: "a.yaml"}, {Text: "b.yaml"}, {Text: "c.yaml"}}}},
		At: func(name string, line, column int) object.Pos {
			return object.Pos{File: name, Line: line, Column: column}
		},
	}
	part := func(name string, path ...string) manifests.Part {
		return manifests.Part{Ref: object.Ref{Kind: "ConfigMap", Name: name}, Path: object.Fields(path...)}
	}
	got := manifests.Trace(t.Context(), req, []manifests.Part{part("w", "metadata", "name"), part("x", "data", "k"), part("x"), part("none")})
	require.Equal(t, []manifests.Place{
		{Pos: object.Pos{File: "b.yaml", Line: 7, Column: 11}}, {Pos: object.Pos{File: "a.yaml", Line: 5, Column: 6}, Written: "n"}, {Pos: object.Pos{File: "a.yaml", Line: 1, Column: 1}}, {},
	}, got)
	require.Equal(t, map[string]int{"a.yaml": 1, "b.yaml": 1, "c.yaml": 1}, files.reads)
}

func TestPlacesOfItemsOfAList(t *testing.T) {
	list := "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n- apiVersion: v1\n  kind: List\n  items:\n  - {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"
	build := func(text string) (component.Output, error) {
		return manifests.Build(t.Context(), component.Request{
			FS: fstest.MapFS{"a.yaml": {Data: []byte(text)}}, Dir: ".",
			Component: spec.Component{Manifests: &spec.Manifests{Paths: []spec.Text{{Text: "a.yaml"}}}},
			At: func(name string, line, column int) object.Pos {
				return object.Pos{File: name, Line: line, Column: column}
			},
		})
	}
	got, err := build(list)
	require.NoError(t, err)
	require.Len(t, got.Objects, 2)
	require.Equal(t, "a.yaml:4:3", got.Objects[0].Pos.String())
	require.Equal(t, "a.yaml:10:5", got.Objects[1].Pos.String())
	_, err = build("apiVersion: v1\nkind: List\nitem: []\n")
	require.ErrorContains(t, err, `a.yaml:3:7: evaluate: item: a List has no such field`)
}
