// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// timoniSchema stands in for the definitions that Timoni lays over a
// module's package; see https://timoni.sh/cue/module/custom-health-checks.
const timoniSchema = `package main

#Timoni: {
	apiVersion: "v1alpha1"
	instance: {...}
	apply: [string]: [...]
	healthChecks?: [string]: #HealthCheck
	...
}
#HealthCheck: {
	group!: string
	kind?:  string
	#object: {...}
	current:     _
	failed?:     _
	inProgress?: _
	...
}
`

// timoniSchemaFile is the name that Timoni gives its own file.
const timoniSchemaFile = "timoni.schema.cue"

// timoniModule holds what a Timoni module has beside the files of its tree.
type timoniModule struct {
	// file is the path of values.cue, and data its content; nil without such a file.
	file string
	data []byte
	// tags are the fields that Timoni sets and that Module.Tags does not.
	tags []tagField
}

type tagField struct {
	name string
	path []string
}

// isTimoni reports whether a file of the package has the mark of Timoni.
func isTimoni(files []*ast.File) bool {
	for _, f := range files {
		for _, d := range f.Decls {
			if field, ok := d.(*ast.Field); ok && LabelIs(field.Label, fieldTimoni) && hasVersion(field.Value) {
				return true
			}
		}
	}
	return false
}

// mentions reports whether a file of the package holds a word.
func (t *tree) mentions(word string) bool {
	return slices.ContainsFunc(t.cueFiles(t.dir), func(name string) bool { return bytes.Contains(t.files[name], []byte(word)) })
}

// hasVersion reports whether apiVersion is set somewhere in an expression, not
// in a deeper field.
func hasVersion(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.StructLit:
		for _, d := range e.Elts {
			if field, ok := d.(*ast.Field); ok && LabelIs(field.Label, "apiVersion") {
				return true
			}
		}
	case *ast.BinaryExpr:
		return hasVersion(e.X) || hasVersion(e.Y)
	case *ast.ParenExpr:
		return hasVersion(e.X)
	}
	return false
}

// prepareTimoni changes a tree before it is loaded: values.cue is taken out, because a
// render puts merged values in its place, and definitions that Timoni brings along are
// laid over. It returns nil for a tree that is not Timoni's.
func prepareTimoni(m evaluate.Module, t *tree) *timoniModule {
	// Parsing is expensive, and the loader parses again: a module without
	// the word is no Timoni module.
	if !t.mentions(fieldTimoni) {
		return nil
	}
	var files []*ast.File
	for _, name := range t.cueFiles(t.dir) {
		// A syntax error is the loader's to report, with all the others.
		if f, err := parser.ParseFile(name, t.files[name]); err == nil {
			files = append(files, f)
		}
	}
	if !isTimoni(files) {
		return nil
	}
	module := &timoniModule{file: path.Join(t.dir, valuesFile)}
	module.data = t.files[module.file]
	delete(t.files, module.file)
	module.tags = tagFields(files, m.Tags)
	schema := path.Join(t.dir, timoniSchemaFile)
	if _, ok := t.files[schema]; !ok && needsSchema(files) {
		t.files[schema] = []byte(timoniSchema)
		t.laid[schema] = schemaPrefix + timoniSchemaFile
	}
	return module
}

// needsSchema reports whether the package uses Timoni's definitions without
// having them.
func needsSchema(files []*ast.File) bool {
	used, defined := false, false
	for _, f := range files {
		ast.Walk(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && (id.Name == "#Timoni" || id.Name == "#HealthCheck") {
				used = true
			}
			return true
		}, nil)
		for _, d := range f.Decls {
			if field, ok := d.(*ast.Field); ok && (LabelIs(field.Label, "#Timoni") || LabelIs(field.Label, "#HealthCheck")) {
				defined = true
			}
		}
	}
	return used && !defined
}

// tagFields returns the fields that carry one of Timoni's own tags.
func tagFields(files []*ast.File, set map[string]string) []tagField {
	var fields []tagField

	// The names of the fields around are the path of a field.
	var visit func(n ast.Node, fieldPath []string)
	visit = func(n ast.Node, fieldPath []string) {
		switch n := n.(type) {
		case *ast.Field:
			name, _, err := ast.LabelName(n.Label)
			if err != nil {
				return
			}
			fieldPath = append(append([]string{}, fieldPath...), name)
			for _, a := range n.Attrs {
				key, body := a.Split()
				tag, _, _ := strings.Cut(body, ",")
				tag = strings.TrimSpace(tag)
				if _, taken := set[tag]; key == "tag" && !taken {
					fields = append(fields, tagField{name: tag, path: fieldPath})
				}
			}
			visit(n.Value, fieldPath)
		case *ast.StructLit:
			for _, d := range n.Elts {
				visit(d, fieldPath)
			}
		case *ast.BinaryExpr:
			if n.Op == token.AND {
				visit(n.X, fieldPath)
				visit(n.Y, fieldPath)
			}
		case *ast.EmbedDecl:
			visit(n.Expr, fieldPath)
		case *ast.ParenExpr:
			visit(n.X, fieldPath)
		}
	}
	for _, f := range files {
		for _, d := range f.Decls {
			visit(d, nil)
		}
	}
	return fields
}

// readValues evaluates values.cue without the rest of the module, as Timoni does. Unlike Timoni it
// resolves what the file imports. Fields that overlay replaces may have no value.
func readValues(m evaluate.Module, c *Compiled, overlay object.Value) (cue.Value, error) {
	t := c.Tree
	name := c.timoni.file
	f, err := parser.ParseFile(path.Join(virtualRoot, name), c.timoni.data, parser.ParseComments)
	if err != nil {
		return cue.Value{}, t.syntaxError(m, name, c.timoni.data)
	}

	// A file with imports needs the loader.
	var v cue.Value
	files := []*ast.File{f}
	if hasImports(f) {
		alone := *t
		alone.files = maps.Clone(t.files)
		for _, other := range t.cueFiles(t.dir) {
			delete(alone.files, other)
		}
		alone.files[name] = c.timoni.data
		inst, err := alone.load(m, nil, nil)
		if err != nil {
			return cue.Value{}, err
		}
		if err := injectRuntime(m, t, inst.Files); err != nil {
			return cue.Value{}, err
		}
		files = inst.Files
		v = newContext(true).BuildInstance(inst)
	} else {
		if err := injectRuntime(m, t, files); err != nil {
			return cue.Value{}, err
		}
		v = newContext(true).BuildFile(f)
	}

	// Fields without a value must get their value from overlay.
	values := v.LookupPath(cue.MakePath(cue.Str(fieldValues)))
	if err := v.Err(); err != nil {
		return cue.Value{}, t.moduleErrors(m, err)
	}
	if !values.Exists() {
		return cue.Value{}, nil
	}
	if err := complete(values, overlay); err != nil {
		if len(missingRuntime(m, t, files)) == 0 {
			return cue.Value{}, t.moduleErrors(m, err)
		}
		// The module may have a default for what is missing.
	}
	return values, nil
}

// complete reports the fields of v that have no value and get no value from overlay.
func complete(v cue.Value, overlay object.Value) error {
	if overlay.Kind == object.KindNone {
		return v.Validate(cue.Concrete(true), cue.Final())
	}
	var errs cueerrors.Error
	fields, _ := v.Fields(cue.Optional(true))
	for overlay.Kind == object.KindMap && fields != nil && fields.Next() {
		selector := fields.Selector()
		if overlayValue, inOverlay := overlay.Get(selector.Unquoted()); inOverlay || selector.ConstraintType() == 0 {
			if err := complete(fields.Value(), overlayValue); err != nil {
				errs = cueerrors.Append(errs, cueerrors.Promote(err, ""))
			}
		} else if selector.ConstraintType() == cue.RequiredConstraint {
			return complete(v, object.Value{})
		}
	}
	if errs == nil {
		return nil
	}
	return errs
}

// readValue returns CUE as data. What has no value is of KindNone. Line and column are kept without
// a file: the name of the file depends on the request.
func readValue(v cue.Value) object.Value {
	cuePos := v.Pos().Position()
	pos := object.Pos{Line: cuePos.Line, Column: cuePos.Column}
	v, _ = v.Default()

	// Containers hold data themselves.
	switch kind := v.IncompleteKind(); {
	case kind == cue.StructKind:
		result := object.Value{Kind: object.KindMap, Pos: pos}
		fields, err := v.Fields()
		for err == nil && fields.Next() {
			m := object.Member{Name: fields.Selector().Unquoted(), Value: readValue(fields.Value())}
			m.Pos = m.Value.Pos
			if field, ok := fields.Value().Source().(*ast.Field); ok {
				name := field.Label.Pos().Position()
				m.Pos = object.Pos{Line: name.Line, Column: name.Column}
			}
			result.Members = append(result.Members, m)
		}
		return result
	case kind == cue.ListKind:
		result := object.Value{Kind: object.KindList, Pos: pos}
		items, err := v.List()
		for err == nil && items.Next() {
			result.Items = append(result.Items, readValue(items.Value()))
		}
		return result
	case !v.IsConcrete():
		return object.Value{Pos: pos}
	}
	if v.Kind() == cue.BytesKind {
		// In the end Timoni makes them the text that they hold.
		if text, err := v.Bytes(); err == nil && utf8.Valid(text) {
			return object.Value{Kind: object.KindString, Pos: pos, Text: string(text)}
		}
	}

	// What is concrete and no container always encodes.
	data, _ := v.MarshalJSON()
	var text any
	if json.Unmarshal(data, &text) != nil {
		return object.Value{Kind: object.KindNull, Pos: pos}
	}
	result := object.Value{Kind: object.KindNumber, Pos: pos, Text: string(data)}
	switch text := text.(type) {
	case string:
		result.Kind = object.KindString
		result.Text = text
	case bool:
		result.Kind = object.KindBool
	case nil:
		result.Kind = object.KindNull
		result.Text = ""
	}
	return result
}

// valuesIn returns the module's own values with positions as the request calls them.
func (m *timoniModule) valuesIn(source evaluate.Module, t *tree, values object.Value) object.Value {
	var place func(object.Value) object.Value
	translate := func(p object.Pos) object.Pos {
		return t.pos(source, path.Join(virtualRoot, m.file), p.Line, p.Column)
	}
	place = func(v object.Value) object.Value {
		v.Pos = translate(v.Pos)
		members := make([]object.Member, len(v.Members))
		for i, e := range v.Members {
			members[i] = object.Member{Name: e.Name, Pos: translate(e.Pos), Value: place(e.Value)}
		}
		items := make([]object.Value, len(v.Items))
		for i, e := range v.Items {
			items[i] = place(e)
		}
		v.Members = members
		v.Items = items
		return v
	}
	if values.Kind == object.KindNone {
		return object.Value{}
	}
	return place(values)
}

func hasImports(f *ast.File) bool {
	for range f.ImportSpecs() {
		return true
	}
	return false
}
