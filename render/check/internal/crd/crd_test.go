// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/ropewalk/ropewalk/render/check/internal/crd"
	"github.com/ropewalk/ropewalk/render/check/internal/structural"
)

func TestEveryBuiltInSchemaIsReadAsAnyOther(t *testing.T) {
	files, err := filepath.Glob("../../schemas/crds/*/*.json")
	require.NoError(t, err)
	require.Greater(t, len(files), 50)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		d, err := crd.Read(string(content))
		require.NoError(t, err, file)
		var want apiextensionsv1.CustomResourceDefinition
		require.NoError(t, json.Unmarshal(content, &want))
		require.Equal(t, want.Spec.Group, d.Group)
		require.Equal(t, want.Spec.Names.Kind, d.Kind)
		require.Equal(t, string(want.Spec.Scope), d.Scope)
		require.Len(t, d.Versions, len(want.Spec.Versions))
		for i, v := range want.Spec.Versions {
			require.Equal(t, v.Name, d.Versions[i].Name)
			require.Equal(t, v.Served, d.Versions[i].Served)
			require.Equal(t, v.Storage, d.Versions[i].Storage)
			slow, err := structural.Read([]byte(d.Versions[i].Schema))
			require.NoError(t, err)
			require.Empty(t, structural.Faults(nil, slow), "%s %s", file, v.Name)
			quick, err := crd.Schema(d.Versions[i].Schema)
			require.NoError(t, err, "%s %s", file, v.Name)
			require.True(t, equality.Semantic.DeepEqual(slow, quick), "%s %s", file, v.Name)
		}
	}
}

// keywords is a schema with everything that one can hold.
const keywords = `{"type":"object","title":"t","description":"a \"quoted\" text","example":{"a":[1]},"externalDocs":{"url":"x"},"nullable":true,"default":{"a":1,"b":1.5,"c":["\u00e9",null]},` +
	`"x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-embedded-resource":true,"x-kubernetes-map-type":"atomic","required":["a","b"],"maxProperties":3,"minProperties":1,` +
	`"properties":{"a":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"minItems":1,"maxItems":2,"uniqueItems":true},` +
	`"b":{"type":"number","minimum":-1.5,"maximum":1e10,"exclusiveMinimum":true,"exclusiveMaximum":true,"multipleOf":0.5,"format":"double"},` +
	`"c":{"type":"string","minLength":1,"maxLength":2,"pattern":"^\\d+\\n$","enum":["1","\"",2,1.5,null]},"d":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]},` +
	`"e":{"type":"object","additionalProperties":{"type":"string"}},"f":{"type":"object","additionalProperties":true},"g":{"type":"object","additionalProperties":false}},` +
	`"allOf":[{"required":["a"],"properties":{"c":{"pattern":"x","not":{"enum":["y"]}}}}],"oneOf":[{"properties":{"a":{"items":{"format":"date"}}}}],"not":{"required":["z"]},` +
	`"x-kubernetes-validations":[{"rule":"self.a == '\"'","message":"m","messageExpression":"'e'","fieldPath":".a","reason":"FieldValueRequired","optionalOldSelf":true}]}`

func TestEveryKeywordIsRead(t *testing.T) {
	want, err := structural.Read([]byte(keywords))
	require.NoError(t, err)
	got, err := crd.Schema(keywords)
	require.NoError(t, err)
	want.Title, want.Description, want.Example, want.ExternalDocs = "", "", structural.JSON{}, nil
	require.Equal(t, want, got)
}

func TestWhatIsNotKnownIsAnError(t *testing.T) {
	for _, text := range []string{
		"", "{", "[]", "null", `{"type":1}`, `{"type":"object"`, `{"type":"object"}}`, `{ "type":"object"}`, `{"type":"object",}x`, `{"nullable":"true"}`, `{"minimum":x}`, `{"minLength":1.5}`,
		`{"$ref":"x"}`, `{"properties":[]}`, `{"enum":[}`, `{"default":}`, `{"default":tru}`, `{"type":"\x"}`, `{"x-kubernetes-validations":[{"unknown":1}]}`, `{"x-kubernetes-preserve-unknown-fields":false}`,
		`{"anyOf":[{"x-kubernetes-validations":[]}]}`, `{"type":"a`, `{"title":"a`, strings.Repeat(`{"items":`, 300) + "{}" + strings.Repeat("}", 300),
	} {
		_, err := crd.Schema(text)
		require.Error(t, err, text)
	}
	for _, text := range []string{"", "[]", `{"spec":1}`, `{"spec":{"versions":{}}}`, `{"spec":{}}x`, `{"spec":{"versions":[{"served":1}]}}`} {
		_, err := crd.Read(text)
		require.Error(t, err, text)
	}
}

// FuzzSchema reads texts of any form.
func FuzzSchema(f *testing.F) {
	for _, seed := range []string{keywords, `{}`, `{"type":"a\u0041"}`, `{"enum":[{},[],"a,]"]}`, `{"default":{"a":"}"}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		own, err := crd.Schema(text)
		require.Equal(t, err == nil, own != nil)
		crd.Read(text)
	})
}
