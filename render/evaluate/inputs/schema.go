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

// Bounds of a JSON Schema: how many schemas are in it, and how many bytes it has.
const (
	maxSchemas     = 5_000
	maxSchemaBytes = 1 << 20
)

// Schema returns the JSON Schema of what a module takes. It returns none for a module without
// inputs, and none if the schema is too large. CUE's own generator is not used: v0.17.1 fails on
// modules of Ropewalk (bounds and references that depend on another input).
//
// The schema must refuse nothing that the module takes, so what JSON Schema cannot say, or what
// depends on the rest of the input, is left out. CUE has RE2, and editors ECMA 262: only those
// patterns are kept that mean the same in both.
func Schema(s *module.Session) ([]byte, error) {
	in, err := s.Schema()
	if err != nil || !in.Value.Exists() {
		return nil, err
	}
	j := jsonSchema{description: description{plain: in.Plain, own: in.Own, set: in.Set}, left: maxSchemas}
	root := j.of(in.Value, nil)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["type"] = "object"
	if in.Plain {
		delete(root, "description") // It is that of the package.
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
	left int
	// above are the places of the collections that are being read: a schema may have itself.
	above []string
}

// keywords are a JSON Schema. One without any takes everything.
type keywords = map[string]any

// of returns the schema of a value, with its description and its default.
func (j *jsonSchema) of(v cue.Value, at object.Path) keywords {
	out := keywords{}
	j.left--
	if j.left < 0 || len(at) > maxPointDepth {
		return out
	}
	key := v.Pos().String()
	if isCollection(v) && slices.Contains(j.above, key) {
		return out
	}
	j.above = append(j.above, key)
	j.addShape(out, v, at)
	j.above = j.above[:len(j.above)-1]
	if doc := diagnose.DocOf(v); doc != "" {
		out["description"] = printable.Cut(doc, maxInputDoc, "…")
	}
	fallback := diagnose.DefaultOf(v)
	if own, found := j.own.Lookup(at); found == len(at) && own.Kind != object.KindNone {
		fallback = string(own.JSON())
	}
	if fallback != "" && len(fallback) <= maxInputDefault && len(at) > 0 && !isStruct(v) {
		out["default"] = json.RawMessage(fallback)
	}
	return out
}

// addShape adds what a value may be.
func (j *jsonSchema) addShape(out keywords, v cue.Value, at object.Path) {
	// A default does not restrict a value.
	if !isStruct(v) {
		v = diagnose.WithoutDefault(v)
	}

	// Each alternative has a shape of its own.
	if choices := alternatives(v); len(choices) > 1 {
		j.choose(out, choices, at)
		return
	}

	// Bytes cannot be given, and what depends on another input is left out.
	kind := mayBe(v)
	if refers(v) && kind == cue.BottomKind || kind&cue.BytesKind != 0 {
		return
	}

	// The type comes first, and then what a value of this type may hold.
	if types := typesOf(kind); len(types) == 1 {
		out["type"] = types[0]
	} else if len(types) > 1 {
		out["type"] = types
	}
	switch kind {
	case cue.StructKind:
		j.addFields(out, v, at)
	case cue.ListKind:
		j.addItems(out, v, at)
	default:
		if v.IsConcrete() {
			out["const"] = json.RawMessage(diagnose.Given(v))
			return
		}
		for _, part := range parts(v) {
			constrain(out, part)
		}
	}
}

// choose adds alternatives, as an enum if all are constants. One that another takes too is left
// out.
func (j *jsonSchema) choose(out keywords, choices []cue.Value, at object.Path) {
	var values, schemas []any
	seen := map[string]bool{}

	// Equal alternatives are listed once.
	for i, one := range choices {
		if slices.ContainsFunc(choices, func(o cue.Value) bool { return !o.IsConcrete() && !isCollection(o) && o.Subsume(one, cue.Raw()) == nil }) && one.IsConcrete() {
			continue
		}
		schema := keywords{}
		j.addShape(schema, choices[i], at)
		data, err := json.Marshal(schema)
		if err != nil || len(schema) == 0 {
			return // One of them may be anything.
		}
		if seen[string(data)] {
			continue
		}
		seen[string(data)] = true
		schemas = append(schemas, schema)
		if value, ok := schema["const"]; ok {
			values = append(values, value)
		}
	}

	// A single alternative needs no list, and constants are an enum.
	switch {
	case len(schemas) == 1:
		for name, value := range schemas[0].(keywords) { //nolint:forcetypeassert // it was put there above
			out[name] = value
		}
	case len(values) == len(schemas):
		out["enum"] = values
	default:
		out["anyOf"] = schemas
	}
}

// addFields adds the fields of a struct. A struct with conditions may have fields that depend on
// others, and CUE takes an alternative for open: neither is closed here.
func (j *jsonSchema) addFields(out keywords, v cue.Value, at object.Path) {
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
		to := at.Append(object.Field(name))
		if j.set[to.String()] {
			properties[name] = keywords{} // The module sets it, and takes the same.
			continue
		}
		if kind := mayBe(field) &^ (cue.NullKind | cue.BytesKind); kind == cue.BottomKind && !refers(field) || j.skips(field, to, kind) && kind != cue.BottomKind {
			continue
		}
		schema := j.of(field, to)
		if sel.ConstraintType() == cue.OptionalConstraint && !j.owns(to) {
			delete(schema, "default") // A list has one by its type, also where it is absent.
		}
		properties[name] = schema
		if !j.owns(to) && needed(field, sel.ConstraintType(), schema) {
			required = append(required, name)
		}
	}

	// Other members have the schemas of their patterns.
	j.addPatterns(patterns, v, at)
	if len(properties) > 0 {
		out["properties"] = properties
	}
	if len(patterns) > 0 {
		out["patternProperties"] = patterns
	}
	slices.Sort(required)
	if len(required) > 0 {
		out["required"] = required
	}
	if !j.plain && !v.Allows(cue.AnyString) && conditions(v) == "" {
		out["additionalProperties"] = false
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
func (j *jsonSchema) addItems(out keywords, v cue.Value, at object.Path) {
	in := at.Append(object.Field("[]"))
	var first []any
	for _, item := range itemsOf(v) {
		first = append(first, j.of(item, in))
	}
	if len(first) > 0 {
		out["prefixItems"] = first
		out["minItems"] = len(first)
	}
	if item := itemOf(v); item.Exists() {
		if schema := j.of(item, in); len(schema) > 0 {
			out["items"] = schema
		}
	} else {
		out["maxItems"] = len(first)
	}
	for _, part := range parts(v) {
		constrain(out, part)
	}
}

// constrain adds one condition on a value, if JSON Schema has it.
func constrain(out keywords, part cue.Value) {
	op, args := cue.Dereference(part).Expr()
	if len(args) == 0 || !args[0].IsConcrete() {
		return
	}
	bound := map[cue.Op]string{
		cue.GreaterThanOp: "exclusiveMinimum", cue.GreaterThanEqualOp: "minimum", cue.LessThanOp: "exclusiveMaximum", cue.LessThanEqualOp: "maximum",
	}[op]
	switch {
	case bound != "" && args[0].IncompleteKind()&cue.NumberKind != 0:
		add(out, bound, json.RawMessage(diagnose.Given(args[0])))
	case op == cue.RegexMatchOp:
		text, err := args[0].String()
		if err == nil && portable(text) {
			add(out, "pattern", text)
		}
	case op == cue.CallOp:
		for _, c := range callsOf(part) {
			name := map[string]string{"MinRunes": "minLength", "MaxRunes": "maxLength", "MinItems": "minItems", "MaxItems": "maxItems"}[c.name]
			if n, err := c.argument.Int64(); name != "" && err == nil {
				add(out, name, n)
			}
		}
	}
}

// add adds a keyword. If there is one of the same name, both hold.
func add(out keywords, name string, value any) {
	if _, taken := out[name]; !taken {
		out[name] = value
		return
	}
	all, _ := out["allOf"].([]any)
	out["allOf"] = append(all, keywords{name: value})
}

// addPatterns adds what the members of a struct are whose names match a pattern. If JSON Schema
// cannot express a pattern in full, a name of another pattern may be taken for one of its names.
func (j *jsonSchema) addPatterns(out keywords, v cue.Value, at object.Path) {
	count := len(patternsOf(v))
	members, err := v.Fields(cue.Patterns(true))
	for err == nil && members.Next() {
		sel := members.Selector()
		if sel.ConstraintType() != cue.PatternConstraint {
			continue
		}
		names := keywords{}
		j.addShape(names, sel.Pattern(), at)
		text, _ := names["pattern"].(string)
		if exact := len(names) == 1 || len(names) == 2 && text != ""; exact || count == 1 && !hasEllipsis(v) {
			out[text] = j.of(members.Value(), at.Append(object.Field("[]")))
		} else {
			out[""] = keywords{}
		}
	}
}

// portable reports whether a regular expression means the same in RE2 and ECMA 262.
func portable(pattern string) bool {
	return !slices.ContainsFunc([]string{"(?", `\p`, `\P`, `\A`, `\z`, `\Q`, `\C`, `\x{`, "[[:", `\a`}, func(s string) bool { return strings.Contains(pattern, s) })
}

// typesOf returns the names of a set of kinds, or none if it is any kind.
func typesOf(kind cue.Kind) (out []string) {
	if kind&cue.TopKind == cue.TopKind || kind == cue.BottomKind {
		return nil
	}
	for _, t := range []struct {
		kind cue.Kind
		name string
	}{{cue.StringKind, "string"}, {cue.BoolKind, "boolean"}, {cue.StructKind, "object"}, {cue.ListKind, "array"}, {cue.NullKind, "null"}} {
		if kind&t.kind != 0 {
			out = append(out, t.name)
		}
	}
	switch {
	case kind&cue.FloatKind != 0:
		out = append(out, "number")
	case kind&cue.IntKind != 0:
		out = append(out, "integer")
	}
	return out
}
