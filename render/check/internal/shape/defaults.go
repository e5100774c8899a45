// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"github.com/ropewalk/ropewalk/render/check/internal/structural"
	"github.com/ropewalk/ropewalk/render/object"
)

// PruneNulls takes the nulls out of v that the schema neither admits nor
// replaces by a default. It changes v.
func PruneNulls(v any, s *structural.Structural) {
	switch v := v.(type) {
	case map[string]any:
		for name, part := range v {
			sub := memberOf(s, name)
			if part == nil && sub != nil && !sub.Nullable && sub.Default.Object == nil {
				delete(v, name)
				continue
			}
			PruneNulls(part, sub)
		}
	case []any:
		var items *structural.Structural
		if s != nil {
			items = s.Items
		}
		for _, part := range v {
			PruneNulls(part, items)
		}
	}
}

// memberOf is the schema of a member of a map, nil where there is none.
func memberOf(s *structural.Structural, name string) *structural.Structural {
	if s == nil {
		return nil
	}
	if p, ok := s.Properties[name]; ok {
		return &p
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// Default fills the defaults of the schema into v: where a member is absent,
// or null that the schema does not admit. Defaults inside of defaults are filled
// in too. It changes v, and copies what it takes from the schema.
func Default(v any, s *structural.Structural) {
	if s == nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for name, p := range s.Properties {
			if p.Default.Object == nil {
				continue
			}
			if old, found := v[name]; !found || old == nil && !p.Nullable {
				v[name] = copied(p.Default.Object)
			}
		}
		for name := range v {
			sub := memberOf(s, name)
			if _, named := s.Properties[name]; !named && v[name] == nil && sub != nil && !sub.Nullable {
				v[name] = copied(sub.Default.Object)
			}
			Default(v[name], sub)
		}
	case []any:
		for i := range v {
			if v[i] == nil && s.Items != nil && !s.Items.Nullable {
				v[i] = copied(s.Items.Default.Object)
			}
			Default(v[i], s.Items)
		}
	}
}

// copied is a copy of a value that shares nothing with it.
func copied(v any) any {
	return object.Object{"": v}.Clone()[""]
}
