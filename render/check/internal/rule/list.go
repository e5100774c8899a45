// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// list is a list of a schema that is compared in order.
type list struct {
	c        *Compiler
	elements []any
	items    *structural.Structural
}

var _ traits.Lister = (*list)(nil)

// ConvertToNative gives the elements as they are, or as strings.
func (l *list) ConvertToNative(t reflect.Type) (any, error) {
	if t.Kind() != reflect.Slice {
		return nil, fmt.Errorf("type conversion error from '%s' to '%s'", l.Type(), t)
	}
	if l.items.Type != "string" {
		return l.elements, nil
	}
	var texts []string
	for _, e := range l.elements {
		text, ok := e.(string)
		if !ok {
			return nil, fmt.Errorf("expected all elements to be of type string, but got %T", e)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// ConvertToType converts to the types list and type.
func (l *list) ConvertToType(t ref.Type) ref.Val { return convert(l, types.ListType, t) }

// Equal compares element by element.
func (l *list) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if l.Size() != o.Size() {
		return types.False
	}
	for i := range l.elements {
		if equal := l.at(i).Equal(o.Get(types.Int(i))); equal != types.True {
			return equal
		}
	}
	return types.True
}

// Type is the type list.
func (l *list) Type() ref.Type { return types.ListType }

// Value is the elements as they are.
func (l *list) Value() any { return l.elements }

// Add is the list with the elements of another.
func (l *list) Add(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	sum := slices.Clone(l.elements)
	for it := o.Iterator(); it.HasNext() == types.True; {
		sum = append(sum, it.Next().Value())
	}
	return &list{c: l.c, elements: sum, items: l.items}
}

// Contains reports whether an element equals a value.
func (l *list) Contains(v ref.Val) ref.Val {
	if types.IsUnknownOrError(v) {
		return v
	}
	var failed ref.Val
	for i := range l.elements {
		equal := l.at(i).Equal(v)
		if equal == types.True {
			return types.True
		}
		if _, ok := equal.(types.Bool); !ok && failed == nil {
			failed = types.MaybeNoSuchOverloadErr(equal)
		}
	}
	if failed != nil {
		return failed
	}
	return types.False
}

// Get is the element at an index.
func (l *list) Get(index ref.Val) ref.Val {
	i, ok := index.(types.Int)
	if !ok {
		return types.ValOrErr(index, "unsupported index: %v", index)
	}
	if i < 0 || int64(i) >= int64(len(l.elements)) {
		return types.NewErr("index out of bounds: %v", index)
	}
	return l.at(int(i))
}

// at is the element at i as rules see it.
func (l *list) at(i int) ref.Val { return l.c.value(l.elements[i], l.items) }

// Iterator walks over the elements.
func (l *list) Iterator() traits.Iterator {
	values := make([]ref.Val, len(l.elements))
	for i := range l.elements {
		values[i] = l.at(i)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, values).Iterator()
}

// Size is the number of elements.
func (l *list) Size() ref.Val { return types.Int(len(l.elements)) }

// setList is a list of the type set: order does not count.
type setList struct{ list }

// contents is the elements as keys, or an error where one cannot be a key.
func (l *setList) contents() (map[any]bool, ref.Val) {
	keys := make(map[any]bool, len(l.elements))
	for _, e := range l.elements {
		if !isKey(e) {
			return nil, noKey(e)
		}
		keys[e] = true
	}
	return keys, nil
}

// isKey reports whether v can be a key of a map.
func isKey(v any) bool { return v == nil || reflect.TypeOf(v).Comparable() }

func noKey(v any) ref.Val {
	return types.NewErr("internal error: runtime error: hash of unhashable type %T", v)
}

// Equal compares without order.
func (l *setList) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if l.Size() != o.Size() {
		return types.False
	}
	known, failed := l.contents()
	if failed != nil {
		return failed
	}
	for it := o.Iterator(); it.HasNext() == types.True; {
		v := it.Next().Value()
		if !isKey(v) {
			return noKey(v)
		}
		if !known[v] {
			return types.False
		}
	}
	return types.True
}

// Add is the union: what is new comes last.
func (l *setList) Add(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	known, failed := l.contents()
	if failed != nil {
		return failed
	}
	sum := slices.Clone(l.elements)
	for it := o.Iterator(); it.HasNext() == types.True; {
		v := it.Next().Value()
		if !isKey(v) {
			return noKey(v)
		}
		if !known[v] {
			known[v] = true
			sum = append(sum, v)
		}
	}
	return &setList{list{c: l.c, elements: sum, items: l.items}}
}

// ConvertToType converts to the types list and type.
func (l *setList) ConvertToType(t ref.Type) ref.Val { return convert(l, types.ListType, t) }

// mapList is a list of the type map: order does not count, and elements are
// known by their keys.
type mapList struct {
	list
	keys []string
}

// keyNames is the names under which keys are looked up. The server escapes
// them, so that a key with a dash is never found.
func keyNames(keys []string) []string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key
		if identifier, ok := escape(key); ok {
			names[i] = identifier
		}
	}
	return names
}

// key is what tells an element from the others. What is no map has none.
func (l *mapList) key(element any) string {
	m, ok := element.(map[string]any)
	if !ok {
		return ""
	}
	var b strings.Builder
	for _, name := range l.keys {
		fmt.Fprintf(&b, "%T %#v,", m[name], m[name])
	}
	return b.String()
}

// ConvertToType converts to the types list and type.
func (l *mapList) ConvertToType(t ref.Type) ref.Val { return convert(l, types.ListType, t) }

// Equal compares the elements of equal keys.
func (l *mapList) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if l.Size() != o.Size() {
		return types.False
	}
	known := make(map[string]any, len(l.elements))
	for _, e := range l.elements {
		if key := l.key(e); key != "" {
			known[key] = e
		}
	}
	for it := o.Iterator(); it.HasNext() == types.True; {
		v := it.Next()
		own, ok := known[l.key(v.Value())]
		if !ok {
			return types.False
		}
		if equal := l.c.value(own, l.items).Equal(v); equal != types.True {
			return equal
		}
	}
	return types.True
}

// Add merges: elements of known keys replace those that are there.
func (l *mapList) Add(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	sum := slices.Clone(l.elements)
	places := make(map[string]int, len(sum))
	for i, e := range sum {
		if key := l.key(e); key != "" {
			places[key] = i
		}
	}
	for it := o.Iterator(); it.HasNext() == types.True; {
		v := it.Next().Value()
		if i, ok := places[l.key(v)]; ok {
			sum[i] = v
		} else {
			sum = append(sum, v)
		}
	}
	return &mapList{list: list{c: l.c, elements: sum, items: l.items}, keys: l.keys}
}
