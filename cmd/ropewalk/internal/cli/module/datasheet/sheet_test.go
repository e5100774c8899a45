// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package datasheet_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/datasheet"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// strange is a text that ends lines and elements wherever it may.
const strange = "x\u2028evil: 1\nevil: 2\revil: 3\u0085evil: 4\x1b[31m<script>alert(1)</script>|`*/ #"

func hostile() *datasheet.Sheet {
	s := &datasheet.Sheet{Module: strange, What: "a module of objects", Notes: []string{strange}}
	s.Add([]evaluate.Input{
		{Path: object.Fields("plain"), Type: evaluate.InputNumber, Expected: strange, Default: "1", Doc: strange},
		{Path: object.Fields("on", strange), Type: evaluate.InputString, Default: `"\u2028<b>"`, Doc: strange},
		{Path: object.Fields("needed"), Type: evaluate.InputString, Required: true, Doc: strange},
		{Path: object.Fields("part", "there"), Type: evaluate.InputBoolean, Default: "true", Optional: true},
		{Path: object.Fields("part", "must"), Type: evaluate.InputNumber, Optional: true, Within: true},
		{Path: object.Fields("list"), Expected: "a list", Optional: true, Members: []evaluate.Input{{Path: object.Fields("[]", "name"), Required: true}}},
	})
	s.AddResources([]evaluate.Provisioner{{Type: strange, Description: strange, Params: []evaluate.Param{{Name: strange, Doc: strange}}, Outputs: []string{strange}}})
	return s
}

func TestValuesHoldTheDefaultsAndNothingElse(t *testing.T) {
	var got map[string]any
	text := hostile().Values()
	require.NoError(t, yaml.Unmarshal([]byte(text), &got), text)
	require.Equal(t, map[string]any{"plain": 1, "on": map[string]any{strange: "\u2028<b>"}}, got)
	require.Contains(t, text, "; required: needed.\n")
}

func TestRemovingTheMarkSetsAnInput(t *testing.T) {
	var got map[string]any
	text := regexp.MustCompile(`(?m)^( *)#([^ #])`).ReplaceAllString(hostile().Values(), "$1$2")
	require.NoError(t, yaml.Unmarshal([]byte(text), &got), text)
	require.Equal(t, map[string]any{
		"plain": 1, "on": map[string]any{strange: "\u2028<b>"}, "needed": "", "part": map[string]any{"there": true, "must": 0}, "list": []any{},
	}, got)
}

func TestABlankIsNoValueThatTheModuleRefuses(t *testing.T) {
	text, number := evaluate.InputString, evaluate.InputNumber
	for _, test := range []struct {
		in   evaluate.Input
		want string
	}{
		{evaluate.Input{Type: number, Expected: "an integer"}, "0"},
		{evaluate.Input{Type: number, Expected: "an integer of at least 1"}, "1"},
		{evaluate.Input{Type: number, Expected: "an integer of at least -3 and of at most 65535"}, "-3"},
		{evaluate.Input{Type: number, Expected: "an integer of at least min"}, ""},
		{evaluate.Input{Type: number, Expected: "a number greater than 0"}, ""},
		{evaluate.Input{Type: number, Expected: "one of 1 or 2"}, "1"},
		{evaluate.Input{Type: text, Expected: "text"}, `""`},
		{evaluate.Input{Type: text, Expected: `one of "large" or "small"`}, `"large"`},
		{evaluate.Input{Type: text, Expected: `text that matches "^a"`}, ""},
		{evaluate.Input{Type: number, Collection: evaluate.CollectionList, Expected: "a list of numbers"}, "[]"},
		{evaluate.Input{Type: number, Collection: evaluate.CollectionList, Expected: "a list of numbers", Required: true}, ""},
	} {
		test.in.Path = object.Fields("it")
		s := &datasheet.Sheet{Module: "m"}
		s.Add([]evaluate.Input{test.in})
		require.Contains(t, s.Values(), strings.TrimRight("\n#it: "+test.want, " ")+"\n", test.in.Expected)
	}
}

func TestTextOfAModuleIsNoMarkup(t *testing.T) {
	s := hostile()
	page, err := s.HTML()
	require.NoError(t, err)
	for name, text := range map[string]string{"html": string(page), "markdown": s.Markdown(), "text": s.Text()} {
		require.NotContains(t, text, "\x1b", name)
		require.NotContains(t, text, "\u2028", name)
	}
	require.NotRegexp(t, `(?m)^evil`, s.Text()+s.Markdown(), "a text stays in its lines")
	require.NotContains(t, string(page), "<script")
	require.NotRegexp(t, "(^|[^`])<script", s.Markdown(), "it stands in code spans alone")
}

func TestWhatMustBeSetComesFirst(t *testing.T) {
	s := hostile()
	require.Equal(t, "needed", s.Inputs[0].Path)
	require.Equal(t, []string{"needed"}, s.Needed())
	var members []string
	for _, in := range s.Inputs {
		if in.Member() {
			members = append(members, in.Path)
		}
	}
	require.Equal(t, []string{"list[].name"}, members)
}
