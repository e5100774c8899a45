// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

func TestPlacesInFilesOfAModule(t *testing.T) {
	inline := evaluate.Source{Pos: object.Pos{File: "spec.yaml", Line: 8, Column: 7}, Indent: 6}
	m := evaluate.Module{Label: "modules/web", Sources: map[string]evaluate.Source{"inline.cue": inline}}
	for name, c := range map[string]struct {
		file         string
		line, column int
		want         object.Pos
	}{
		"a file of the module":         {"web.cue", 3, 4, object.Pos{File: "modules/web/web.cue", Line: 3, Column: 4}},
		"the first line of an inline":  {"inline.cue", 1, 5, object.Pos{File: "spec.yaml", Line: 8, Column: 11}},
		"a later line, which is moved": {"inline.cue", 3, 5, object.Pos{File: "spec.yaml", Line: 10, Column: 11}},
		"a line as a whole":            {"inline.cue", 3, 0, object.Pos{File: "spec.yaml", Line: 10}},
		"a place that is not known":    {"inline.cue", 0, 0, inline.Pos},
	} {
		require.Equal(t, c.want, m.Position(c.file, c.line, c.column), name)
	}
}

func TestOneForeignModuleMakesARequestForeign(t *testing.T) {
	foreign := evaluate.Module{Digest: "foreign", Foreign: true}
	for name, c := range map[string]struct {
		req  evaluate.Request
		want bool
	}{
		"none":              {evaluate.Request{Policies: []evaluate.Policy{{}}, Older: &evaluate.Module{}}, false},
		"that of the spec":  {evaluate.Request{Module: foreign}, true},
		"that of a policy":  {evaluate.Request{Policies: []evaluate.Policy{{}, {Module: foreign}}}, true},
		"the older version": {evaluate.Request{Older: &foreign}, true},
	} {
		require.Equal(t, c.want, c.req.Foreign(), name)
	}
}

func TestARenderHoldsSoManyValues(t *testing.T) {
	require.NoError(t, evaluate.Limits{Values: 10}.CheckValues(10, "the specs"))
	err := evaluate.Limits{Values: 10}.CheckValues(11, "the specs")
	require.ErrorIs(t, err, evaluate.ErrLimit)
	require.ErrorContains(t, err, "the specs hold more than 10 values: split the render into several, or raise --max-values")
	require.NoError(t, evaluate.Limits{}.CheckValues(evaluate.DefaultValues, "the specs"))
	require.Error(t, evaluate.Limits{}.CheckValues(evaluate.DefaultValues+1, "the specs"))
}
