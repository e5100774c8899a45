// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func TestValuesAreDescribed(t *testing.T) {
	for name, c := range map[string]struct {
		value                any
		shown, typed, hidden string
	}{
		"null":     {nil, "null", "null", "null"},
		"a map":    {map[string]any{"a": "hunter2"}, "a map", "a map", "a map"},
		"a list":   {[]any{"hunter2"}, "a list", "a list", "a list"},
		"a bool":   {true, "true", "the boolean true", "a boolean"},
		"a number": {int64(3), "3", "the number 3", "a number"},
		"a whole":  {3.0, "3.0", "the number 3.0", "a number"},
		"a large":  {1e30, "1e+30", "the number 1e+30", "a number"},
		"text":     {"a\n\"b\"", `"a\n\"b\""`, `the string "a\n\"b\""`, "a string"},
		"a struct": {struct{}{}, "a value of type struct {}", "a value of type struct {}", "a value of type struct {}"},
	} {
		require.Equal(t, c.shown, Describe(c.value, false), name)
		require.Equal(t, c.typed, Typed(c.value, false), name)
		require.Equal(t, c.hidden, Describe(c.value, true), name)
		require.Equal(t, c.hidden, Typed(c.value, true), name)
	}
	require.Equal(t, `"`+strings.Repeat("x", showLimit)+`"…`, Quote(strings.Repeat("x", showLimit+1)))
	require.Equal(t, `"`+strings.Repeat("x", showLimit)+`"`, Quote(strings.Repeat("x", showLimit)))
}

func TestHintsForValuesOfAnotherType(t *testing.T) {
	for _, c := range []struct {
		kind  string
		value any
		want  string
	}{
		{"string", int64(8080), `quote it: "8080"`}, {"string", true, `quote it: "true"`}, {"string", 1.0, `quote it: "1.0"`},
		{"integer", 3.0, "write 3"}, {"integer", 3.5, ""}, {"integer", 1e300, ""},
		{"integer", "8080", "write it without quotes"}, {"integer", "80.5", ""}, {"number", "80.5", "write it without quotes"},
		{"boolean", "true", "write it without quotes"}, {"boolean", "yes", ""}, {"object", "a", ""}, {"string", nil, ""},
	} {
		require.Equal(t, c.want, TypeHint(c.kind, c.value), "%s for %v", c.kind, c.value)
	}
}

func TestAlternativesAreListed(t *testing.T) {
	require.Equal(t, "nothing", Join(nil))
	require.Equal(t, "a", Join([]string{"a"}))
	require.Equal(t, "a, b or c", Join([]string{"a", "b", "c"}))
	require.Equal(t, `"a" or "b"`, OneOf([]string{"", "a", "b"}), "the empty text is as none at all")
	require.Equal(t, `""`, OneOf([]string{""}))
}

func TestAValueKnowsItsPlaceAndShowsNoSecret(t *testing.T) {
	root := object.Object{"spec": map[string]any{"ports": []any{map[string]any{"name": "hunter2"}}, "none": nil}}
	r := &Report{Root: root, Node: "web/service"}
	name := NewValue(r).Field("spec").Field("ports").Items()[0].Field("name")
	require.Equal(t, "spec.ports[0].name", name.Path().String())
	name.Fail(RuleName, "found %s", name.Show())
	NewValue(r).In("spec", "absent", "deep").WrongType("a string")
	require.Equal(t, `found "hunter2"`, r.Findings[0].Message)
	require.Equal(t, "spec.absent.deep", r.Findings[1].Path.String())
	require.Equal(t, "expected a string, found null", r.Findings[1].Message)
	require.Equal(t, object.ID("web/service"), r.Findings[0].Node)

	none := NewValue(r).In("spec", "none")
	require.True(t, none.Present())
	require.False(t, none.Has())
	require.False(t, NewValue(r).In("spec", "absent").Present())

	r = &Report{Root: root, Secret: true}
	secret := NewValue(r).Field("spec").Field("ports").Items()[0].Field("name")
	secret.Mistyped("integer")
	require.Equal(t, "expected an integer, found a string", r.Findings[0].Message)
	require.Empty(t, r.Findings[0].Hint)
	require.Equal(t, "a string", secret.Show())
}
