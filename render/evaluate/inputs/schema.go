// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/object"
)

// Bounds of a JSON Schema: the schemas in it, and its bytes.
const (
	maxSchemas     = 5_000
	maxSchemaBytes = 1 << 20
)

// Schema returns the JSON Schema of what a module takes. It returns nil for a module without inputs,
// and if the schema is too large. CUE's own generator is not used: v0.17.1 fails on
// modules of Ropewalk (bounds and references that depend on another input).
//
// The schema must refuse nothing that the module takes, so what JSON Schema cannot say, or what
// depends on the rest of the input, is left out. CUE has RE2, and editors ECMA 262: only those
// patterns are kept that mean the same in both.
func Schema(s *module.Session) ([]byte, error) {
	takes, err := s.Schema()
	if err != nil || !takes.Value.Exists() {
		return nil, err
	}
	j := jsonSchema{description: description{plain: takes.Plain, own: takes.Own, set: takes.Set}, remaining: maxSchemas}
	root := j.schemaOf(takes.Value, nil)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["type"] = "object"
	if takes.Plain {
		delete(root, "description") // It describes the package.
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(root); err != nil || b.Len() > maxSchemaBytes {
		return nil, err
	}
	return b.Bytes(), nil
}

// jsonSchema is one reading of what a module takes as JSON Schema.
type jsonSchema struct {
	description
	remaining int
	// above are the places of the collections that are being read: a schema may have itself.
	above []string
}

// keywords are a JSON Schema. A schema without keywords takes everything.
type keywords = map[string]any

// schemaOf returns the schema of a value, with its description and its default.
func (j *jsonSchema) schemaOf(v cue.Value, path object.Path) keywords {
	schema := keywords{}
	j.remaining--
	if j.remaining < 0 || len(path) > maxPointDepth {
		return schema
	}
	key := v.Pos().String()
	if isCollection(v) && slices.Contains(j.above, key) {
		return schema
	}
	j.above = append(j.above, key)
	j.addShape(schema, v, path)
	j.above = j.above[:len(j.above)-1]
	if doc := diagnose.DocOf(v); doc != "" {
		schema["description"] = printable.Cut(doc, maxInputDoc, "…")
	}
	fallback := diagnose.DefaultOf(v)
	if ownValue, found := j.own.Lookup(path); found == len(path) && ownValue.Kind != object.KindNone {
		fallback = string(ownValue.JSON())
	}
	hasDefault := fallback != "" && len(fallback) <= maxInputDefault
	if hasDefault && len(path) > 0 && !isStruct(v) {
		schema["default"] = json.RawMessage(fallback)
	}
	return schema
}

// addShape adds what a value may be.
func (j *jsonSchema) addShape(schema keywords, v cue.Value, path object.Path) {
	// A default does not restrict a value.
	if !isStruct(v) {
		v = diagnose.WithoutDefault(v)
	}

	// Each alternative has a shape of its own.
	if choices := alternatives(v); len(choices) > 1 {
		j.choose(schema, choices, path)
		return
	}

	// Bytes cannot be given, and what depends on another input is left out.
	kind := mayBe(v)
	unknown := refers(v) && kind == cue.BottomKind
	if unknown || kind&cue.BytesKind != 0 {
		return
	}

	// The type comes first, and then what a value of this type may hold.
	if types := typesOf(kind); len(types) == 1 {
		schema["type"] = types[0]
	} else if len(types) > 1 {
		schema["type"] = types
	}
	switch kind {
	case cue.StructKind:
		j.addFields(schema, v, path)
	case cue.ListKind:
		j.addItems(schema, v, path)
	default:
		if v.IsConcrete() {
			schema["const"] = json.RawMessage(diagnose.Given(v))
			return
		}
		for _, part := range parts(v) {
			constrain(schema, part)
		}
	}
}

// choose adds alternatives, as an enum if all are constants. A constant that another alternative
// takes too is left out.
func (j *jsonSchema) choose(parent keywords, choices []cue.Value, path object.Path) {
	var values, schemas []any
	listed := map[string]bool{}

	// Equal alternatives are listed once.
	for i, choice := range choices {
		takesChoice := func(o cue.Value) bool {
			return !o.IsConcrete() && !isCollection(o) && o.Subsume(choice, cue.Raw()) == nil
		}
		if choice.IsConcrete() && slices.ContainsFunc(choices, takesChoice) {
			continue
		}
		schema := keywords{}
		j.addShape(schema, choices[i], path)
		data, err := json.Marshal(schema)
		if err != nil || len(schema) == 0 {
			return // One of them may be anything.
		}
		if listed[string(data)] {
			continue
		}
		listed[string(data)] = true
		schemas = append(schemas, schema)
		if value, ok := schema["const"]; ok {
			values = append(values, value)
		}
	}

	// A single alternative needs no list, and constants are an enum.
	switch {
	case len(schemas) == 1:
		for name, value := range schemas[0].(keywords) { //nolint:forcetypeassert // it was put there above
			parent[name] = value
		}
	case len(values) == len(schemas):
		parent["enum"] = values
	default:
		parent["anyOf"] = schemas
	}
}

// addFields adds the fields of a struct. A struct with conditions may have fields that depend on
// others, and CUE takes an alternative for open: neither is closed here.
func (j *jsonSchema) addFields(parent keywords, v cue.Value, path object.Path) {
	properties, patterns := keywords{}, keywords{}

	// Each field has a schema, and may be required.
	var required []string
	fields, err := v.Fields(cue.Optional(true))
	for err == nil && fields.Next() {
		sel := fields.Selector()
		if sel.LabelType() != cue.StringLabel {
			continue
		}
		name := sel.Unquoted()
		field := fields.Value()
		fieldPath := path.Append(object.Field(name))
		if j.set[fieldPath.String()] {
			properties[name] = keywords{} // The module sets it, and takes the same.
			continue
		}

		// A field that takes nothing is skipped, unless its kind depends on another input.
		kind := mayBe(field) &^ (cue.NullKind | cue.BytesKind)
		skipped := j.skips(field, fieldPath, kind)
		if kind == cue.BottomKind {
			skipped = !refers(field)
		}
		if skipped {
			continue
		}
		schema := j.schemaOf(field, fieldPath)
		if sel.ConstraintType() == cue.OptionalConstraint && !j.owns(fieldPath) {
			delete(schema, "default") // A list has a default by its type, also where it is absent.
		}
		properties[name] = schema
		if !j.owns(fieldPath) && needed(field, sel.ConstraintType(), schema) {
			required = append(required, name)
		}
	}

	// Other members have the schemas of their patterns.
	j.addPatterns(patterns, v, path)
	if len(properties) > 0 {
		parent["properties"] = properties
	}
	if len(patterns) > 0 {
		parent["patternProperties"] = patterns
	}
	slices.Sort(required)
	if len(required) > 0 {
		parent["required"] = required
	}
	if !j.plain && !v.Allows(cue.AnyString) && conditions(v) == "" {
		parent["additionalProperties"] = false
	}
}

// needed reports whether a field must be given.
func needed(field cue.Value, as cue.SelectorType, schema keywords) bool {
	switch {
	case as == cue.OptionalConstraint:
		return false
	case as == cue.RequiredConstraint:
		return true
	case isStruct(field):
		return schema["required"] != nil
	}
	return !isDerived(field) && !refers(field) && !hasValue(field)
}

// addItems adds the items of a list.
func (j *jsonSchema) addItems(parent keywords, v cue.Value, path object.Path) {
	itemPath := path.Append(object.Field("[]"))
	var prefix []any
	for _, item := range itemsOf(v) {
		prefix = append(prefix, j.schemaOf(item, itemPath))
	}
	if len(prefix) > 0 {
		parent["prefixItems"] = prefix
		parent["minItems"] = len(prefix)
	}
	if item := itemOf(v); item.Exists() {
		if schema := j.schemaOf(item, itemPath); len(schema) > 0 {
			parent["items"] = schema
		}
	} else {
		parent["maxItems"] = len(prefix)
	}
	for _, part := range parts(v) {
		constrain(parent, part)
	}
}

// constrain adds one condition on a value, if JSON Schema has it.
func constrain(schema keywords, part cue.Value) {
	op, args := cue.Dereference(part).Expr()
	if len(args) == 0 || !args[0].IsConcrete() {
		return
	}
	bound := map[cue.Op]string{
		cue.GreaterThanOp:      "exclusiveMinimum",
		cue.GreaterThanEqualOp: "minimum",
		cue.LessThanOp:         "exclusiveMaximum",
		cue.LessThanEqualOp:    "maximum",
	}[op]
	switch {
	case bound != "" && args[0].IncompleteKind()&cue.NumberKind != 0:
		add(schema, bound, json.RawMessage(diagnose.Given(args[0])))
	case op == cue.RegexMatchOp:
		text, err := args[0].String()
		if err == nil && portable(text) {
			add(schema, "pattern", text)
		}
	case op == cue.CallOp:
		for _, c := range callsOf(part) {
			name := map[string]string{"MinRunes": "minLength", "MaxRunes": "maxLength", "MinItems": "minItems", "MaxItems": "maxItems"}[c.name]
			if n, err := c.argument.Int64(); name != "" && err == nil {
				add(schema, name, n)
			}
		}
	}
}

// add adds a keyword. If the schema has a keyword of the same name, both hold.
func add(schema keywords, name string, value any) {
	if _, taken := schema[name]; !taken {
		schema[name] = value
		return
	}
	all, _ := schema["allOf"].([]any)
	schema["allOf"] = append(all, keywords{name: value})
}

// addPatterns adds what the members of a struct are whose names match a pattern. If JSON Schema
// cannot express a pattern in full, a name of another pattern may be taken for one of its names.
func (j *jsonSchema) addPatterns(patterns keywords, v cue.Value, path object.Path) {
	count := len(patternsOf(v))
	members, err := v.Fields(cue.Patterns(true))
	for err == nil && members.Next() {
		sel := members.Selector()
		if sel.ConstraintType() != cue.PatternConstraint {
			continue
		}
		names := keywords{}
		j.addShape(names, sel.Pattern(), path)
		text, _ := names["pattern"].(string)
		exact := len(names) == 1 || (len(names) == 2 && text != "")
		only := count == 1 && !hasEllipsis(v)
		if exact || only {
			patterns[text] = j.schemaOf(members.Value(), path.Append(object.Field("[]")))
		} else {
			patterns[""] = keywords{}
		}
	}
}

// portable reports whether a regular expression means the same in RE2 and ECMA 262.
func portable(pattern string) bool {
	re2Only := []string{"(?", `\p`, `\P`, `\A`, `\z`, `\Q`, `\C`, `\x{`, "[[:", `\a`}
	return !slices.ContainsFunc(re2Only, func(s string) bool { return strings.Contains(pattern, s) })
}

// typesOf returns the names of a set of kinds, or nil if every kind is in it.
func typesOf(kind cue.Kind) (types []string) {
	if kind&cue.TopKind == cue.TopKind || kind == cue.BottomKind {
		return nil
	}
	for _, t := range []struct {
		kind cue.Kind
		name string
	}{{cue.StringKind, "string"}, {cue.BoolKind, "boolean"}, {cue.StructKind, "object"}, {cue.ListKind, "array"}, {cue.NullKind, "null"}} {
		if kind&t.kind != 0 {
			types = append(types, t.name)
		}
	}
	switch {
	case kind&cue.FloatKind != 0:
		types = append(types, "number")
	case kind&cue.IntKind != 0:
		types = append(types, "integer")
	}
	return types
}
