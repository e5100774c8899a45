// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ropewalk/ropewalk/render/object"
)

// judge walks one value.
type judge struct {
	formats *Formats
	// raw judges as the server judges defaults: formats that it does not know
	// still count as formats, and int-or-string says nothing about the type.
	raw  bool
	path []byte // of the value at hand
}

// result is what a schema says of a value. matches counts the tests that were
// made; where all alternatives fail, the one with the highest count is reported,
// as the most probably meant.
type result struct {
	errs    field.ErrorList
	matches int
}

// add adds errors that are not there yet.
func (r *result) add(errs ...*field.Error) {
	for _, e := range errs {
		if e == nil || slices.ContainsFunc(r.errs, func(o *field.Error) bool {
			return o.Field == e.Field && o.Type == e.Type && o.Detail == e.Detail
		}) {
			continue
		}
		r.errs = append(r.errs, e)
	}
}

// merge adds another result.
func (r *result) merge(o result) {
	r.add(o.errs...)
	r.matches += o.matches
}

// ok reports whether nothing is wrong.
func (r *result) ok() bool { return len(r.errs) == 0 }

// at is the path of the value at hand, as text.
func (j *judge) at() string { return string(j.path) }

// in judges v one step below.
func (j *judge) in(step string, v any, s view) result {
	n := len(j.path)
	if n > 0 {
		j.path = append(j.path, '.')
	}
	j.path = append(j.path, step...)
	r := j.value(v, s)
	j.path = j.path[:n]
	return r
}

// item judges the item of a list.
func (j *judge) item(i int, v any, s view) result {
	n := len(j.path)
	j.path = append(strconv.AppendInt(append(j.path, '['), int64(i), 10), ']')
	r := j.value(v, s)
	j.path = j.path[:n]
	return r
}

// value judges v by s.
func (j *judge) value(v any, s view) (r result) {
	format := j.format(s)
	typed := !s.types.none() || format != ""
	if v == nil {
		r.merge(j.kind(v, s, format))
		r.add(j.enum(v, s))
		return r
	}
	if typed {
		r.merge(j.kind(v, s, format))
		r.matches++
	}
	r.merge(j.junctors(v, s))
	r.matches++
	switch v := v.(type) {
	case string:
		r.add(j.text(v, s), j.formatted(v, format))
		r.matches++
		if j.formats.Known(format) {
			r.matches++
		}
	case int64, float64:
		r.merge(j.number(v, s, format))
		r.matches++
	case []any:
		r.merge(j.list(v, s))
		r.matches++
	case map[string]any:
		r.merge(j.members(v, s))
		r.matches++
	}
	r.add(j.enum(v, s))
	r.matches += 2
	return r
}

// format is the format that counts: the server ignores those that it does not
// know for the type.
func (j *judge) format(s view) string {
	if s.values == nil || s.values.Format == "" {
		return ""
	}
	format := s.values.Format
	if j.raw {
		return format
	}
	switch s.types.only() {
	case "", "string":
		if j.formats.Known(format) {
			return format
		}
	case "integer":
		if format == "int32" || format == "int64" {
			return format
		}
	case "number":
		if format == "float" || format == "double" {
			return format
		}
	}
	return ""
}

// kind judges the type of v.
func (j *judge) kind(v any, s view, format string) result {
	if v == nil {
		if !s.types.none() && !s.nullable {
			return result{errs: field.ErrorList{j.mistyped(s.types.String(), "null")}}
		}
		return result{matches: 1}
	}
	name, width := kindOf(v)
	number, isFloat := v.(float64)
	fits := s.types.has(name) ||
		isFloat && s.types.has("integer") && integral(number) ||
		name == "integer" && s.types.has("number")
	sequence := name == "string" || name == "array"
	switch {
	case !sequence && format != "" && !fits && width != format:
		return result{errs: field.ErrorList{j.mistyped(format, width)}}
	case sequence && format != "" && !s.types.has("number") && !s.types.has("integer"):
		// The test of the format says it.
	case !fits:
		return result{errs: field.ErrorList{j.mistyped(s.types.String(), name)}}
	}
	return result{matches: 1}
}

func (j *judge) mistyped(want, found string) *field.Error {
	return &field.Error{Type: field.ErrorTypeTypeInvalid, Field: j.at(), BadValue: found, Detail: "must be of type " + want + ": " + strconv.Quote(found)}
}

// kindOf is the type of a value and the format that goes with it.
func kindOf(v any) (name, width string) {
	switch v.(type) {
	case bool:
		return "boolean", ""
	case string:
		return "string", ""
	case int64:
		return "integer", "int64"
	case float64:
		return "number", "float64"
	case []any:
		return "array", ""
	}
	return "object", ""
}

// list judges a list and its items.
func (j *judge) list(l []any, s view) (r result) {
	if items, ok := s.items(); ok {
		for i, v := range l {
			r.merge(j.item(i, v, items))
		}
	}
	r.matches++
	if s.values == nil {
		return r
	}
	if least := s.values.MinItems; least != nil && int64(len(l)) < *least {
		r.add(j.invalid(int64(len(l)), "should have at least "+number(*least)+" items"))
	}
	if most := s.values.MaxItems; most != nil && int64(len(l)) > *most {
		r.add(j.tooMany(len(l), *most))
	}
	if s.values.UniqueItems && repeated(l) {
		r.add(j.invalid("", "shouldn't contain duplicates"))
	}
	return r
}

// repeated reports whether two items are equal.
func repeated(l []any) bool {
	seen := make(map[any][]any, len(l))
	for _, v := range l {
		key := v
		switch v.(type) {
		case map[string]any, []any:
			text, err := json.Marshal(v)
			if err != nil {
				continue
			}
			// No scalar is of this type.
			key = json.Number(text)
		}
		if slices.ContainsFunc(seen[key], func(o any) bool { return reflect.DeepEqual(o, v) }) {
			return true
		}
		seen[key] = append(seen[key], v)
	}
	return false
}

// members judges a map and its members.
func (j *judge) members(m map[string]any, s view) (r result) {
	if s.values != nil {
		if least := s.values.MinProperties; least != nil && int64(len(m)) < *least {
			r.add(j.invalid(int64(len(m)), "should have at least "+number(*least)+" properties"))
		}
		if most := s.values.MaxProperties; most != nil && int64(len(m)) > *most {
			r.add(j.tooMany(len(m), *most))
		}
	}
	others, judged, closed := s.additional()
	for _, name := range object.SortedKeys(m) {
		sub, ok := s.property(name)
		if !ok && closed {
			n := len(j.path)
			j.path = append(append(j.path, '.'), name...)
			r.add(j.invalid("", "is a forbidden property"))
			j.path = j.path[:n]
			continue
		}
		if !ok && judged {
			sub, ok = others, true
		}
		if ok {
			r.merge(j.in(name, m[name], sub))
		}
	}
	if s.values == nil {
		return r
	}
	for _, name := range s.values.Required {
		if _, ok := m[name]; !ok {
			r.add(j.required(name))
		}
	}
	return r
}

// enum judges v by the values that are listed. The server converts before it
// compares, as Go does; null is in no list.
func (j *judge) enum(v any, s view) *field.Error {
	if s.values == nil || len(s.values.Enum) == 0 {
		return nil
	}
	known := make([]string, 0, len(s.values.Enum))
	for _, e := range s.values.Enum {
		if v != nil && e.Object != nil && converted(v, e.Object) {
			return nil
		}
	}
	for _, e := range s.values.Enum {
		if text, ok := e.Object.(string); ok {
			known = append(known, text)
		} else {
			// What came as JSON is written as JSON.
			text, _ := json.Marshal(e.Object)
			known = append(known, string(text))
		}
	}
	return j.placed(field.NotSupported(nil, v, known))
}

// converted reports whether v is want when it is converted to its type.
func converted(v, want any) bool {
	from, to := reflect.ValueOf(v), reflect.TypeOf(want)
	return from.CanConvert(to) && reflect.DeepEqual(from.Convert(to).Interface(), want)
}

// placed gives an error the path of the value at hand.
func (j *judge) placed(e *field.Error) *field.Error {
	e.Field = j.at()
	return e
}

func (j *judge) invalid(v any, detail string) *field.Error {
	return &field.Error{Type: field.ErrorTypeInvalid, Field: j.at(), BadValue: v, Detail: detail}
}

func (j *judge) tooMany(actual int, most int64) *field.Error {
	return j.placed(field.TooMany(nil, actual, int(most)))
}

func (j *judge) required(name string) *field.Error {
	path := name
	if len(j.path) > 0 {
		path = j.at() + "." + name
	}
	return &field.Error{Type: field.ErrorTypeRequired, Field: path, BadValue: ""}
}

// number writes an integer.
func number(i int64) string { return strconv.FormatInt(i, 10) }
