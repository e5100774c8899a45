// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// enumerations reads, from the Go source that upstream generates its OpenAPI
// documents from, the values of each property of each component. Upstream
// leaves them out of the documents that it publishes, because they depend on
// feature gates there.
func enumerations(file string) (map[string]map[string][]string, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string][]string{}
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(f.Name.Name, "schema_") {
			continue
		}
		values := map[string][]string{}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if pair, ok := n.(*ast.KeyValueExpr); ok {
				if name, ok := textOf(pair.Key); ok {
					if enum := enumOf(pair.Value); len(enum) > 0 {
						values[name] = enum
					}
				}
			}
			return true
		})
		if len(values) > 0 {
			out[modelName(f.Name.Name)] = values
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s holds no enumerations", file)
	}
	return out, nil
}

// modelName is the component that a generated function describes:
// schema_k8sio_api_core_v1_Pod is that of io.k8s.api.core.v1.Pod.
func modelName(function string) string {
	name := strings.TrimPrefix(function, "schema_")
	name = strings.TrimPrefix(name, "k8sio_")
	name = strings.ReplaceAll(name, "_", ".")
	return "io.k8s." + name
}

// enumOf is the first enumeration inside the schema of a property or of its
// items.
func enumOf(value ast.Expr) (out []string) {
	ast.Inspect(value, func(n ast.Node) bool {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok || out != nil {
			return out == nil
		}
		key, ok := pair.Key.(*ast.Ident)
		if !ok || key.Name != "Enum" {
			return true
		}
		list, ok := pair.Value.(*ast.CompositeLit)
		if !ok {
			return true
		}
		for _, e := range list.Elts {
			if text, ok := textOf(e); ok {
				out = append(out, text)
			}
		}
		return false
	})
	return out
}

func textOf(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
