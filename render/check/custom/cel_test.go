// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package custom

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/ropewalk/ropewalk/render/object"
)

// TestRulesByPartsAreThoseOfTheSchema compares rules that are compiled part by
// part with the validator of the complete schema, which the API server has.
func TestRulesByPartsAreThoseOfTheSchema(t *testing.T) {
	files, err := filepath.Glob("../testdata/custom/*/*.yaml")
	require.NoError(t, err)
	schemas, broken := &Schemas{}, 0
	for _, file := range files {
		o := readObject(t, file)
		d := schemas.BuiltIn(o.Group(), o.Kind())
		if d == nil || d.version(o.Version()) == nil {
			continue
		}
		c, err := schemas.compile(d, d.version(o.Version()))
		require.NoError(t, err)
		complete(o, c.schema)
		if len(c.validator.Validate(map[string]any(o)).Errors) > 0 {
			continue
		}
		want, wantLeft := cel.NewValidator(c.schema, true, celconfig.PerCallLimit).Validate(t.Context(), nil, c.schema, map[string]any(o), nil, celconfig.RuntimeCELCostBudget)
		got, left := c.rules.validate(t.Context(), nil, map[string]any(o), celconfig.RuntimeCELCostBudget)
		require.Equal(t, errorTexts(want), errorTexts(got), file)
		require.Equal(t, wantLeft, left, file)
		broken += len(got)
	}
	require.Greater(t, broken, 2)
}

func errorTexts(errs field.ErrorList) (out []string) {
	for _, e := range errs {
		out = append(out, e.Error())
	}
	slices.Sort(out)
	return out
}

func readObject(t *testing.T, file string) object.Object {
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var v any
	require.NoError(t, yaml.Unmarshal(content, &v))
	content, err = json.Marshal(v)
	require.NoError(t, err)
	o, err := object.Decode(content)
	require.NoError(t, err)
	return o
}
