// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package custom

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check/schemas"
)

// TestEveryBuiltInDefinitionCompiles compiles all schemas, and all CEL rules
// unless time is short.
func TestEveryBuiltInDefinitionCompiles(t *testing.T) {
	cache := &Schemas{}
	require.NoError(t, fs.WalkDir(schemas.Definitions(), "crds", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		group, kind := path.Base(path.Dir(file)), strings.TrimSuffix(path.Base(file), ".json")
		definition := cache.BuiltIn(group, kind)
		require.NotNil(t, definition, file)
		require.Equal(t, group+"/"+kind, definition.Key())
		require.NotEmpty(t, definition.served())
		for _, v := range definition.Versions {
			if !v.Served || testing.Short() && group != "keda.sh" {
				continue
			}
			c, err := cache.compile(definition, v)
			require.NoError(t, err, "%s %s", file, v.Name)
			require.NoError(t, c.problems(t.Context()), "%s %s", file, v.Name)
		}
		return nil
	}))
}

func TestTheCacheOfSchemasIsBounded(t *testing.T) {
	cache := &Schemas{}
	for i := range maxCompiled + 10 {
		d := &Definition{Versions: []*definitionVersion{{Name: "v1", Served: true}}}
		d.digest[0], d.digest[1] = byte(i), byte(i>>8)
		_, err := cache.compile(d, d.Versions[0])
		require.ErrorContains(t, err, "version v1 has no schema")
	}
	require.LessOrEqual(t, cache.compiled.Stats().Entries, maxCompiled)
}

func TestPathsWithDotsAreResolvedByTheObject(t *testing.T) {
	v := map[string]any{"a.b": map[string]any{"c": []any{"x"}}, "a": map[string]any{"b": "y"}, "l": map[string]any{"k[0]": "z"}}
	for text, want := range map[string]string{
		"a.b.c[0]": `["a.b"].c[0]`, "a.x": "a.x", "l[k]": "l.k", "": "", "<nil>": "", "a.b.c[7].d": `["a.b"].c[7].d`, "missing[3].x": "missing.3.x",
	} {
		path, _ := locate(v, text)
		require.Equal(t, want, path.String(), text)
	}
}
