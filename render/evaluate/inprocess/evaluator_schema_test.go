// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// schemaOf is the compiled JSON Schema of what a module takes.
func schemaOf(t *testing.T, p *Evaluator, m evaluate.Module) *jsonschema.Schema {
	t.Helper()
	result, err := p.Evaluate(t.Context(), evaluate.Request{Spec: "x", Module: m, Operation: evaluate.OpInspect})
	if err != nil || len(result.Inspection.Schema) == 0 {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(result.Inspection.Schema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("input.json", value))
	schema, err := c.Compile("input.json")
	require.NoError(t, err, "%s", result.Inspection.Schema)
	return schema
}

// validate validates an input by a JSON Schema.
func validate(t *testing.T, schema *jsonschema.Schema, input object.Value) error {
	t.Helper()
	if input.Kind == object.KindNone || input.Kind == object.KindNull {
		input = object.Value{Kind: object.KindMap}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(input.JSON()))
	require.NoError(t, err)
	return schema.Validate(value)
}

func TestASchemaRefusesNothingThatTheModuleTakes(t *testing.T) {
	p := New(Options{Schemas: testSchemas()})
	compared := 0
	files, err := filepath.Glob("testdata/cases/*.txtar")
	require.NoError(t, err)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		req, _ := requestOf(t, archive)
		req.Module.Digest = file
		schema := schemaOf(t, p, req.Module)
		if _, err := p.Evaluate(t.Context(), req); err != nil || schema == nil || req.Operation != evaluate.OpRender {
			continue
		}
		compared++
		require.NoError(t, validate(t, schema, req.Input), file)
	}
	require.Greater(t, compared, 10)
	for _, name := range []string{"webservice", "database", "gateway"} {
		files := os.DirFS("../../../cue/modules/" + name)
		schema := schemaOf(t, p, evaluate.Module{FS: files, Label: name, Digest: name})
		require.NotNil(t, schema, name)
		data, err := fs.ReadFile(files, "test/cases.yaml")
		require.NoError(t, err)
		all, err := spec.ParseCases(spec.File{Name: name, Data: data})
		require.NoError(t, err)
		for _, c := range all {
			if len(c.Expect.Errors) == 0 {
				require.NoError(t, validate(t, schema, c.Input), "%s: %s", name, c.Name)
			}
		}
	}
}

func TestASchemaRefusesWhatAModuleRefuses(t *testing.T) {
	files := os.DirFS("../../../cue/modules/webservice")
	webservice := schemaOf(t, New(Options{Schemas: testSchemas()}), evaluate.Module{FS: files, Digest: "webservice"})
	for name, input := range map[string]string{
		"a field that must be set":         `{}`,
		"an unknown field":                 `{image: a/b:1, replica: 1}`,
		"an unknown field of a member":     `{image: a/b:1, ports: {http: {port: 80, porte: 1}}}`,
		"a field of a member that must be": `{image: a/b:1, ports: {http: {}}}`,
		"another type":                     `{image: a/b:1, replicas: two}`,
		"a number that is too low":         `{image: a/b:1, replicas: -1}`,
		"none of the alternatives":         `{image: a/b:1, service: {type: External}}`,
		"a text that does not match":       `{image: a/b:1, name: A}`,
		"too few items":                    `{image: a/b:1, command: []}`,
	} {
		require.Error(t, validate(t, webservice, parseYAML(t, "input.yaml", input)), name)
	}
	require.NoError(t, validate(t, webservice, parseYAML(t, "input.yaml", `{image: a/b:1, replicas: 0}`)))
}
