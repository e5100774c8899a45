// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/ropewalk/ropewalk/render/object"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// mapping is an object or a map of a schema. Objects hide their nulls, and
// rules name their fields by identifiers.
type mapping struct {
	c      *Compiler
	value  map[string]any
	schema *structural.Structural
}

var _ traits.Mapper = (*mapping)(nil)

// isObject tells an object with properties from a map.
func (m *mapping) isObject() bool { return m.schema.Properties != nil }

// property is the schema of a member.
func (m *mapping) property(name string) (*structural.Structural, bool) {
	if m.isObject() {
		p, ok := m.schema.Properties[name]
		return &p, ok
	}
	values := valuesOf(m.schema)
	return values, values != nil
}

// ConvertToNative gives the map as it is.
func (m *mapping) ConvertToNative(t reflect.Type) (any, error) {
	if t.Kind() == reflect.Map {
		return m.value, nil
	}
	return nil, fmt.Errorf("type conversion error from '%s' to '%s'", m.Type(), t)
}

// ConvertToType converts to the types map and type.
func (m *mapping) ConvertToType(t ref.Type) ref.Val { return convert(m, types.MapType, t) }

// convert converts v, which is of the type own, to its own type or to the type
// of types.
func convert(v ref.Val, own *types.Type, t ref.Type) ref.Val {
	switch t.TypeName() {
	case own.TypeName():
		return v
	case types.TypeType.TypeName():
		return own
	}
	return types.NewErr("type conversion error from '%s' to '%s'", own, t.TypeName())
}

// Equal compares the members by their types, and those of no known type as they
// are.
func (m *mapping) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Mapper)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if m.Size() != o.Size() {
		return types.False
	}
	for _, name := range object.SortedKeys(m.value) {
		if equal := m.equalMember(name, o); equal != types.True {
			return equal
		}
	}
	return types.True
}

func (m *mapping) equalMember(name string, other traits.Mapper) ref.Val {
	if _, ok := m.property(name); ok {
		v, found := m.Find(types.String(name))
		o, otherFound := other.Find(types.String(name))
		switch {
		case found != otherFound:
			return types.False
		case !found:
			return types.True
		}
		return v.Equal(o)
	}
	o, ok := other.(*mapping)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	v, ok := o.value[name]
	return types.Bool(!ok || reflect.DeepEqual(m.value[name], v))
}

// Type is the type map.
func (m *mapping) Type() ref.Type { return types.MapType }

// Value is the map as it is.
func (m *mapping) Value() any { return m.value }

// Contains reports whether there is a member.
func (m *mapping) Contains(key ref.Val) ref.Val {
	v, found := m.Find(key)
	if v != nil && types.IsUnknownOrError(v) {
		return v
	}
	return types.Bool(found)
}

// Get is a member, or an error where there is none.
func (m *mapping) Get(key ref.Val) ref.Val {
	if v, found := m.Find(key); found {
		return v
	}
	return types.ValOrErr(key, "no such key: %v", key)
}

// Find is a member, if there is one.
func (m *mapping) Find(key ref.Val) (ref.Val, bool) {
	text, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), true
	}
	name := string(text)
	if m.isObject() {
		if name, ok = unescape(name); !ok {
			return nil, false
		}
	}
	v, ok := m.value[name]
	if !ok || v == nil && m.isObject() {
		return nil, false
	}
	p, ok := m.property(name)
	if !ok {
		return nil, false
	}
	return m.c.value(v, p), true
}

// Size is the number of members, those of no known type included.
func (m *mapping) Size() ref.Val { return types.Int(len(m.value)) }

// Iterator walks over the keys in order.
func (m *mapping) Iterator() traits.Iterator {
	keys := make([]ref.Val, 0, len(m.value))
	for _, name := range object.SortedKeys(m.value) {
		if _, ok := m.property(name); !ok {
			continue
		}
		if identifier, ok := escape(name); ok && m.isObject() {
			name = identifier
		}
		keys = append(keys, types.String(name))
	}
	return types.NewRefValList(types.DefaultTypeAdapter, keys).Iterator()
}
