// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"github.com/ropewalk/ropewalk/render/check/internal/structural"
)

// Schema reads a structural schema from JSON without spaces. Titles,
// descriptions and examples are left out. The strings of the result are parts of
// text.
func Schema(text string) (*structural.Structural, error) {
	r := &reader{rest: text}
	s := r.spine()
	if r.bad || r.rest != "" {
		return nil, errText
	}
	return s, nil
}

// spine reads a schema of the spine.
func (r *reader) spine() *structural.Structural {
	s := &structural.Structural{ValueValidation: &structural.ValueValidation{}}
	r.members(func(name string) {
		switch name {
		case "properties":
			r.members(func(property string) {
				if s.Properties == nil {
					s.Properties = map[string]structural.Structural{}
				}
				s.Properties[property] = *r.spine()
			})
		case "items":
			s.Items = r.spine()
		case "additionalProperties":
			s.AdditionalProperties = r.additional()
		default:
			if !r.generic(name, &s.Generic) && !r.extension(name, &s.Extensions) && !r.rules(name, &s.ValidationExtensions) && !r.values(name, s.ValueValidation) {
				r.fail()
			}
		}
	})
	return s
}

func (r *reader) additional() *structural.StructuralOrBool {
	if r.rest != "" && r.rest[0] == '{' {
		return &structural.StructuralOrBool{Structural: r.spine(), Bool: true}
	}
	return &structural.StructuralOrBool{Bool: r.truth()}
}

// nested reads a schema below allOf and its like.
func (r *reader) nested() structural.NestedValueValidation {
	var n structural.NestedValueValidation
	r.members(func(name string) {
		switch name {
		case "properties":
			n.Properties = map[string]structural.NestedValueValidation{}
			r.members(func(property string) { n.Properties[property] = r.nested() })
		case "items":
			items := r.nested()
			n.Items = &items
		default:
			if !r.generic(name, &n.ForbiddenGenerics) && !r.extension(name, &n.ForbiddenExtensions) && !r.values(name, &n.ValueValidation) {
				r.fail()
			}
		}
	})
	return n
}

func (r *reader) nestedList() (out []structural.NestedValueValidation) {
	r.items(func() { out = append(out, r.nested()) })
	return out
}

func (r *reader) generic(name string, g *structural.Generic) bool {
	switch name {
	case "type":
		g.Type = r.text()
	case "nullable":
		g.Nullable = r.truth()
	case "default":
		g.Default.Object = r.value()
	case "title", "description", "example", "externalDocs":
		r.raw()
	default:
		return false
	}
	return true
}

func (r *reader) extension(name string, x *structural.Extensions) bool {
	switch name {
	case "x-kubernetes-preserve-unknown-fields":
		// The library takes true alone.
		if x.XPreserveUnknownFields = r.truth(); !x.XPreserveUnknownFields {
			r.fail()
		}
	case "x-kubernetes-embedded-resource":
		x.XEmbeddedResource = r.truth()
	case "x-kubernetes-int-or-string":
		x.XIntOrString = r.truth()
	case "x-kubernetes-list-map-keys":
		x.XListMapKeys = r.texts()
	case "x-kubernetes-list-type":
		kind := r.text()
		x.XListType = &kind
	case "x-kubernetes-map-type":
		kind := r.text()
		x.XMapType = &kind
	default:
		return false
	}
	return true
}

func (r *reader) rules(name string, x *structural.ValidationExtensions) bool {
	if name != "x-kubernetes-validations" {
		return false
	}
	r.items(func() {
		var rule structural.ValidationRule
		r.members(func(name string) {
			switch name {
			case "rule":
				rule.Rule = r.text()
			case "message":
				rule.Message = r.text()
			case "messageExpression":
				rule.MessageExpression = r.text()
			case "fieldPath":
				rule.FieldPath = r.text()
			case "reason":
				reason := structural.Reason(r.text())
				rule.Reason = &reason
			case "optionalOldSelf":
				optional := r.truth()
				rule.OptionalOldSelf = &optional
			default:
				r.fail()
			}
		})
		x.XValidations = append(x.XValidations, rule)
	})
	return true
}

// values reads what judges values.
func (r *reader) values(name string, v *structural.ValueValidation) bool {
	switch name {
	case "format":
		v.Format = r.text()
	case "pattern":
		v.Pattern = r.text()
	case "required":
		v.Required = r.texts()
	case "enum":
		r.items(func() { v.Enum = append(v.Enum, structural.JSON{Object: r.value()}) })
	case "uniqueItems":
		v.UniqueItems = r.truth()
	case "allOf":
		v.AllOf = r.nestedList()
	case "anyOf":
		v.AnyOf = r.nestedList()
	case "oneOf":
		v.OneOf = r.nestedList()
	case "not":
		not := r.nested()
		v.Not = &not
	default:
		return r.limits(name, v)
	}
	return true
}

func (r *reader) limits(name string, v *structural.ValueValidation) bool {
	switch name {
	case "maximum":
		v.Maximum = r.number()
	case "exclusiveMaximum":
		v.ExclusiveMaximum = r.truth()
	case "minimum":
		v.Minimum = r.number()
	case "exclusiveMinimum":
		v.ExclusiveMinimum = r.truth()
	case "multipleOf":
		v.MultipleOf = r.number()
	case "maxLength":
		v.MaxLength = r.integer()
	case "minLength":
		v.MinLength = r.integer()
	case "maxItems":
		v.MaxItems = r.integer()
	case "minItems":
		v.MinItems = r.integer()
	case "maxProperties":
		v.MaxProperties = r.integer()
	case "minProperties":
		v.MinProperties = r.integer()
	default:
		return false
	}
	return true
}
