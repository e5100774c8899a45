// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// value is v as rules see it: of the type that the schema gives it.
func (c *Compiler) value(v any, s *structural.Structural) ref.Val {
	if v == nil {
		if s.Nullable {
			return types.NullValue
		}
		return types.NewErr("invalid data, got null for schema with nullable=false")
	}
	if s.XIntOrString {
		switch v := v.(type) {
		case string:
			return types.String(v)
		case int64:
			return types.Int(v)
		}
		return types.NewErr("invalid data, expected XIntOrString value to be either a string or integer")
	}
	switch s.Type {
	case "object":
		return c.objectValue(v, s)
	case "array":
		return c.listValue(v, s)
	case "string", "number", "integer", "boolean":
		return c.scalar(v, s)
	}
	if s.XPreserveUnknownFields {
		return &opaque{v}
	}
	return types.NewErr("invalid type, expected object, array, number, integer, boolean or string, or no type with x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got %s", s.Type)
}

// objectValue is a map.
func (c *Compiler) objectValue(v any, s *structural.Structural) ref.Val {
	m, ok := v.(map[string]any)
	if !ok {
		return types.NewErr("invalid data, expected a map for the provided schema with type=object")
	}
	if s.XEmbeddedResource {
		s = withMeta(s)
	}
	return &mapping{c: c, value: m, schema: s}
}

// listValue is a list, which is compared as its type demands.
func (c *Compiler) listValue(v any, s *structural.Structural) ref.Val {
	l, ok := v.([]any)
	if !ok {
		return types.NewErr("invalid data, expected an array for the provided schema with type=array")
	}
	if s.Items == nil {
		return types.NewErr("invalid array type, expected Items with a non-empty Schema")
	}
	base := list{c: c, elements: l, items: s.Items}
	if s.XListType == nil {
		return &base
	}
	switch *s.XListType {
	case "map":
		return &mapList{list: base, keys: keyNames(s.XListMapKeys)}
	case "set":
		return &setList{list: base}
	case "atomic":
		return &base
	}
	return types.NewErr("invalid x-kubernetes-list-type, expected 'map', 'set' or 'atomic' but got %s", *s.XListType)
}

// scalar is a value that is neither map nor list.
func (c *Compiler) scalar(v any, s *structural.Structural) ref.Val {
	switch s.Type {
	case "string":
		if v, ok := v.(string); ok {
			return c.text(v, s)
		}
		return types.NewErr("invalid data, expected string, got %T", v)
	case "number":
		switch v := v.(type) {
		case int64:
			return types.Double(v)
		case float64:
			return types.Double(v)
		}
		return types.NewErr("invalid data, expected float, got %T", v)
	case "integer":
		if v, ok := v.(int64); ok {
			return types.Int(v)
		}
		return types.NewErr("invalid data, expected int, got %T", v)
	}
	if v, ok := v.(bool); ok {
		return types.Bool(v)
	}
	return types.NewErr("invalid data, expected bool, got %T", v)
}

// text is a string of the type that its format gives it.
func (c *Compiler) text(t string, s *structural.Structural) ref.Val {
	switch formatOf(s) {
	case "duration":
		d, err := c.formats.Duration(t)
		if err != nil {
			return types.NewErr("Invalid duration %s: %v", t, err)
		}
		return types.Duration{Duration: d}
	case "date":
		d, err := time.Parse(time.DateOnly, t)
		if err != nil {
			return types.NewErr("Invalid date formatted string %s: %v", t, err)
		}
		return types.Timestamp{Time: d}
	case "date-time":
		at, err := dateTime(t)
		if err != nil {
			return types.NewErr("Invalid date-time formatted string %s: %v", t, err)
		}
		return types.Timestamp{Time: at}
	case "byte":
		// The alphabet is that of URLs, though the format wants the standard one.
		b, err := base64.URLEncoding.DecodeString(t)
		if err != nil {
			return types.NewErr("Invalid byte formatted string %s: %v", t, err)
		}
		return types.Bytes(b)
	}
	return types.String(t)
}

// dateTime reads a time of RFC 3339, or one without a zone.
func dateTime(t string) (time.Time, error) {
	if t == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	if at, err := time.Parse(time.RFC3339, t); err == nil {
		return at, nil
	}
	return time.Parse("2006-01-02T15:04:05", t)
}

// opaque is content of no known type. It can only be compared, as a part of
// what holds it.
type opaque struct{ v any }

// ConvertToNative fails: the content has no type.
func (o *opaque) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("type conversion to '%s' not supported for values preserved by x-kubernetes-preserve-unknown-fields", t)
}

// ConvertToType fails: the content has no type.
func (o *opaque) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("type conversion to '%s' not supported for values preserved by x-kubernetes-preserve-unknown-fields", t.TypeName())
}

// Equal compares the content.
func (o *opaque) Equal(other ref.Val) ref.Val {
	return types.Bool(reflect.DeepEqual(o.v, other.Value()))
}

// Type says that the type is not known.
func (o *opaque) Type() ref.Type { return types.UnknownType }

// Value is the content.
func (o *opaque) Value() any { return o.v }
