// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package release_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/release"
)

const nameForm = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"

// forms are the patterns of texts, by their tag.
var forms = map[string]map[string]any{ //nolint:gochecknoglobals // a constant
	"name": {"pattern": nameForm}, "digest": {"pattern": "^sha256:[0-9a-f]{64}$"}, "engine": {"enum": []any{"flux", "argocd", "transform"}},
	"tag": {"pattern": `^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`}, "pinned": {"pattern": "^oci://.+@sha256:[0-9a-f]{64}$"},
	"reference": {"pattern": "^oci://.+/.+[:@]"}, "target": {"pattern": "^oci://.+/.+"}, "repository": {"pattern": "^oci://.+/.+"}, "folder": {"pattern": "^oci://.+"},
}

// comments are those of the types and fields in documents.go.
func comments(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "documents.go", nil, parser.ParseComments)
	require.NoError(t, err)
	out := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		d, ok := n.(*ast.GenDecl)
		if !ok || d.Tok != token.TYPE {
			return true
		}
		spec := d.Specs[0].(*ast.TypeSpec)
		_, text, _ := strings.Cut(strings.Join(strings.Fields(d.Doc.Text()), " "), " is ")
		if text != "" {
			out[spec.Name.Name] = strings.ToUpper(text[:1]) + text[1:]
		}
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			for _, name := range f.Names {
				out[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
			}
		}
		return true
	})
	return out
}

func schemaOf(v reflect.Type, is string, texts map[string]string) map[string]any {
	switch v.Kind() {
	case reflect.Pointer:
		return schemaOf(v.Elem(), is, texts)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(v.Elem(), is, texts)}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(v.Elem(), is, texts)}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Struct:
		properties, required := map[string]any{}, []any{}
		fieldsOf(v, texts, properties, &required)
		out := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
		if len(required) > 0 {
			out["required"] = required
		}
		return out
	default:
		out := map[string]any{"type": "string", "minLength": 1}
		for k, v := range forms[is] {
			out[k] = v
		}
		return out
	}
}

func fieldsOf(v reflect.Type, texts map[string]string, properties map[string]any, required *[]any) {
	for i := range v.NumField() {
		f := v.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" {
			fieldsOf(f.Type, texts, properties, required)
			continue
		}
		one := schemaOf(f.Type, f.Tag.Get("is"), texts)
		if text := texts[v.Name()+"."+f.Name]; text != "" {
			one["description"] = text
		}
		if options != "omitempty" {
			*required = append(*required, name)
		}
		properties[name] = one
	}
}

func TestTheSchemasAreThoseOfTheDocuments(t *testing.T) {
	texts := comments(t)
	for kind, document := range map[string]any{
		release.KindBuildPlan: release.BuildPlan{}, release.KindDeployPlan: release.DeployPlan{},
		release.KindArtifactSync: release.ArtifactSync{}, release.KindInstallation: release.Installation{},
	} {
		want := schemaOf(reflect.TypeOf(document), "", texts)
		want["$schema"], want["title"], want["description"] = "https://json-schema.org/draft/2020-12/schema", kind, texts[kind]
		want["$id"] = "https://ropewalk.dev/schema/v1alpha1/" + strings.ToLower(kind) + ".json"
		properties := want["properties"].(map[string]any)
		properties["apiVersion"], properties["kind"] = map[string]any{"const": release.Version}, map[string]any{"const": kind}
		data, err := json.MarshalIndent(want, "", "  ")
		require.NoError(t, err)
		data = append(data, '\n')
		file := filepath.Join("..", "..", "..", "render", "spec", "schema", strings.ToLower(kind)+".json")
		if os.Getenv("ROPEWALK_UPDATE") != "" {
			require.NoError(t, os.WriteFile(file, data, 0o600))
		}
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(data), string(got), "run with ROPEWALK_UPDATE=1")
	}
}
