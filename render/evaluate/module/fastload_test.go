// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
)

// moduleFile is a module file with nothing but what every one has.
const moduleFile = "module: \"example.com/app@v0\"\nlanguage: version: \"v0.15.1\"\n"

func TestOnlyPlainModulesGoPastTheLoader(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		tags  map[string]string
		fast  bool
	}{
		"one file": {files: map[string]string{"a.cue": "package a\na: 1"}, fast: true},
		"a module file, the schema and CUE's own library": {
			files: map[string]string{
				"cue.mod/module.cue": moduleFile, "b.cue": "package a\nimport \"strings\"\nb: strings.ToUpper(\"b\")",
				"a.cue": "package a\nimport \"ropewalk.dev/schema\"\ncontext: schema.#Context",
			},
			fast: true,
		},
		"a module file in one struct": {
			files: map[string]string{"cue.mod/module.cue": "module: \"example.com/app@v0\"\nlanguage: {version: \"v0.9.0\"}", "a.cue": "package a"},
			fast:  true,
		},
		"a language of the future":   {files: map[string]string{"cue.mod/module.cue": "module: \"example.com/app@v0\"\nlanguage: version: \"v0.99.0\"", "a.cue": "package a"}},
		"a module with dependencies": {files: map[string]string{"cue.mod/module.cue": moduleFile + "deps: {}", "a.cue": "package a"}},
		"a path without its major version": {
			files: map[string]string{"cue.mod/module.cue": "module: \"example.com/app\"\nlanguage: version: \"v0.9.0\"", "a.cue": "package a"},
			fast:  true,
		},
		"no package clause":         {files: map[string]string{"a.cue": "a: 1"}},
		"two packages":              {files: map[string]string{"a.cue": "package a", "b.cue": "package b"}},
		"a file for tests":          {files: map[string]string{"a.cue": "package a", "a_test.cue": "package a\nx: 1"}},
		"a condition":               {files: map[string]string{"a.cue": "@if(prod)\npackage a"}},
		"a tag":                     {files: map[string]string{"a.cue": "package a\nx: string @tag(x)"}, tags: map[string]string{"x": "1"}},
		"a package of its own":      {files: map[string]string{"cue.mod/module.cue": moduleFile, "a.cue": "package a\nimport \"example.com/app/sub\"\nx: sub.x", "sub/s.cue": "package sub\nx: 1"}},
		"an import that is missing": {files: map[string]string{"a.cue": "package a\nimport \"example.org/none\"\nx: none.x"}},
		"generated code":            {files: map[string]string{"a.cue": "package a\nimport \"example.org/gen\"\nx: gen.x", "cue.mod/gen/example.org/gen/g.cue": "package gen\nx: 1"}},
		"a syntax error":            {files: map[string]string{"a.cue": "package a\nx: ["}},
		"vendored packages in a ring": {files: map[string]string{
			"a.cue":                             "package a\nimport \"example.org/one\"\nx: one.x",
			"cue.mod/pkg/example.org/one/o.cue": "package one\nimport \"example.org/two\"\nx: two.x",
			"cue.mod/pkg/example.org/two/t.cue": "package two\nimport \"example.org/one\"\nx: one.x",
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{}
			for file, text := range tt.files {
				tree[file] = &fstest.MapFile{Data: []byte(text)}
			}
			m := evaluate.Module{FS: tree, Digest: "sha256:1", Tags: tt.tags}
			read, err := readTree(m, map[string]fs.FS{"ropewalk.dev/schema": os.DirFS("../inprocess/testdata/schema")})
			require.NoError(t, err)
			require.Equal(t, tt.fast, read.fastLoad(m) != nil)
		})
	}
}
