// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/gateway"
)

// The JSON Schema of a Gateway is made of the table, between the parts that all documents
// have.
func TestTheSchemaIsThatOfTheTable(t *testing.T) {
	const path = "../../spec/schema/gateway.json"
	properties, required := propertiesOf(gateway.Fields())
	properties["module"] = map[string]any{"type": "object", "description": "a module in place of the embedded one, as cueRef of a Transform"}
	properties["dependsOn"] = map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "description": "specs whose objects come first"}
	name := map[string]any{"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
	texts := map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "https://ropewalk.dev/schema/v1alpha1/gateway.json",
		"title":   "Gateway", "description": "Leads requests from outside to workloads.", "type": "object",
		"properties": map[string]any{
			"apiVersion": map[string]any{"const": "ropewalk.dev/v1alpha1"},
			"kind":       map[string]any{"const": "Gateway"},
			"metadata": map[string]any{
				"type": "object", "required": []string{"name"}, "additionalProperties": false,
				"properties": map[string]any{"name": name, "namespace": name, "labels": texts, "annotations": texts},
			},
			"spec":   map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false},
			"status": map[string]any{"description": "Ignored: a document that was read back from a cluster may have it."},
		},
		"required": []string{"apiVersion", "kind", "metadata", "spec"}, "additionalProperties": false,
	}))
	if os.Getenv("ROPEWALK_UPDATE") == "1" {
		require.NoError(t, os.WriteFile(path, want.Bytes(), 0o600))
		return
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want.String(), string(got), "ROPEWALK_UPDATE=1 rewrites it")
}

func propertiesOf(all []gateway.Field) (properties map[string]any, required []string) {
	properties = map[string]any{}
	for _, f := range all {
		properties[f.Name] = schemaOf(f)
		if f.Need {
			required = append(required, f.Name)
		}
	}
	return properties, required
}

func schemaOf(f gateway.Field) map[string]any {
	types := map[object.Kind]string{
		object.KindString: "string", object.KindNumber: "integer", object.KindBool: "boolean", object.KindList: "array", object.KindMap: "object",
	}
	out := map[string]any{"type": types[f.Kind]}
	if f.Text {
		out["type"] = []string{"string", "integer"}
	}
	values := map[string]any{"type": "string"}
	shape := func(at map[string]any) {
		properties, required := propertiesOf(f.Fields)
		at["type"], at["properties"], at["additionalProperties"] = "object", properties, false
		if len(required) > 0 {
			at["required"] = required
		}
	}
	switch {
	case f.Kind == object.KindList && f.Fields != nil:
		shape(values)
		out["items"], out["minItems"] = values, 1
	case f.Kind == object.KindList:
		out["items"], out["minItems"], out["uniqueItems"] = values, 1, true
	case f.Fields != nil:
		shape(out)
	case f.Kind == object.KindMap:
		out["additionalProperties"] = values
	case len(f.Values) > 0:
		delete(out, "type")
		var all []any
		for _, c := range f.Values {
			if n, err := strconv.Atoi(c.Name); err == nil {
				all = append(all, n)
				continue
			}
			all = append(all, c.Name)
		}
		out["enum"] = all
	}
	if f.Off {
		out = map[string]any{"anyOf": []any{out, map[string]any{"const": false}}}
	}
	if f.Doc != "" {
		out["description"] = f.Doc
	}
	return out
}
