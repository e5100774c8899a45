// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// component is a schema as upstream writes it.
type component struct {
	Ref                  string                `json:"$ref"`
	AllOf                []component           `json:"allOf"`
	Type                 string                `json:"type"`
	Format               string                `json:"format"`
	Properties           map[string]*component `json:"properties"`
	Items                *component            `json:"items"`
	AdditionalProperties *component            `json:"additionalProperties"`
	Required             []string              `json:"required"`
	ListType             string                `json:"x-kubernetes-list-type"`
	ListKeys             []string              `json:"x-kubernetes-list-map-keys"`
	Default              json.RawMessage       `json:"default"`
}

// compactSchema is a schema as render/check reads it; the names are those of
// its reader.
type compactSchema struct {
	Ref        string                    `json:"ref,omitempty"`
	Type       string                    `json:"type,omitempty"`
	Format     string                    `json:"format,omitempty"`
	Properties map[string]*compactSchema `json:"props,omitempty"`
	Items      *compactSchema            `json:"items,omitempty"`
	Values     *compactSchema            `json:"values,omitempty"`
	Required   []string                  `json:"required,omitempty"`
	Enum       []string                  `json:"enum,omitempty"`
	List       string                    `json:"list,omitempty"`
	Keys       []string                  `json:"keys,omitempty"`
	Struct     bool                      `json:"struct,omitempty"`
	Min        *int64                    `json:"min,omitempty"`
	Max        *int64                    `json:"max,omitempty"`
	Checks     []string                  `json:"checks,omitempty"`
}

type document struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas map[string]*component `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	Action string `json:"x-kubernetes-action"`
	Kind   struct {
		Group, Version, Kind string
	} `json:"x-kubernetes-group-version-kind"`
	RequestBody struct {
		Content map[string]struct {
			Schema struct {
				Ref string `json:"$ref"`
			} `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
}

// writeKubernetes writes kinds.txt, components.txt and, of the trees of older versions,
// since.txt.
func writeKubernetes(tree, api string, older []string, out string) error {
	components, kinds, err := readKubernetes(tree)
	if err != nil {
		return err
	}
	if len(older) > 0 {
		if err := writeSince(components, minorOf(tree), older, filepath.Join(out, "since.txt")); err != nil {
			return err
		}
	}
	if err := constrain(components); err != nil {
		return err
	}
	for name, kind := range kinds {
		kinds[name] = strings.TrimSpace(kind + " " + introduced(api, strings.Fields(kind)[1]))
	}
	if err := writeLines(filepath.Join(out, "kinds.txt"), kinds); err != nil {
		return err
	}
	lines := map[string]string{}
	for name, c := range components {
		text, err := compact(c)
		if err != nil {
			return err
		}
		lines[name] = strings.TrimSpace(string(text))
	}
	return writeLines(filepath.Join(out, "components.txt"), lines)
}

// readKubernetes reads the components and kinds of a source tree.
func readKubernetes(tree string) (components map[string]*compactSchema, kinds map[string]string, err error) {
	values, err := enumerations(filepath.Join(tree, "pkg/generated/openapi/zz_generated.openapi.go"))
	if err != nil {
		return nil, nil, err
	}
	documents := os.DirFS(filepath.Join(tree, "api/openapi-spec/v3"))
	files, err := fs.Glob(documents, "*__v*_openapi.json")
	if err != nil || len(files) == 0 {
		return nil, nil, fmt.Errorf("%s holds no OpenAPI v3 documents: %w", tree, os.ErrNotExist)
	}
	components, kinds = map[string]*compactSchema{}, map[string]string{}
	for _, file := range files {
		content, err := fs.ReadFile(documents, file)
		if err != nil {
			return nil, nil, err
		}
		var d document
		if err := json.Unmarshal(content, &d); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		for name, c := range d.Components.Schemas {
			components[shorten(name)] = shrink(c, values[name])
		}
		if err := collectKinds(d, kinds); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	keepReachable(components, kinds)
	return components, kinds, nil
}

// introduced is the version of Kubernetes that brought a component, "" where the source of its
// package does not say so.
func introduced(api, component string) string {
	parts := strings.Split(component, ".")
	kind := parts[len(parts)-1]
	file := filepath.Join(append(append([]string{api}, parts[:len(parts)-1]...), "zz_generated.prerelease-lifecycle.go")...)
	source, err := os.ReadFile(file) //nolint:gosec // below the folder that the caller names
	if err != nil {
		return ""
	}
	m := regexp.MustCompile(`\*` + kind + `\) APILifecycleIntroduced\(\) \(major, minor int\) \{\s+return (\d+), (\d+)`).FindSubmatch(source)
	if m == nil {
		return ""
	}
	return string(m[1]) + "." + string(m[2])
}

// collectKinds adds what can be created: apiVersion and kind, then scope and
// component.
func collectKinds(d document, kinds map[string]string) error {
	for path, item := range d.Paths {
		raw, ok := item["post"]
		if !ok {
			continue
		}
		var op operation
		if err := json.Unmarshal(raw, &op); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		// Subresources (binding, eviction, token) are no objects of their own.
		if op.Action != "post" || strings.Contains(path, "{name}") {
			continue
		}
		scope := "Cluster"
		if strings.Contains(path, "{namespace}") {
			scope = "Namespaced"
		}
		apiVersion := strings.TrimPrefix(op.Kind.Group+"/"+op.Kind.Version, "/")
		ref := op.RequestBody.Content["*/*"].Schema.Ref
		if ref == "" {
			ref = op.RequestBody.Content["application/json"].Schema.Ref
		}
		if ref == "" {
			return fmt.Errorf("%s: no schema for %s", path, op.Kind.Kind)
		}
		kinds[apiVersion+" "+op.Kind.Kind] = scope + " " + shorten(ref)
	}
	return nil
}

// keepReachable drops the components that no kind needs.
func keepReachable(components map[string]*compactSchema, kinds map[string]string) {
	seen := map[string]bool{}
	var visit func(*compactSchema)
	visit = func(s *compactSchema) {
		if s == nil {
			return
		}
		if s.Ref != "" && !seen[s.Ref] {
			seen[s.Ref] = true
			visit(components[s.Ref])
		}
		visit(s.Items)
		visit(s.Values)
		for _, p := range s.Properties {
			visit(p)
		}
	}
	for _, k := range kinds {
		_, name, _ := strings.Cut(k, " ")
		visit(&compactSchema{Ref: name})
	}
	maps.DeleteFunc(components, func(name string, _ *compactSchema) bool { return !seen[name] })
}

// shrink is c without descriptions, defaults and what only patches need.
func shrink(c *component, values map[string][]string) *compactSchema {
	if c == nil {
		return nil
	}
	s := &compactSchema{
		Type: c.Type, Format: c.Format, Required: slices.Sorted(slices.Values(c.Required)),
		Items: shrink(c.Items, nil), Values: shrink(c.AdditionalProperties, nil),
		Struct: string(c.Default) == "{}",
	}
	if c.ListType == "map" || c.ListType == "set" {
		s.List, s.Keys = c.ListType, c.ListKeys
	}
	for _, ref := range append(slices.Clone(c.AllOf), component{Ref: c.Ref}) {
		if ref.Ref != "" {
			s.Ref = shorten(ref.Ref)
		}
	}
	for name, p := range c.Properties {
		if s.Properties == nil {
			s.Properties = map[string]*compactSchema{}
		}
		s.Properties[name] = shrink(p, nil)
		if enum := values[name]; len(enum) > 0 {
			at := s.Properties[name]
			if at.Items != nil {
				at = at.Items
			}
			at.Enum = enum
		}
	}
	return s
}

// shorten is the name of a component without what all names share.
func shorten(name string) string {
	name = strings.TrimPrefix(name, "#/components/schemas/")
	name = strings.TrimPrefix(name, "io.k8s.api.")
	name = strings.TrimPrefix(name, "io.k8s.")
	return strings.Replace(name, "apimachinery.pkg.apis.meta.", "meta.", 1)
}

// writeLines writes one line for each name, in order.
func writeLines(file string, lines map[string]string) error {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&b, "%s %s\n", name, lines[name])
	}
	return os.WriteFile(file, b.Bytes(), 0o600)
}
