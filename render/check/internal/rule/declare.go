// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// selfType is the name of the type of self. It is no identifier, so that no
// rule can use it.
const selfType = "@self"

// declarations declares the types of a schema to the type checker of CEL, each
// when it is asked for. Objects are types of their own, named by their place.
type declarations struct {
	types.Provider // of the environment

	mu      sync.Mutex
	objects map[string]*structural.Structural
}

// typeOf is the type of the values of s, which is called name if it is an
// object. root says that s describes a resource. It reports false where rules do
// not see such values at all, as with the content that
// x-kubernetes-preserve-unknown-fields lets through.
func (d *declarations) typeOf(s *structural.Structural, name string, root bool) (*cel.Type, bool) {
	if s.XIntOrString {
		return cel.DynType, true
	}
	switch s.Type {
	case "array":
		if s.Items == nil {
			return nil, false
		}
		items, ok := d.typeOf(s.Items, name+".@idx", s.Items.XEmbeddedResource)
		if !ok {
			return nil, false
		}
		return cel.ListType(items), true
	case "object":
		if values := valuesOf(s); values != nil {
			value, ok := d.typeOf(values, name+".@elem", values.XEmbeddedResource)
			if !ok {
				return nil, false
			}
			return cel.MapType(cel.StringType, value), true
		}
		if d != nil {
			if root {
				s = withMeta(s)
			}
			d.mu.Lock()
			d.objects[name] = s
			d.mu.Unlock()
		}
		return cel.ObjectType(name), true
	case "string":
		return textType(s), true
	case "boolean":
		return cel.BoolType, true
	case "number":
		return cel.DoubleType, true
	case "integer":
		return cel.IntType, true
	}
	return nil, false
}

// textType is the type of strings of a format.
func textType(s *structural.Structural) *cel.Type {
	switch formatOf(s) {
	case "byte":
		return cel.BytesType
	case "duration":
		return cel.DurationType
	case "date", "date-time":
		return cel.TimestampType
	}
	return cel.StringType
}

func formatOf(s *structural.Structural) string {
	if s.ValueValidation == nil {
		return ""
	}
	return s.ValueValidation.Format
}

// valuesOf is the schema of the values of a map, nil where s is no map.
func valuesOf(s *structural.Structural) *structural.Structural {
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Structural
}

// withMeta is s with the fields that every resource has.
func withMeta(s *structural.Structural) *structural.Structural {
	meta := s.Properties["metadata"]
	if s.Properties["kind"].Type == "string" && s.Properties["apiVersion"].Type == "string" && meta.Type == "object" &&
		meta.Properties["name"].Type == "string" && meta.Properties["generateName"].Type == "string" {
		return s
	}
	text := structural.Structural{Generic: structural.Generic{Type: "string"}}
	out := *s
	out.Items = nil
	out.Properties = make(map[string]structural.Structural, len(s.Properties)+3)
	for name, p := range s.Properties {
		out.Properties[name] = p
	}
	out.Properties["kind"], out.Properties["apiVersion"] = text, text
	out.Properties["metadata"] = structural.Structural{
		Generic:    structural.Generic{Type: "object"},
		Properties: map[string]structural.Structural{"name": text, "generateName": text},
	}
	return &out
}

// object is the schema of an object type.
func (d *declarations) object(name string) (*structural.Structural, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.objects[name]
	return s, ok
}

// FindStructType finds a type by its name.
func (d *declarations) FindStructType(name string) (*types.Type, bool) {
	if _, ok := d.object(name); ok {
		return types.NewTypeTypeWithParam(cel.ObjectType(name)), true
	}
	return d.Provider.FindStructType(name)
}

// FindStructFieldNames says that the fields of an object cannot be listed.
func (d *declarations) FindStructFieldNames(name string) ([]string, bool) {
	if _, ok := d.object(name); ok {
		return []string{}, false
	}
	return d.Provider.FindStructFieldNames(name)
}

// FindStructFieldType is the type of a field of an object. Words that CEL
// reserves may stand unescaped.
func (d *declarations) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	s, ok := d.object(name)
	if !ok {
		return d.Provider.FindStructFieldType(name, field)
	}
	property, ok := unescape(field)
	if !ok {
		return nil, false
	}
	identifier, ok := escape(property)
	if !ok || identifier != field && !reserved(field) {
		return nil, false
	}
	p, ok := s.Properties[property]
	if !ok {
		return nil, false
	}
	t, ok := d.typeOf(&p, name+"."+identifier, p.XEmbeddedResource)
	if !ok {
		return nil, false
	}
	return &types.FieldType{Type: t}, true
}

// Exposed reports whether rules see the values of s. The server ignores rules
// where they do not.
func Exposed(s *structural.Structural) bool {
	_, ok := (*declarations)(nil).typeOf(s, selfType, false)
	return ok
}
