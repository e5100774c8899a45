// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// writeDefinitions writes one file for each CustomResourceDefinition below
// dir: <group>/<Kind>.json.
func writeDefinitions(dir, out string) error {
	tree := os.DirFS(dir)
	return fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(file) != ".yaml" {
			return err
		}
		content, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		decoder := yaml.NewDecoder(bytes.NewReader(content))
		for {
			var definition map[string]any
			err := decoder.Decode(&definition)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil && definition["kind"] == "CustomResourceDefinition" {
				err = writeDefinition(definition, out)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	})
}

// writeDefinition writes what checking needs of one definition.
func writeDefinition(definition map[string]any, out string) error {
	spec, _ := definition["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	metadata, _ := definition["metadata"].(map[string]any)
	group, kind := fmt.Sprint(spec["group"]), fmt.Sprint(names["kind"])
	for _, part := range []string{group, kind} {
		if part == "" || strings.ContainsAny(part, `/\`) {
			return fmt.Errorf("%q is no name of a group or kind", part)
		}
	}
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		version, _ := v.(map[string]any)
		delete(version, "additionalPrinterColumns")
		delete(version, "selectableFields")
		if schema, ok := version["schema"].(map[string]any); ok {
			version["schema"] = strip(schema)
		}
	}
	text, err := compact(map[string]any{
		"apiVersion": definition["apiVersion"],
		"kind":       definition["kind"],
		"metadata":   map[string]any{"name": metadata["name"]},
		"spec": map[string]any{
			"group": group, "names": names, "scope": spec["scope"], "versions": versions,
		},
	})
	if err != nil {
		return err
	}
	dir := filepath.Join(out, group)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, kind+".json"), text, 0o600)
}

// strip is a schema without its descriptions; a property called description
// stays.
func strip(schema map[string]any) map[string]any {
	out := make(map[string]any, len(schema))
	for key, value := range schema {
		switch v := value.(type) {
		case map[string]any:
			switch key {
			case "default", "example":
				out[key] = v
			case "properties", "patternProperties", "definitions":
				out[key] = stripEach(v)
			default:
				out[key] = strip(v)
			}
		case []any:
			out[key] = stripList(key, v)
		default:
			if key != "description" && key != "example" && key != "externalDocs" {
				out[key] = value
			}
		}
	}
	return out
}

func stripEach(properties map[string]any) map[string]any {
	out := make(map[string]any, len(properties))
	for name, value := range properties {
		out[name] = value
		if schema, ok := value.(map[string]any); ok {
			out[name] = strip(schema)
		}
	}
	return out
}

func stripList(key string, list []any) []any {
	if key != "allOf" && key != "anyOf" && key != "oneOf" {
		return list
	}
	out := make([]any, len(list))
	for i, value := range list {
		out[i] = value
		if schema, ok := value.(map[string]any); ok {
			out[i] = strip(schema)
		}
	}
	return out
}
