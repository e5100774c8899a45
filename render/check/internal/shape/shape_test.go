// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package shape_test

import (
	"encoding/json"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ropewalk/ropewalk/render/check/internal/shape"
	"github.com/ropewalk/ropewalk/render/check/internal/structural"
	"github.com/ropewalk/ropewalk/render/object"
)

// The verdicts are compared with those of the server in render/check. Here is
// what that comparison does not see.

func ptr[T any](v T) *T { return &v }

// person is a schema with a bit of everything.
func person() *structural.Structural {
	text := func(v structural.ValueValidation) structural.Structural {
		return structural.Structural{Generic: structural.Generic{Type: "string"}, ValueValidation: &v}
	}
	return &structural.Structural{
		Generic: structural.Generic{Type: "object"},
		Properties: map[string]structural.Structural{
			"name":  text(structural.ValueValidation{MaxLength: ptr(int64(5)), Pattern: "^[a-z]+$"}),
			"mail":  text(structural.ValueValidation{Format: "email"}),
			"color": {Generic: structural.Generic{Type: "string", Default: structural.JSON{Object: "red"}}, ValueValidation: &structural.ValueValidation{Enum: []structural.JSON{{Object: "red"}, {Object: "blue"}}}},
			"age":   {Generic: structural.Generic{Type: "integer"}, ValueValidation: &structural.ValueValidation{Minimum: ptr(0.0), Maximum: ptr(150.0), Format: "int32"}},
			"port":  {Extensions: structural.Extensions{XIntOrString: true}},
			"notes": {Generic: structural.Generic{Type: "object"}, AdditionalProperties: &structural.StructuralOrBool{Bool: true, Structural: &structural.Structural{Generic: structural.Generic{Type: "string"}}}},
			"none":  {Generic: structural.Generic{Type: "object"}, AdditionalProperties: &structural.StructuralOrBool{}},
			"friends": {Generic: structural.Generic{Type: "array"}, Items: &structural.Structural{Generic: structural.Generic{Type: "string"}},
				ValueValidation: &structural.ValueValidation{UniqueItems: true, AnyOf: []structural.NestedValueValidation{
					{Items: &structural.NestedValueValidation{ValueValidation: structural.ValueValidation{Pattern: "^a"}}},
					{ValueValidation: structural.ValueValidation{MinItems: ptr(int64(3))}},
				}}},
		},
		ValueValidation: &structural.ValueValidation{Required: []string{"name"}},
	}
}

func TestMistakesAreSortedAndLieBelowThePath(t *testing.T) {
	o := decode(t, `{"mail":"x","color":"green","age":-1,"port":true,"notes":{"a.b":1},"none":{"a":1},"friends":["a","b","b"]}`)
	var lines []string
	for _, e := range shape.New(person()).Validate(field.NewPath("spec"), o) {
		lines = append(lines, e.Field+": "+e.ErrorBody())
	}
	require.Equal(t, []string{
		`spec.age: Invalid value: -1: should be greater than or equal to 0`,
		`spec.color: Unsupported value: "green": supported values: "red", "blue"`,
		`spec.friends: Invalid value: "": shouldn't contain duplicates`,
		`spec.mail: Invalid value: "x": must be of type email: "x"`,
		`spec.name: Required value`,
		`spec.none.a: Invalid value: "": is a forbidden property`,
		`spec.notes.a.b: Invalid value: "integer": must be of type string: "integer"`,
		`spec.port: Invalid value: "boolean": must be of type integer,string: "boolean"`,
	}, lines)
	require.Empty(t, shape.New(person()).Validate(nil, decode(t, `{"name":"ann","port":"80"}`)))
}

func TestDefaultsAreCopied(t *testing.T) {
	s := &structural.Structural{Generic: structural.Generic{Type: "object"}, Properties: map[string]structural.Structural{
		"tags": {Generic: structural.Generic{Type: "object", Default: structural.JSON{Object: map[string]any{"a": "b"}}}},
	}}
	o := map[string]any{}
	shape.Default(o, s)
	o["tags"].(map[string]any)["a"] = "changed"
	other := map[string]any{}
	shape.Default(other, s)
	require.Equal(t, map[string]any{"tags": map[string]any{"a": "b"}}, other)
}

func TestDurations(t *testing.T) {
	formats := &shape.Formats{}
	for text, want := range map[string]time.Duration{
		"1h30m": 90 * time.Minute, "2 days": 48 * time.Hour, "1 week 1 sec": 7*24*time.Hour + time.Second, "3 milliseconds": 3 * time.Millisecond,
	} {
		got, err := formats.Duration(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "soon", "5 parsecs", "99999999999999999999 s"} {
		_, err := formats.Duration(text)
		require.Error(t, err, text)
	}
}

func TestUnknownFormatsFitAll(t *testing.T) {
	formats := &shape.Formats{}
	require.False(t, formats.Known("telegram"))
	require.True(t, formats.Match("telegram", "stop"))
	_, err := formats.Compile("(")
	require.Error(t, err)
	_, again := formats.Compile("(")
	require.Equal(t, err, again)
}

func decode(t testing.TB, text string) any {
	var v any
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	return integers(v)
}

// integers makes integers of the numbers that are some, as decoders of
// Kubernetes do.
func integers(v any) any {
	switch v := v.(type) {
	case float64:
		if i := int64(v); float64(i) == v {
			return i
		}
	case map[string]any:
		for name := range v {
			v[name] = integers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	}
	return v
}

// FuzzValidate gives values of any form: the judge must not panic, must not
// change them, and must say the same twice, before and after defaults.
func FuzzValidate(f *testing.F) {
	for _, seed := range []string{
		`{"name":"ann","age":3,"friends":["a","b"]}`, `null`, `[]`, `"x"`, `{"name":null,"age":1e99,"notes":[],"none":{"":{}}}`, `{"friends":[{},[],null,{},1,1.0]}`, `{"mail":"a@b","port":1.5}`,
	} {
		f.Add(seed)
	}
	schema := shape.New(person())
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		v = integers(v)
		before, _ := json.Marshal(v)
		errs := schema.Validate(nil, v)
		after, _ := json.Marshal(v)
		require.Equal(t, string(before), string(after))
		require.True(t, reflect.DeepEqual(errs, schema.Validate(nil, v)))
		shape.PruneNulls(v, person())
		shape.Default(v, person())
		schema.Validate(nil, v)
	})
}

// FuzzFormats gives texts to every format.
func FuzzFormats(f *testing.F) {
	for _, seed := range []string{"", "a", "2026-01-02T03:04:05Z", "1.2.3.4/8", "::ffff:1.2.3.4", "978-0321751041", "4220855426222389", "rgb(1,2,3)", "1 week"} {
		f.Add(seed)
	}
	formats := &shape.Formats{}
	f.Fuzz(func(_ *testing.T, text string) {
		for _, format := range []string{"bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5", "isbn", "isbn10", "isbn13",
			"creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime", "k8s-short-name", "k8s-long-name"} {
			formats.Match(format, text)
		}
	})
}

// BenchmarkValidate judges lists of 10, 100 and 1,000 values.
func BenchmarkValidate(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		l := make([]any, n)
		for i := range l {
			l[i] = object.Object{"name": "ann", "age": int64(3), "mail": "a@b.c", "color": "red", "friends": []any{"a"}}.Clone()
			l[i] = map[string]any(l[i].(object.Object))
		}
		schema := shape.New(&structural.Structural{Generic: structural.Generic{Type: "array"}, Items: person()})
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if errs := schema.Validate(nil, l); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}
