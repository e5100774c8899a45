// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cuetypes

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
	"cuelang.org/go/encoding/jsonschema"

	"github.com/ropewalk/ropewalk/render/object"
)

// fits matches the names that paths and definitions are made of.
var fits = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)

// Definitions returns the versions of a CustomResourceDefinition, one file for each, sorted.
func Definitions(crd object.Object) ([]File, error) {
	value, err := encoded(map[string]any(crd))
	if err != nil {
		return nil, err
	}
	extracted, err := jsonschema.ExtractCRDs(value, nil)
	if err != nil {
		return nil, err
	}
	if len(extracted) != 1 {
		return nil, errors.New("it is no CustomResourceDefinition of apiextensions.k8s.io/v1")
	}
	spec := extracted[0].Data.Spec
	var files []File
	for _, version := range object.SortedKeys(extracted[0].Versions) {
		for _, part := range []string{spec.Group, spec.Names.Kind, version} {
			if !fits.MatchString(part) {
				return nil, fmt.Errorf("%q is no name of a group, a kind or a version", part)
			}
		}
		at := spec.Group + "/" + strings.ToLower(spec.Names.Kind) + "/" + version
		file, err := written(at, defined(spec.Names.Kind, extracted[0].Versions[version]))
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", version, err)
		}
		files = append(files, file)
	}
	return files, nil
}

// defined returns a file whose fields are the fields of one definition. A namespace may be left out:
// an engine fills it in.
func defined(kind string, file *ast.File) *ast.File {
	body := &ast.StructLit{}
	decls := slices.DeleteFunc(file.Decls, func(d ast.Decl) bool {
		switch d.(type) {
		case *ast.Package, *ast.ImportDecl:
			return false
		}
		body.Elts = append(body.Elts, d)
		return true
	})
	for _, d := range body.Elts {
		if metadata, ok := d.(*ast.Field); ok {
			if name, _, _ := ast.LabelName(metadata.Label); name == "metadata" {
				makeOptional(metadata.Value, "namespace")
			}
		}
	}
	file.Decls = append(decls, &ast.Field{Label: ast.NewIdent("#" + kind), Value: body})
	return file
}

// makeOptional makes a required field of a struct optional.
func makeOptional(value ast.Expr, name string) {
	s, ok := value.(*ast.StructLit)
	if !ok {
		return
	}
	for _, d := range s.Elts {
		if f, ok := d.(*ast.Field); ok && f.Constraint == token.NOT {
			if label, _, _ := ast.LabelName(f.Label); label == name {
				f.Constraint = token.OPTION
			}
		}
	}
}
