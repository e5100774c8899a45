// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// YAML writes v as canonical YAML: keys sorted, two spaces for each level,
// lists at the level of their key, text quoted wherever a parser of YAML 1.1 or
// 1.2 could read it as something else. The same data gives the same bytes; they
// end in a newline.
//
// v holds what an [object.Object] may hold: maps, lists, text, bool, int64,
// finite float64 and nil. A json.Number is written as it is.
func YAML(v any) []byte {
	return appendYAML(make([]byte, 0, 1024), v)
}

func appendYAML(b []byte, v any) []byte {
	switch v := plain(v).(type) {
	case map[string]any:
		if len(v) > 0 {
			return appendMap(b, v, 0, false)
		}
	case []any:
		if len(v) > 0 {
			return appendList(b, v, 0, false)
		}
	}
	return append(appendScalar(b, v, 0), '\n')
}

// plain folds the named map type of objects into the one that it holds.
func plain(v any) any {
	switch v := v.(type) {
	case object.Object:
		return map[string]any(v)
	case map[string]string:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = e
		}
		return m
	}
	return v
}

// maxImplicitKey is the length from which a key is written in the explicit
// form: YAML 1.2, section 7.4.2, allows an implicit key 1,024 characters.
const maxImplicitKey = 512

// appendMap writes m, each line behind indent spaces; first is set if the
// indent of the first line is there already, as after "- ".
func appendMap(b []byte, m map[string]any, indent int, first bool) []byte {
	var space [32]string
	keys := space[:0]
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if !first {
			b = appendSpaces(b, indent)
		}
		first = false
		start := len(b)
		b = appendText(b, k)
		if len(b)-start > maxImplicitKey {
			b = append(b[:start], "? "...)
			b = append(appendText(b, k), '\n')
			b = append(appendSpaces(b, indent), ':')
			b = appendItem(b, m[k], indent)
			continue
		}
		b = append(b, ':')
		b = appendMember(b, m[k], indent)
	}
	return b
}

// appendMember writes what follows "key:".
func appendMember(b []byte, v any, indent int) []byte {
	switch v := plain(v).(type) {
	case map[string]any:
		if len(v) > 0 {
			return appendMap(append(b, '\n'), v, indent+2, false)
		}
	case []any:
		if len(v) > 0 {
			return appendList(append(b, '\n'), v, indent, false)
		}
	}
	return append(appendScalar(append(b, ' '), v, indent), '\n')
}

// appendItem writes what follows "-", or ":" of an explicit key.
func appendItem(b []byte, v any, indent int) []byte {
	b = append(b, ' ')
	switch v := plain(v).(type) {
	case map[string]any:
		if len(v) > 0 {
			return appendMap(b, v, indent+2, true)
		}
	case []any:
		if len(v) > 0 {
			return appendList(b, v, indent+2, true)
		}
	}
	return append(appendScalar(b, v, indent), '\n')
}

func appendList(b []byte, l []any, indent int, first bool) []byte {
	for _, v := range l {
		if !first {
			b = appendSpaces(b, indent)
		}
		first = false
		b = appendItem(append(b, '-'), v, indent)
	}
	return b
}

func appendSpaces(b []byte, n int) []byte {
	for range n {
		b = append(b, ' ')
	}
	return b
}

// appendScalar writes everything but filled maps and lists. The argument indent belongs to the line
// that holds the key.
func appendScalar(b []byte, v any, indent int) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case float64:
		return appendFloat(b, v)
	case json.Number:
		return append(b, v...)
	case string:
		if blockSafe(v) {
			return appendBlock(b, v, indent+2)
		}
		return appendText(b, v)
	case map[string]any, object.Object, map[string]string:
		return append(b, "{}"...)
	case []any:
		return append(b, "[]"...)
	default:
		return appendText(b, fmt.Sprint(v))
	}
}

// appendFloat always writes a point: without one a parser of YAML 1.1 takes
// 1e+21 for text, and one of any version takes 1 for an integer.
func appendFloat(b []byte, f float64) []byte {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e15) {
		format = 'e'
	}
	text := strconv.FormatFloat(f, format, -1, 64)
	if strings.Contains(text, ".") {
		return append(b, text...)
	}
	mantissa, exponent, scaled := strings.Cut(text, "e")
	b = append(append(b, mantissa...), ".0"...)
	if scaled {
		b = append(append(b, 'e'), exponent...)
	}
	return b
}
