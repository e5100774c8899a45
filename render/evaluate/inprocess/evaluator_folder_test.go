// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"path"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// inFolder is a package in a folder of a module in a folder, which imports another
// package of the module.
func inFolder(root, folder string) evaluate.Request {
	at := func(name string) string { return path.Join(root, name) }
	return evaluate.Request{Spec: "s", Module: evaluate.Module{
		Digest: path.Join(root, folder), Label: "r", Dir: path.Join(root, folder),
		FS: fstest.MapFS{
			at("cue.mod/module.cue"):         {Data: []byte("module: \"m.example@v0\"\nlanguage: version: \"v0.17.0\"\n")},
			at("parts/parts.cue"):            {Data: []byte("package parts\n\nname: \"x\"\n")},
			at(path.Join(folder, "web.cue")): {Data: []byte("package web\n\nimport \"m.example/parts\"\n\na: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: parts.name}\n")},
		},
	}}
}

func TestFoldersWithUnusualNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ root, folder string }{
		{".", "web"}, {".", "."}, {"my repo", "web"}, {"my repo/of @ all", "."}, {"my repo", "Web_1+2/a~.b"}, {"m\u00fc: x", "deep/web"},
	} {
		result, err := New(Options{}).Evaluate(t.Context(), inFolder(c.root, c.folder))
		require.NoError(t, err, "%v", c)
		require.Len(t, result.Nodes, 1, "%v", c)
	}
	for _, c := range []struct{ root, folder string }{
		{".", "my web"}, {"mods", "my web"}, {"my mods", "my web/sub"}, {".", "w\u00e9b"}, {".", "a@b"}, {".", "a:b"}, {".", "web."},
	} {
		req := inFolder(c.root, c.folder)
		_, err := New(Options{}).Evaluate(t.Context(), req)
		var one *object.Error
		require.ErrorAs(t, err, &one, "%v", c)
		require.Contains(t, one.Pos.File, path.Join("r", req.Module.Dir), "%v", c)
		require.EqualError(t, one.Err, "the package in the folder \""+req.Module.Dir+"\" cannot import anything: CUE has no name for it")
		require.Contains(t, one.Hint, "rename the folder")
	}
}
