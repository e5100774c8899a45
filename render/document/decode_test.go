// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// table has each property that a field may have.
func table() document.Field {
	const text, number, list, fields = object.KindString, object.KindNumber, object.KindList, object.KindMap
	return document.Field{Kind: fields, Fields: []document.Field{
		{Name: "metadata", Kind: fields, Need: true, Hint: "write metadata: {name: …}", Fields: []document.Field{
			{Name: "name", Kind: text, Need: true, Rule: document.Label(), Doc: "Name of it."},
		}},
		{Name: "spec", Kind: fields, Need: true, OneOf: []string{"one", "other"}, Together: []string{"key", "cert"}, Fields: []document.Field{
			{Name: "one", Kind: text, Full: true, Hint: "write one: TEXT"},
			{Name: "other", Kind: text, Values: document.Choices("red", "green")},
			{Name: "key", Kind: text}, {Name: "cert", Kind: text},
			{Name: "count", Kind: number, Range: document.Between(1, 9), Or: []document.Field{{Kind: text, Rule: document.Rule{Words: "a part", Pattern: "^[0-9]+%$"}}}},
			{Name: "switch", Kind: fields, Off: true, Least: 1, Fields: []document.Field{{Name: "a", Kind: text}}},
			{Name: "names", Kind: list, Unique: true, Most: 3, Rule: document.Label()},
			{Name: "loose", Kind: fields, Names: document.Label(), Each: &document.Field{Kind: text, Loose: true}},
			{Name: "items", Kind: list, Fields: []document.Field{{Name: "name", Kind: text, Need: true}}},
			{Name: "free", Kind: fields, Free: true},
			{Name: "password", Kind: text, Sensitive: true, Rule: document.Rule{Words: "a password", Holds: func(s string) bool { return len(s) > 3 }}},
			{Name: "wait", Kind: text, Rule: document.Rule{Short: "duration such as 30s"}},
		}},
	}}
}

func decode(t *testing.T, text string) (object.Value, object.Errors) {
	t.Helper()
	v, err := spec.ParseValue(spec.File{Name: "a.yaml", Data: []byte(text)})
	require.NoError(t, err)
	var d document.Decoder
	good, _ := d.Decode(table(), v, nil)
	return good, d.Errs.Sorted()
}

const right = `metadata: {name: a}
spec:
  one: x
  count: 50%
  switch: false
  names: [a, b]
  loose: {a: 1, b: true, c: text}
  items: [{name: a}, {name: b}]
  free: {x: [null, {y: 1}]}
  password: long enough
`

func TestWhatIsRightIsAsItWasWritten(t *testing.T) {
	good, errs := decode(t, right)
	require.Empty(t, errs)
	want, err := spec.ParseValue(spec.File{Name: "a.yaml", Data: []byte(right)})
	require.NoError(t, err)
	require.Equal(t, want, good)
	good, errs = decode(t, right+"  wait: null\n")
	require.Empty(t, errs)
	require.Equal(t, want, good, "null is not given")
}

func TestEachMistakeIsReportedAtItsOwnPart(t *testing.T) {
	body := func(line string) string { return "metadata: {name: a}\nspec:\n  one: x\n  " + line + "\n" }
	for text, want := range map[string]string{
		"spec: {one: x}":                                  "a.yaml:1:1: spec: metadata: is missing (write metadata: {name: …})",
		"metadata: {}\nspec: {one: x}":                    "a.yaml:1:11: spec: metadata.name: is missing (name of it)",
		"metadata: {name: null}\nspec: {one: x}":          "a.yaml:1:18: spec: metadata.name: is null, but must be given (name of it)",
		body("count: 1.5"):                                "a.yaml:4:10: spec: spec.count: expected a whole number from 1 to 9, got 1.5",
		body("count: {a: 1}"):                             "a.yaml:4:10: spec: spec.count: expected a number or a string, got a map",
		"metadata: {nam: a}\nspec: {one: x}":              `a.yaml:1:12: spec: metadata.nam: unknown field "nam" (did you mean "name"?)`,
		"metadata: {name: A}\nspec: {one: x}":             `a.yaml:1:18: spec: metadata.name: "A" may hold only a-z, 0-9 and -`,
		"metadata: {name: a}\nspec: {}":                   "a.yaml:2:7: spec: spec.one: is missing (write one: TEXT)",
		"metadata: {name: a}\none: x":                     `a.yaml:2:1: spec: one: unknown field "one" (move it under spec)`,
		"metadata: {name: a}\nspec: \"one:x\"":            `a.yaml:2:7: spec: spec: expected a map, got a string (write a space behind the colon: "one: x")`,
		body("other: red"):                                "a.yaml:3:8: spec: spec.one: has no meaning beside other (remove it, or remove other)",
		"metadata: {name: a}\nspec: {one: \"\"}":          "a.yaml:2:13: spec: spec.one: must not be empty",
		"metadata: {name: a}\nspec: {other: grean}":       `a.yaml:2:15: spec: spec.other: "grean" is not known: expected red, green (did you mean "green"?)`,
		"metadata: {name: a}\nspec: {one: 1.10}":          `a.yaml:2:13: spec: spec.one: expected a string, got a number (write it in quotes: "1.10")`,
		body("key: x"):                                    "a.yaml:3:3: spec: spec.cert: is missing",
		body("count: 10"):                                 "a.yaml:4:10: spec: spec.count: 10 is out of range: expected 1 to 9",
		body("count: many"):                               `a.yaml:4:10: spec: spec.count: "many" is not a part`,
		body("count: [1]"):                                "a.yaml:4:10: spec: spec.count: expected a number or a string, got a list",
		body("switch: true"):                              "a.yaml:4:11: spec: spec.switch: expected a map, or false, got a bool",
		body("switch: {}"):                                "a.yaml:4:11: spec: spec.switch: must not be empty (remove it, or write a field)",
		body("names: [a, a]"):                             `a.yaml:4:14: spec: spec.names[1]: "a" is written twice`,
		body("names: [a, b, c, d]"):                       "a.yaml:4:10: spec: spec.names: expected at most 3 items, got 4 (remove the others)",
		body("names: [1, B]"):                             `a.yaml:4:11: spec: spec.names[0]: expected a string, got a number (write it in quotes: "1")|a.yaml:4:14: spec: spec.names[1]: "B" may hold only a-z, 0-9 and -`,
		body("loose: {A: x}"):                             `a.yaml:4:11: spec: spec.loose.A: "A" may hold only a-z, 0-9 and -`,
		body("loose: {a: null}"):                          `a.yaml:4:14: spec: spec.loose.a: expected a string, got null (write "" for empty text)`,
		body("items: [{name: a, b: c}, x]"):               `a.yaml:4:21: spec: spec.items[0].b: unknown field "b" (known: name)|a.yaml:4:28: spec: spec.items[1]: expected a map, got a string`,
		body("password: abc"):                             "a.yaml:4:13: spec: spec.password: this is not a password",
		body("password: 12345"):                           "a.yaml:4:13: spec: spec.password: expected a string, got a number (write it in quotes)",
		body("wait: 30"):                                  "a.yaml:4:9: spec: spec.wait: expected a duration such as 30s, got a number",
		"metadata: {name: a}\nspec: [one]\nspeck: {a: b}": `a.yaml:2:7: spec: spec: expected a map, got a list|a.yaml:3:1: spec: speck: unknown field "speck" (did you mean "spec"?)`,
	} {
		_, errs := decode(t, text)
		var got []string
		for _, e := range errs {
			got = append(got, e.Error())
			require.Equal(t, strings.Contains(text, "password"), e.Secret, "%s", text)
		}
		require.Equal(t, want, strings.Join(got, "|"), "%s", text)
	}
}

// What the schema refuses the decoder refuses, and what is right for it is for the other.
func TestASchemaRefusesWhatTheDecoderRefuses(t *testing.T) {
	data, err := document.Document{Kind: "A", Doc: "One.", Root: table()}.Schema()
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("a.json", value))
	compiled, err := c.Compile("a.json")
	require.NoError(t, err)
	valid := func(text string) error {
		var v any
		require.NoError(t, yaml.Unmarshal([]byte(text), &v))
		return compiled.Validate(v)
	}
	require.NoError(t, valid(right))
	for _, change := range [][2]string{
		{"name: a}", "nam: a}"}, {"name: a}", "name: A}"}, {"one: x", "one: \"\""}, {"one: x", "one: x\n  other: red"}, {"one: x", "two: x"}, {"one: x", "one: x\n  key: a"},
		{"count: 50%", "count: 10"}, {"count: 50%", "count: all"}, {"switch: false", "switch: true"}, {"switch: false", "switch: {}"}, {"[a, b]", "[a, a]"}, {"[a, b]", "[a, b, c, d]"},
		{"c: text", "c: []"}, {"{name: b}", "{}"},
	} {
		text := strings.Replace(right, change[0], change[1], 1)
		require.NotEqual(t, right, text)
		require.Error(t, valid(text), "%s", text)
		_, errs := decode(t, text)
		require.NotEmpty(t, errs, "%s", text)
	}
}
