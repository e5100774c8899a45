// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package schemas_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/schemas"
)

func compiled(t *testing.T, kind string) *jsonschema.Schema {
	t.Helper()
	data, err := schemas.Of(kind)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("kind.json", value))
	schema, err := c.Compile("kind.json")
	require.NoError(t, err, "%s", data)
	return schema
}

func TestEachKindHasASchema(t *testing.T) {
	all := schemas.Kinds()
	require.True(t, slices.IsSorted(all))
	tables := []string{"PivotCluster"}
	for _, table := range schemas.Tables() {
		tables = append(tables, table.Kind)
	}
	require.ElementsMatch(t, tables, all, "the list has all tables")
	require.Len(t, slices.Compact(slices.Clone(all)), len(all), "no kind is there twice")
	for _, kind := range all {
		require.Error(t, compiled(t, kind).Validate("text"), kind)
		small, err := schemas.Of(strings.ToLower(kind))
		require.NoError(t, err)
		same, err := schemas.Of(kind)
		require.NoError(t, err)
		require.Equal(t, string(same), string(small))
	}
	_, err := schemas.Of("Deployment")
	require.EqualError(t, err, `there is no schema of "Deployment"`)
}

// An API server keeps what a definition allows; a file has no field that the definition does not have.
func TestTheSchemaOfAPivotClusterRefusesUnknownFields(t *testing.T) {
	schema := compiled(t, "PivotCluster")
	document := func(more map[string]any) map[string]any {
		out := map[string]any{
			"apiVersion": "ropewalk.dev/v1alpha1", "kind": "PivotCluster",
			"metadata": map[string]any{"name": "blue", "labels": map[string]any{"a": "b"}}, "spec": map[string]any{},
		}
		for name, value := range more {
			out[name] = value
		}
		return out
	}
	base := schema.Validate(document(nil))
	unknown := schema.Validate(document(map[string]any{"spec": map[string]any{"unknown": "x"}}))
	require.ErrorContains(t, unknown, "unknown")
	if base != nil {
		require.NotContains(t, base.Error(), "additional properties")
	}
	for name, wrong := range map[string]map[string]any{
		"a field beside the spec": {"data": map[string]any{}}, "another version": {"apiVersion": "v1"}, "another kind": {"kind": "Pivot"},
		"no name": {"metadata": map[string]any{}}, "a label that is no text": {"metadata": map[string]any{"name": "blue", "labels": map[string]any{"a": 1}}},
	} {
		err := schema.Validate(document(wrong))
		require.Error(t, err, name)
		require.NotEqual(t, base, err, name)
	}
	require.Equal(t, base, schema.Validate(document(map[string]any{"status": map[string]any{"any": "x"}})), "the status is the controller's")
}
