// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ropewalk/ropewalk/render/object"
)

// Read reads the schema of a version of a CustomResourceDefinition from JSON. It
// refuses what no structural schema can hold; [Faults] finds the rest.
func Read(content []byte) (*Structural, error) {
	var t text
	if err := json.Unmarshal(content, &t); err != nil {
		var mistyped *json.UnmarshalTypeError
		if errors.As(err, &mistyped) {
			return nil, fmt.Errorf("has a %s where %s should be", mistyped.Value, mistyped.Field)
		}
		return nil, errors.New("cannot be read as a schema")
	}
	return t.spine()
}

// spine makes a schema of the spine.
func (t *text) spine() (*Structural, error) {
	if t == nil {
		return nil, nil
	}
	s := &Structural{ValueValidation: &ValueValidation{}, ValidationExtensions: ValidationExtensions{t.XValidations}}
	err := t.parts(s.ValueValidation, &s.Generic, &s.Extensions)
	if err == nil && t.Items != nil {
		s.Items, err = t.Items.one.spine()
	}
	if err == nil && len(t.Properties) > 0 {
		s.Properties, err = each(t.Properties, (*text).spine)
	}
	if more := t.AdditionalProperties; err == nil && more != nil {
		s.AdditionalProperties = &StructuralOrBool{Bool: more.allowed}
		s.AdditionalProperties.Structural, err = more.one.spine()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// nested makes a schema below allOf and its like.
func (t *text) nested() (*NestedValueValidation, error) {
	if t == nil {
		return nil, nil
	}
	n := &NestedValueValidation{ValidationExtensions: ValidationExtensions{t.XValidations}}
	err := t.parts(&n.ValueValidation, &n.ForbiddenGenerics, &n.ForbiddenExtensions)
	if err == nil && t.Items != nil {
		n.Items, err = t.Items.one.nested()
	}
	if err == nil && t.Properties != nil {
		n.Properties, err = each(t.Properties, (*text).nested)
	}
	if more := t.AdditionalProperties; err == nil && more != nil {
		if n.AdditionalProperties, err = more.one.nested(); more.one == nil && more.allowed {
			n.AdditionalProperties = &NestedValueValidation{}
		}
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// each makes the schemas of properties. The first mistake by name ends it.
func each[S any](properties map[string]text, schema func(*text) (*S, error)) (map[string]S, error) {
	out := make(map[string]S, len(properties))
	for _, name := range object.SortedKeys(properties) {
		p := properties[name]
		s, err := schema(&p)
		if err != nil {
			return nil, err
		}
		out[name] = *s
	}
	return out, nil
}

// parts fills in what schemas of both forms have.
func (t *text) parts(v *ValueValidation, g *Generic, x *Extensions) (err error) {
	if err := t.supported(); err != nil {
		return err
	}
	*x = Extensions{
		XPreserveUnknownFields: t.XPreserveUnknownFields != nil, XEmbeddedResource: t.XEmbeddedResource, XIntOrString: t.XIntOrString,
		XListMapKeys: t.XListMapKeys, XListType: t.XListType, XMapType: t.XMapType,
	}
	*g = Generic{Type: t.Type, Description: t.Description, Title: t.Title, Nullable: t.Nullable, ExternalDocs: t.ExternalDocs}
	if g.Default, err = value(t.Default); err != nil {
		return err
	}
	if g.Example, err = value(t.Example); err != nil {
		return err
	}
	return t.validation(v)
}

func (t *text) validation(v *ValueValidation) (err error) {
	*v = ValueValidation{
		Format: t.Format, Maximum: t.Maximum, ExclusiveMaximum: t.ExclusiveMaximum, Minimum: t.Minimum, ExclusiveMinimum: t.ExclusiveMinimum,
		MaxLength: t.MaxLength, MinLength: t.MinLength, Pattern: t.Pattern, MaxItems: t.MaxItems, MinItems: t.MinItems, UniqueItems: t.UniqueItems,
		MultipleOf: t.MultipleOf, MaxProperties: t.MaxProperties, MinProperties: t.MinProperties, Required: t.Required,
	}
	for _, raw := range t.Enum {
		choice, err := value(raw)
		if err != nil {
			return err
		}
		v.Enum = append(v.Enum, choice)
	}
	if v.AllOf, err = nestedAll(t.AllOf); err != nil {
		return err
	}
	if v.AnyOf, err = nestedAll(t.AnyOf); err != nil {
		return err
	}
	if v.OneOf, err = nestedAll(t.OneOf); err != nil {
		return err
	}
	v.Not, err = t.Not.nested()
	return err
}

func nestedAll(all []text) (out []NestedValueValidation, err error) {
	for i := range all {
		n, err := all[i].nested()
		if err != nil {
			return nil, err
		}
		out = append(out, *n)
	}
	return out, nil
}

// supported refuses what JSON Schema has and structural schemas have not.
func (t *text) supported() error {
	switch {
	case t.ID != "":
		return unsupported("id")
	case t.Schema != "":
		return unsupported("schema")
	case t.Ref != nil && *t.Ref != "":
		return unsupported("$ref")
	case len(t.PatternProperties) > 0:
		return unsupported("patternProperties")
	case len(t.Dependencies) > 0:
		return unsupported("dependencies")
	case t.AdditionalItems != nil:
		return unsupported("additionalItems")
	case len(t.Definitions) > 0:
		return unsupported("definitions")
	case t.XPreserveUnknownFields != nil && !*t.XPreserveUnknownFields:
		return errors.New("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")
	case t.Items != nil && len(t.Items.many) > 0:
		return errors.New("OpenAPIV3Schema 'items' must be a schema, but is an array")
	}
	return nil
}

func unsupported(name string) error {
	return errors.New("OpenAPIV3Schema '" + name + "' is not supported")
}
