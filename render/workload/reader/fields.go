// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"strconv"

	"github.com/ropewalk/ropewalk/render/object"
)

// Fields is a map in the making.
type Fields []object.Member

// Put adds a field, and nothing where the value is nothing.
func (f *Fields) Put(name string, v object.Value) {
	if v.Kind != object.KindNone && v.Kind != object.KindNull {
		*f = append(*f, object.Member{Name: name, Pos: v.Pos, Value: v})
	}
}

// Add adds the field of that name of another map, where it has one.
func (f *Fields) Add(of object.Value, name string) {
	for _, m := range of.Members {
		if m.Name == name && m.Value.Kind != object.KindNone {
			*f = append(*f, m)
			return
		}
	}
}

// Value is the map, nothing where it has no fields.
func (f Fields) Value(pos object.Pos) object.Value {
	if len(f) == 0 {
		return object.Value{}
	}
	return object.Value{Kind: object.KindMap, Pos: pos, Members: f}
}

// Text is a string.
func Text(s string, pos object.Pos) object.Value {
	return object.Value{Kind: object.KindString, Pos: pos, Text: s}
}

// Number is a whole number.
func Number(n int, pos object.Pos) object.Value {
	return object.Value{Kind: object.KindNumber, Pos: pos, Text: strconv.Itoa(n)}
}

// Bool is true or false.
func Bool(b bool, pos object.Pos) object.Value {
	return object.Value{Kind: object.KindBool, Pos: pos, Text: strconv.FormatBool(b)}
}

// List is a list of values, nothing where there are none.
func List(pos object.Pos, items ...object.Value) object.Value {
	if len(items) == 0 {
		return object.Value{}
	}
	return object.Value{Kind: object.KindList, Pos: pos, Items: items}
}

// Pairs is a map of names and values in turn, without those whose value is nothing.
func Pairs(pos object.Pos, of ...any) object.Value {
	var f Fields
	for i := 0; i+1 < len(of); i += 2 {
		f.Put(of[i].(string), of[i+1].(object.Value)) //nolint:forcetypeassert // by the callers
	}
	return f.Value(pos)
}
