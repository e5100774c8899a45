// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// substitute returns a ConfigMap with the data after its variables were replaced, and the warnings.
func substitute(variables map[string]string, unknown string, data map[string]any, labels ...string) (object.Object, object.Errors, error) {
	meta := map[string]any{"name": "a"}
	if len(labels) > 0 {
		meta["labels"] = map[string]any{labels[0]: labels[1]}
	}
	made := component.Object{Object: object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}, Pos: object.Pos{File: "a.yaml", Line: 3}}
	out, err := component.Substitute(component.Request{Component: spec.Component{Substitute: variables, SubstituteUnknown: unknown}}, component.Output{Objects: []component.Object{made}})
	if err != nil {
		return nil, nil, err
	}
	return object.Object(out.Objects[0].Object.Map("data")), out.Warnings, nil
}

func TestVariablesAreReplaced(t *testing.T) {
	variables := map[string]string{"NAME": "web", "COUNT": "3", "LINES": "a\nb", "EMPTY": ""}
	got, warnings, err := substitute(variables, spec.UnknownEmpty, map[string]any{
		"name": "${NAME}-x", "count": "${COUNT}", "kept": "$${NAME} $NAME", "default": "${OTHER:=y}${EMPTY:-z}", "upper": "${NAME^^}", "lines": "${LINES}", "none": "<${GONE}>",
	})
	require.NoError(t, err)
	require.Equal(t, object.Object{
		"name": "web-x", "count": int64(3), "kept": "${NAME} $NAME", "default": "yz", "upper": "WEB", "lines": "ab", "none": "<>",
	}, got)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0].Error(), `a.yaml:3: evaluate: the variable "GONE" has no value`)
}

func TestVariablesWithoutAValueStayOrFail(t *testing.T) {
	data := map[string]any{"a": "${A}-${B}", "b": "${B}"}
	got, warnings, err := substitute(map[string]string{"A": "1"}, spec.UnknownKeep, data)
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, object.Object{"a": "1-${B}", "b": "${B}"}, got)
	_, _, err = substitute(map[string]string{"A": "1"}, spec.UnknownFail, data)
	require.ErrorContains(t, err, `the variable "B" has no value`)
}

func TestObjectsKeepTheirVariables(t *testing.T) {
	data := map[string]any{"a": "${A}"}
	for name, variables := range map[string]map[string]string{"a label": {"A": "1"}, "no substitution": nil} {
		got, _, err := substitute(variables, spec.UnknownEmpty, data, "kustomize.toolkit.fluxcd.io/substitute", "disabled")
		require.NoError(t, err, name)
		require.Equal(t, object.Object{"a": "${A}"}, got, name)
	}
}

func TestWhatIsNoVariableIsAMistakeOfItsObject(t *testing.T) {
	for _, text := range []string{"${1}", "${A", "${A/}"} {
		_, _, err := substitute(map[string]string{"A": "1"}, spec.UnknownEmpty, map[string]any{"a": text})
		if err != nil {
			require.ErrorContains(t, err, `a.yaml:3: evaluate: ConfigMap "a": its variables cannot be replaced`, text)
			require.ErrorContains(t, err, "write $${NAME} for a text that stays ${NAME}")
		}
	}
	_, _, err := substitute(map[string]string{"A": "x: [", "B": "}"}, spec.UnknownEmpty, map[string]any{"a": "${A}"})
	require.ErrorContains(t, err, "what they make is no YAML")
}
