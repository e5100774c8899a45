// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryComponentIsThereAndCanBeRead(t *testing.T) {
	last := ""
	for line := range strings.Lines(componentsText) {
		name, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		require.True(t, ok)
		require.Less(t, last, name, "the lines are sorted")
		last = name
		found, ok := findLine(componentsText, name)
		require.True(t, ok, name)
		require.Equal(t, text, found)
		require.True(t, json.Valid([]byte(text)), name)
		s, err := parseSchema(text)
		require.NoError(t, err, name)
		requireRefs(t, s)
	}
	for apiVersion, kind := range eachBuiltIn {
		info, ok := builtInKind(apiVersion, kind)
		require.True(t, ok)
		_, ok = findLine(componentsText, info.component)
		require.True(t, ok, info.component)
	}
	for _, absent := range []string{"", "a", "core.v1", "core.v1.Pods", "zzz"} {
		_, ok := findLine(componentsText, absent)
		require.False(t, ok, absent)
	}
	_, ok := builtInKind("v1", "Po")
	require.False(t, ok)
}

func requireRefs(t *testing.T, s *schema) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		_, ok := findLine(componentsText, s.Ref)
		require.True(t, ok, s.Ref)
	}
	requireRefs(t, s.Items)
	requireRefs(t, s.Values)
	for _, p := range s.Properties {
		requireRefs(t, p)
	}
}

func TestWhatIsNoSchemaIsRefused(t *testing.T) {
	for _, text := range []string{"", "{", "{}x", "[]", `{"type"}`, `{"type":1}`, `{"type":"a`, `{"type":"a\"}`, `{"other":"a"}`, `{"enum":["a"}`, `{"props":{"a":[]}}`, `{"struct":false}`, `{"type":"a",,}`} {
		_, err := parseSchema(text)
		require.ErrorIs(t, err, errSchemaText, text)
	}
}

// FuzzParseSchema reads any text without panic.
func FuzzParseSchema(f *testing.F) {
	f.Add(`{"type":"object","props":{"a":{"ref":"b","struct":true}},"required":["a"]}`)
	f.Fuzz(func(_ *testing.T, text string) { _, _ = parseSchema(text) })
}

// TestEveryBuiltInDefinitionCompiles compiles all schemas, and all CEL rules
// unless time is short.
func TestEveryBuiltInDefinitionCompiles(t *testing.T) {
	schemas := &Schemas{}
	require.NoError(t, fs.WalkDir(definitionFiles, "schemas/crds", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		group, kind := path.Base(path.Dir(file)), strings.TrimSuffix(path.Base(file), ".json")
		definition := schemas.builtInDefinition(group, kind)
		require.NotNil(t, definition, file)
		require.Equal(t, group+"/"+kind, definition.key())
		require.NotEmpty(t, definition.served())
		for _, v := range definition.Versions {
			if !v.Served || testing.Short() && group != "keda.sh" {
				continue
			}
			c, err := schemas.compile(definition, v)
			require.NoError(t, err, "%s %s", file, v.Name)
			require.NoError(t, c.problems(), "%s %s", file, v.Name)
		}
		return nil
	}))
}

func TestTheCacheOfForeignSchemasIsBounded(t *testing.T) {
	schemas := &Schemas{}
	for i := range maxCompiled + 10 {
		d := &definition{Versions: []*definitionVersion{{Name: "v1", Served: true}}}
		d.digest[0], d.digest[1] = byte(i), byte(i>>8)
		_, err := schemas.compile(d, d.Versions[0])
		require.ErrorContains(t, err, "version v1 has no schema")
	}
	require.LessOrEqual(t, len(schemas.compiled), maxCompiled)
}

func TestSchedules(t *testing.T) {
	for _, good := range []string{"* * * * *", "*/5 0-23/2 1,15 jan-DEC Sun,6", "? ? ? ? ?", "*-5 * * * *", "1,,2 * * * *", "@daily", "@every 1h30m", "0 0 * * 0"} {
		require.Empty(t, cronProblem(good), good)
	}
	for _, bad := range []string{"", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 7", "5-1 * * * *", "*/0 * * * *", "a * * * *", "* * * janx *", "@often", "@every soon", "CRON_TZ=UTC * * * * *", "TZ=", "TZ=0"} {
		require.NotEmpty(t, cronProblem(bad), bad)
	}
}

func TestTheNearestName(t *testing.T) {
	known := []string{"replicas", "template", "selector", "imagePullPolicy", "port", "env"}
	for name, want := range map[string]string{
		"replica": "replicas", "repilcas": "replicas", "Selector": "selector", "imagepullpolicy": "imagePullPolicy",
		"prot": "port", "portNumber": "port", "nothing": "", "x": "", "": "", strings.Repeat("port", 30): "port",
	} {
		require.Equal(t, want, nearest(name, known), name)
	}
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
