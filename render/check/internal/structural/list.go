// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ropewalk/ropewalk/render/object"
)

// Lists finds the items of v that stand in a list twice: equal ones in a list of
// the type set, and such with equal keys in one of the type map. Paths lie below
// path. Of three equal items the second is named.
func Lists(path *field.Path, s *Structural, v any) (out field.ErrorList) {
	if s == nil {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range object.SortedKeys(v) {
			if more := s.AdditionalProperties; more != nil {
				out = append(out, Lists(path.Key(name), more.Structural, v[name])...)
			}
			if p, ok := s.Properties[name]; ok {
				out = append(out, Lists(path.Child(name), &p, v[name])...)
			}
		}
	case []any:
		if s.XListType != nil {
			out = duplicates(path, s, v)
		}
		for i, item := range v {
			out = append(out, Lists(path.Index(i), s.Items, item)...)
		}
	}
	return out
}

// duplicates finds the items of one list.
func duplicates(path *field.Path, s *Structural, v []any) (out field.ErrorList) {
	shown, compared := v, v
	switch *s.XListType {
	case "set":
	case "map":
		shown, compared = make([]any, len(v)), make([]any, len(v))
		for i, item := range v {
			m, ok := item.(map[string]any)
			if !ok && item != nil {
				return field.ErrorList{field.Invalid(path.Index(i), item, "must be an object for an array of list-type map")}
			}
			shown[i], compared[i] = keysOf(m, s.XListMapKeys)
		}
	default:
		return nil
	}
	times := map[any]int{}
	for i, part := range compared {
		id, err := identity(part)
		if err != nil {
			return field.ErrorList{field.Invalid(path.Index(i), part, "internal error")}
		}
		if times[id]++; times[id] == 2 {
			out = append(out, field.Duplicate(path.Index(i), shown[i]))
		}
	}
	return out
}

// keysOf is those members of an item that tell it from others, and what to
// compare of it. A single key is compared by its value, as the server does, so that
// 1 and 1.0 differ; several are compared by their text.
func keysOf(item map[string]any, keys []string) (shown map[string]any, compared any) {
	shown = map[string]any{}
	for _, key := range keys {
		if v, ok := item[key]; ok {
			shown[key] = v
		}
	}
	switch {
	case len(keys) != 1:
		return shown, shown
	case len(shown) == 0:
		return shown, absent{}
	}
	return shown, shown[keys[0]]
}

// absent stands for a key that an item does not have.
type absent struct{}

// compound is the text of a map or list, which is never equal to a string.
type compound string

// identity is equal for equal values: a scalar itself, the text of other values.
func identity(v any) (any, error) {
	switch v.(type) {
	case map[string]any, []any:
		text, err := json.Marshal(v)
		return compound(text), err
	}
	return v, nil
}
