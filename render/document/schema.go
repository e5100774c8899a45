// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// Schema returns the JSON Schema (draft 2020-12) of the document, with its names sorted. The decoder
// rejects everything that the schema rejects, and more, such as a name that leads nowhere.
func (d Document) Schema() ([]byte, error) { return Print(d.Kind, d.Doc, schema(d.Root)) }

// Print returns the JSON Schema of a kind in the form of its file. The argument doc may be "".
func Print(kind, doc string, schema map[string]any) ([]byte, error) {
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["$id"] = "https://ropewalk.dev/schema/v1alpha1/" + strings.ToLower(kind) + ".json"
	schema["title"] = kind
	if doc != "" {
		schema["description"] = doc
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(schema); err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", kind, err)
	}
	return text.Bytes(), nil
}

// schema returns the JSON Schema of a field.
func schema(f Field) map[string]any {
	out := shape(f)
	var others []any
	for _, other := range f.Or {
		others = append(others, schema(other))
	}
	if f.Off {
		others = append(others, map[string]any{"const": false})
	}
	if len(others) > 0 {
		out = map[string]any{"anyOf": append([]any{out}, others...)}
	}
	if f.Doc != "" {
		out["description"] = f.Doc
	}
	return out
}

// shape returns the schema of a field without its other shapes.
func shape(f Field) map[string]any {
	switch f.Kind {
	case object.KindMap:
		return mapShape(f)
	case object.KindList:
		out := map[string]any{"type": "array"}
		if !f.Free {
			out["items"] = schema(*f.item())
		}
		setBound(out, "minItems", f.Least)
		setBound(out, "maxItems", f.Most)
		if f.Unique {
			out["uniqueItems"] = true
		}
		return out
	case object.KindBool:
		if f.Text {
			return map[string]any{"type": []string{"boolean", "string"}}
		}
		return map[string]any{"type": "boolean"}
	case object.KindString, object.KindNumber:
		return scalarShape(f)
	case object.KindNone, object.KindNull:
	}
	return map[string]any{}
}

// item returns the field of an item of a list, or of a value in a map with free names.
func (f *Field) item() *Field {
	switch {
	case f.Each != nil:
		return f.Each
	case f.Kind == object.KindList && f.Fields != nil:
		return &Field{Kind: object.KindMap, Fields: f.Fields}
	}
	return &Field{Kind: object.KindString, Rule: f.Rule, Values: f.Values, Sensitive: f.Sensitive}
}

// mapShape returns the schema of a map.
func mapShape(f Field) map[string]any {
	out := map[string]any{"type": "object"}
	setBound(out, "minProperties", f.Least)
	setBound(out, "maxProperties", f.Most)
	switch {
	case f.Free:
	case f.Fields == nil:
		out["additionalProperties"] = schema(*f.item())
	default:
		properties := map[string]any{}
		var required []string
		for _, field := range f.Fields {
			properties[field.Name] = schema(field)
			if field.Need {
				required = append(required, field.Name)
			}
		}
		out["properties"] = properties
		if !f.Open {
			out["additionalProperties"] = false
		}
		if len(required) > 0 {
			out["required"] = required
		}
	}

	// Some fields exclude one another, and some are only allowed together.
	var alternatives []any
	for _, name := range f.OneOf {
		alternatives = append(alternatives, map[string]any{"required": []string{name}})
	}
	if alternatives != nil {
		out["oneOf"] = alternatives
	}
	together := map[string]any{}
	for i, name := range f.Together {
		together[name] = append(append([]string{}, f.Together[:i]...), f.Together[i+1:]...)
	}
	if len(together) > 0 {
		out["dependentRequired"] = together
	}
	return out
}

// scalarShape returns the schema of a text or a number.
func scalarShape(f Field) map[string]any {
	if len(f.Values) == 1 && !f.Off {
		return map[string]any{"const": f.Values[0].Name}
	}
	if len(f.Values) > 0 {
		var values []any
		for _, c := range f.Values {
			if n, err := strconv.Atoi(c.Name); err == nil {
				values = append(values, n)
				continue
			}
			values = append(values, c.Name)
		}
		return map[string]any{"enum": values}
	}

	// A free text may have other kinds, a range and a pattern.
	out := map[string]any{"type": "string"}
	switch {
	case f.Loose:
		out["type"] = []string{"string", "number", "boolean"}
	case f.Text:
		out["type"] = []string{"string", "number"}
	case f.Kind == object.KindNumber:
		out["type"] = "integer"
	}
	if f.Range != nil {
		out["minimum"] = f.Range.Least
		if f.Range.Bounded {
			out["maximum"] = f.Range.Most
		}
	}
	if f.Full {
		out["minLength"] = 1
	}
	if f.Rule.Pattern != "" {
		out["pattern"] = f.Rule.Pattern
	}
	return out
}

// setBound writes a limit into a schema, unless it is 0.
func setBound(out map[string]any, name string, n int) {
	if n > 0 {
		out[name] = n
	}
}
