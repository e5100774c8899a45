// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package structural_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	library "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ropewalk/ropewalk/render/check/internal/structural"
)

// original reads a schema with the library.
func original(text []byte) (*library.Structural, error) {
	typed, internal := &apiextensionsv1.JSONSchemaProps{}, &apiextensions.JSONSchemaProps{}
	if err := json.Unmarshal(text, typed); err != nil {
		return nil, err
	}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(typed, internal, nil); err != nil {
		return nil, err
	}
	return library.NewStructural(internal)
}

// requireSameSchema reads a schema with both and compares what they make of it,
// and what they find wrong with it.
func requireSameSchema(t *testing.T, text []byte) (*library.Structural, *structural.Structural) {
	theirs, theirErr := original(text)
	own, err := structural.Read(text)
	require.Equal(t, theirErr == nil, err == nil, "%v, %v: %s", theirErr, err, text)
	if err != nil {
		return nil, nil
	}
	var want structural.Structural
	transcribe(reflect.ValueOf(&want).Elem(), reflect.ValueOf(*theirs))
	require.Equal(t, &want, own, "%s", text)
	require.Equal(t, words(library.ValidateStructural(nil, theirs)), words(structural.Faults(nil, own)), "%s", text)
	return theirs, own
}

// transcribe copies a value of a type of the library to one of the type that has
// its form here. A field that is missing on either side is a panic.
func transcribe(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.Struct:
		if to.NumField() != from.NumField() {
			panic(from.Type().String() + " has other fields")
		}
		for i := range from.NumField() {
			transcribe(to.FieldByName(from.Type().Field(i).Name), from.Field(i))
		}
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
			transcribe(to.Elem(), from.Elem())
		}
	case reflect.Slice:
		if !from.IsNil() {
			to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		}
		for i := range from.Len() {
			transcribe(to.Index(i), from.Index(i))
		}
	case reflect.Map:
		if !from.IsNil() {
			to.Set(reflect.MakeMap(to.Type()))
		}
		for _, key := range from.MapKeys() {
			part := reflect.New(to.Type().Elem()).Elem()
			transcribe(part, from.MapIndex(key))
			to.SetMapIndex(key, part)
		}
	case reflect.Interface:
		to.Set(from)
	default:
		to.Set(from.Convert(to.Type()))
	}
}

func words(errs field.ErrorList) []string {
	out := []string{}
	for _, e := range errs {
		out = append(out, e.Error())
	}
	slices.Sort(out)
	return out
}

// builtIn calls use with each schema of the built-in set.
func builtIn(t *testing.T, use func(name string, schema []byte)) {
	files, err := filepath.Glob("../../schemas/crds/*/*.json")
	require.NoError(t, err)
	require.Greater(t, len(files), 50)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		var definition struct {
			Spec struct {
				Versions []struct {
					Schema struct{ OpenAPIV3Schema json.RawMessage }
				}
			}
		}
		require.NoError(t, json.Unmarshal(content, &definition))
		for _, v := range definition.Spec.Versions {
			use(file, v.Schema.OpenAPIV3Schema)
		}
	}
}

func TestBuiltInSchemasAreReadAsTheLibraryReadsThem(t *testing.T) {
	builtIn(t, func(_ string, schema []byte) { requireSameSchema(t, schema) })
}

// maker makes schemas and values up. The same seed makes the same ones.
type maker struct{ *rand.Rand }

func (r maker) of(choices ...any) any { return choices[r.IntN(len(choices))] }

func (r maker) name() string {
	return r.of("a", "b", "metadata", "kind", "apiVersion", "name", "generateName", "x.y").(string)
}

// schema is a schema of which every keyword may be wrong.
func (r maker) schema(depth int) map[string]any {
	s := map[string]any{}
	if r.IntN(8) > 0 {
		s["type"] = r.of("object", "object", "array", "string", "integer", "boolean")
	}
	for range r.IntN(4) {
		keyword := r.of("nullable", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "uniqueItems").(string)
		s[keyword] = r.IntN(9) > 0
		if r.IntN(3) == 0 {
			r.annotate(s)
		}
	}
	if s["type"] == "array" && r.IntN(2) == 0 {
		s["x-kubernetes-list-type"] = r.of("set", "map", "atomic")
		s["x-kubernetes-list-map-keys"] = r.of([]any{"a"}, []any{"a"}, []any{"a", "b"}, []any{})
	}
	if depth == 0 {
		return s
	}
	for range r.IntN(4) {
		switch r.IntN(8) {
		case 0, 1, 2:
			s["properties"] = map[string]any{r.name(): r.schema(depth - 1), r.name(): r.schema(depth - 1)}
		case 3, 4:
			s["items"] = r.of(r.schema(depth-1), r.schema(depth-1), r.schema(depth-1), []any{r.schema(0)}, []any{}, nil)
		case 5:
			s["additionalProperties"] = r.of(r.schema(depth-1), r.schema(depth-1), true, false, nil)
		case 6:
			s["not"] = r.schema(depth - 1)
		case 7:
			s[r.of("allOf", "anyOf", "oneOf").(string)] = r.of(
				[]any{r.schema(depth - 1)}, []any{r.schema(depth - 1), r.schema(depth - 1)}, either(), []any{map[string]any{"anyOf": either()}}, []any{map[string]any{"properties": map[string]any{r.name(): map[string]any{}}}})
		}
	}
	return s
}

func either() []any {
	return []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}
}

// annotate adds a keyword that stands alone.
func (r maker) annotate(s map[string]any) {
	keyword := r.of("title", "description", "default", "example", "externalDocs", "pattern", "format", "enum", "required", "maximum", "minLength", "x-kubernetes-map-type", "x-kubernetes-validations",
		"id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions").(string)
	if strings.HasPrefix(keyword, "x-kubernetes-v") {
		s[keyword] = []any{map[string]any{"rule": "self.a", "message": "m", "messageExpression": "'e'", "fieldPath": ".a", "reason": "FieldValueRequired", "optionalOldSelf": true}}
		return
	}
	good := map[string]any{
		"title": "t", "description": "d", "externalDocs": map[string]any{"url": "u"}, "pattern": r.of("^a$", "("), "format": "date", "x-kubernetes-map-type": "atomic",
		"enum": []any{1, 1.5, "a", nil, []any{2}}, "required": r.of([]any{"a"}, []any{}), "maximum": 1e10, "minLength": 3, "default": r.of(nil, 1, map[string]any{"a": 1.0}), "example": []any{"a"},
		"id": r.of("", "", "x"), "$schema": r.of("", "", "x"), "$ref": r.of("", nil, "x"), "patternProperties": r.of(map[string]any{}, map[string]any{"a": map[string]any{}}),
		"dependencies": r.of(map[string]any{}, map[string]any{"a": []any{"b"}}), "additionalItems": r.of(nil, nil, true), "definitions": r.of(map[string]any{}, map[string]any{"a": map[string]any{}}),
	}[keyword]
	if r.IntN(20) == 0 {
		good = r.of(nil, 1, "text", 1.5, true, []any{}, map[string]any{})
	}
	s[keyword] = good
}

// value is a value that may meet the schemas of the maker.
func (r maker) value(depth int) any {
	if depth == 0 || r.IntN(4) == 0 {
		return r.of(nil, int64(1), 1.0, 1.5, "a", "1", true)
	}
	if r.IntN(2) == 0 {
		l := []any{}
		for range r.IntN(4) {
			l = append(l, r.value(depth-1))
		}
		return l
	}
	return r.object(depth)
}

func (r maker) object(depth int) map[string]any {
	m := map[string]any{}
	for range r.IntN(4) {
		m[r.name()] = r.value(depth - 1)
	}
	return m
}

func TestJudgesAsTheLibraryDoes(t *testing.T) {
	const rounds = 1200
	r := maker{rand.New(rand.NewPCG(3, 4))}
	read, faulty, pruned := 0, 0, 0
	for range rounds {
		text, err := json.Marshal(r.schema(4))
		require.NoError(t, err)
		theirs, own := requireSameSchema(t, text)
		if own == nil {
			continue
		}
		read++
		if len(structural.Faults(nil, own)) > 0 {
			faulty++
		}
		for range 8 {
			v := r.object(5)
			require.Equal(t, words(listtype.ValidateListSetsAndMaps(nil, theirs, v)), words(structural.Lists(nil, own, v)), "%s %v", text, v)
			for _, root := range []bool{true, false} {
				want, got := runtime.DeepCopyJSON(v), runtime.DeepCopyJSON(v)
				paths := pruning.PruneWithOptions(want, theirs, root, library.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
				require.Equal(t, paths, structural.Prune(got, own, root), "%s %v", text, v)
				require.Equal(t, want, got, "%s %v", text, v)
				pruned += len(paths)
			}
		}
	}
	for _, n := range []int{read - faulty, faulty, rounds - read, pruned} {
		require.Greater(t, n, rounds/20, "%d schemas, %d read, %d faulty, %d fields pruned: too few to compare", rounds, read, faulty, pruned)
	}
}

func TestFindsTheItemsThatTheLibraryFinds(t *testing.T) {
	r := maker{rand.New(rand.NewPCG(5, 6))}
	found := 0
	for _, list := range []string{`"set"`, `"atomic"`, `"map"`, `"map","x-kubernetes-list-map-keys":[]`, `"map","x-kubernetes-list-map-keys":["a"]`, `"map","x-kubernetes-list-map-keys":["a","b"]`} {
		text := `{"type":"object","properties":{"b":{"type":"object","additionalProperties":{"type":"array","items":{"type":"object","properties":{"a":{"type":"array","x-kubernetes-list-type":"set"}}},"x-kubernetes-list-type":` + list + `}}}}`
		theirs, own := requireSameSchema(t, []byte(text))
		for range 400 {
			var l []any
			for range r.IntN(6) {
				item := r.value(2)
				if strings.Contains(list, "map") && r.IntN(8) > 0 {
					item = map[string]any{r.of("a", "c").(string): r.value(1), r.of("a", "b", "d").(string): r.value(2)}
				}
				l = append(l, item)
			}
			v := map[string]any{"b": map[string]any{"x": l, "y.z": append(slices.Clone(l), l...)}}
			got := words(structural.Lists(nil, own, v))
			require.Equal(t, words(listtype.ValidateListSetsAndMaps(nil, theirs, v)), got, "%s %v", text, v)
			found += len(got)
		}
	}
	require.Greater(t, found, 1000)
}

func TestSaysWhatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":1}`:                                          "has a number where type should be",
		`{"properties":{"a":{"minLength":1.5}}}`:              "has a number 1.5 where properties.minLength should be",
		`{"type":`:                                            "cannot be read as a schema",
		`{"additionalProperties":1}`:                          "cannot be read as a schema",
		`{"properties":{"a":{"$ref":"#/x"}}}`:                 "OpenAPIV3Schema '$ref' is not supported",
		`{"items":[{}]}`:                                      "OpenAPIV3Schema 'items' must be a schema, but is an array",
		`{"not":{"definitions":{"a":{}}}}`:                    "OpenAPIV3Schema 'definitions' is not supported",
		`{"x-kubernetes-preserve-unknown-fields":false}`:      "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
		`{"properties":{"b":{"id":"1"},"a":{"$schema":"1"}}}`: "OpenAPIV3Schema 'schema' is not supported",
	} {
		_, err := structural.Read([]byte(text))
		require.EqualError(t, err, want, text)
	}
}

func TestANilSchemaKnowsNothing(t *testing.T) {
	v := map[string]any{"kind": "A", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"a": "b"}}
	require.Equal(t, []string{"spec"}, structural.Prune(v, nil, true))
	require.Equal(t, map[string]any{"kind": "A", "metadata": map[string]any{"name": "a"}}, v)
	require.Empty(t, structural.Faults(nil, nil))
	require.Empty(t, structural.Lists(nil, nil, v))
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{`{}`, `{"type":"object","properties":{"a":{"items":{"type":"string"}}}}`, `{"additionalProperties":{"default":1}}`, `{"allOf":[{"not":{}}],"enum":[1,null]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { requireSameSchema(t, text) })
}
