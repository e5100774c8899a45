// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cuetypes

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	cuejson "cuelang.org/go/encoding/json"
	"cuelang.org/go/encoding/jsonschema"

	"github.com/ropewalk/ropewalk/render/check/schemas"
	"github.com/ropewalk/ropewalk/render/object"
)

// File is a file of definitions.
type File struct {
	// Package is the path of its package, without a prefix.
	Package string
	Content []byte
}

// FileName is the name of each file.
const FileName = "types_gen.cue"

// origin begins the references to components of other packages.
const origin = "https://kubernetes.io/"

// Kubernetes returns the kinds and their parts that a version of Kubernetes has, such as
// 1.35, one file for each package, sorted. Packages import each other below a prefix, "" or
// such as acme.example/web/types. The version is one that [schemas.Known] names.
func Kubernetes(version, prefix string) ([]File, error) {
	packages := map[string]map[string]any{}
	kinds := kindsOf()
	for line := range strings.Lines(schemas.Components()) {
		component, text, _ := strings.Cut(line, " ")
		var compact any
		if err := json.Unmarshal([]byte(text), &compact); err != nil {
			return nil, fmt.Errorf("%s: %w", component, err)
		}
		at, name := place(component)
		if packages[at] == nil {
			packages[at] = map[string]any{}
		}
		packages[at][name] = (&expander{minor: schemas.Minor(version), at: at, kinds: kinds}).component(component, compact)
	}
	var files []File
	for _, at := range object.SortedKeys(packages) {
		file, err := writePackage(at, prefix, packages[at])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		files = append(files, file)
	}
	return files, nil
}

// place returns the package and the name of a component.
func place(component string) (at, name string) {
	i := strings.LastIndex(component, ".")
	folder := strings.ReplaceAll(component[:i], ".", "/")
	switch {
	case strings.HasPrefix(folder, "meta/"):
		folder = "k8s.io/apimachinery/pkg/apis/" + folder
	case strings.Contains(folder, "/pkg/"):
		folder = "k8s.io/" + folder
	default:
		folder = "k8s.io/api/" + folder
	}
	return folder, component[i+1:]
}

// writePackage writes the definitions of a package.
func writePackage(at, prefix string, definitions map[string]any) (File, error) {
	value, err := encoded(map[string]any{"components": map[string]any{"schemas": definitions}})
	if err != nil {
		return File{}, err
	}
	file, err := jsonschema.Extract(value, &jsonschema.Config{
		Root: "#/components/schemas", StrictKeywords: true, DefaultVersion: jsonschema.VersionKubernetesAPI,
		MapRef: func(loc jsonschema.SchemaLoc) (string, cue.Path, error) {
			if !loc.IsLocal {
				return reference(prefix, loc.ID)
			}
			steps := loc.Path.Selectors()
			return "", cue.MakePath(cue.Def(steps[len(steps)-1].Unquoted())), nil
		},
	})
	if err != nil {
		return File{}, err
	}
	return written(at, file)
}

// encoded returns a value of CUE with whole numbers as such.
func encoded(value any) (cue.Value, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return cue.Value{}, err
	}
	expr, err := cuejson.Extract("", data)
	if err != nil {
		return cue.Value{}, err
	}
	out := cuecontext.New().BuildExpr(expr)
	return out, out.Err()
}

// reference returns where the component of another package is.
func reference(prefix string, id *url.URL) (importPath string, definition cue.Path, err error) {
	at, name := place(strings.TrimPrefix(id.String(), origin))
	return path.Join(prefix, at), cue.MakePath(cue.Def(name)), nil
}

// expander makes schemas of OpenAPI of the compact ones (render/check/schemas/SOURCES.md).
type expander struct {
	minor int
	at    string              // the package
	kinds map[string][]string // apiVersion and kind, by component
}

// kindsOf returns apiVersion and kind of the components that are kinds of their own.
func kindsOf() map[string][]string {
	kinds := map[string][]string{}
	for line := range strings.Lines(schemas.Kinds()) {
		if fields := strings.Fields(line); len(fields) >= 4 {
			kinds[fields[3]] = fields[:2]
		}
	}
	return kinds
}

// component returns the schema of a component, without what its version lacks.
func (e *expander) component(name string, compact any) map[string]any {
	switch name {
	case "apimachinery.pkg.api.resource.Quantity", "apimachinery.pkg.util.intstr.IntOrString":
		return map[string]any{"x-kubernetes-int-or-string": true}
	case "apimachinery.pkg.runtime.RawExtension", "meta.v1.FieldsV1":
		return map[string]any{"type": "object", "additionalProperties": true}
	}
	properties := e.schema(compact)
	if members, ok := properties["properties"].(map[string]any); ok {
		if kind := e.kinds[name]; kind != nil {
			members["apiVersion"], members["kind"] = map[string]any{"enum": kind[:1]}, map[string]any{"enum": kind[1:]}
		}
		for _, member := range object.SortedKeys(members) {
			if schemas.Since(name+"."+member) > e.minor {
				delete(members, member)
			}
		}
	}
	return properties
}

// schema returns a schema in the words of JSON Schema, of the compact form in which the schemas
// are stored.
func (e *expander) schema(compact any) map[string]any {
	properties := map[string]any{}
	m, _ := compact.(map[string]any)

	// Each word of the compact form has a counterpart.
	for name, value := range m {
		switch name {
		case "ref":
			at, definition := place(value.(string))
			if at == e.at {
				properties["$ref"] = "#/components/schemas/" + definition
			} else {
				properties["$ref"] = origin + value.(string)
			}
		case "props":
			members := map[string]any{}
			for member, of := range value.(map[string]any) {
				members[member] = e.schema(of)
			}
			properties["properties"] = members
		case "items":
			properties["items"] = e.schema(value)
		case "values":
			properties["additionalProperties"] = e.schema(value)
		case "type", "format", "required", "enum":
			properties[name] = value
		case "min":
			properties["minimum"] = value
		case "max":
			properties["maximum"] = value
		case "list":
			properties["x-kubernetes-list-type"] = value
		case "keys":
			properties["x-kubernetes-list-map-keys"] = value
		}
	}
	return properties
}
