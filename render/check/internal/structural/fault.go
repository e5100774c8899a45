// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ropewalk/ropewalk/render/object"
)

// Faults is what keeps a schema from being structural, sorted, with paths below
// path: types that are not said, or said below allOf and its like, members that
// only a nested schema names, and patterns that are none.
func Faults(path *field.Path, s *Structural) field.ErrorList {
	f := &faults{}
	f.spine(path, s, atRoot)
	if s != nil && s.ValueValidation != nil {
		f.complete(place{path, s}, path, s.ValueValidation)
	}
	slices.SortStableFunc(f.found, func(a, b *field.Error) int { return cmp.Compare(a.Error(), b.Error()) })
	return f.found
}

// level is where a schema of the spine stands, in the words of its errors.
type level string

const (
	atRoot  level = "at the root"
	inItems level = "for specified array items"
	inField level = "for specified object fields"
)

type faults struct{ found field.ErrorList }

func (f *faults) add(e *field.Error) { f.found = append(f.found, e) }

// forbid adds a fault where present says that there is what must not be.
func (f *faults) forbid(present bool, path *field.Path, name, detail string) {
	if present {
		f.add(field.Forbidden(path.Child(name), detail))
	}
}

// spine judges a schema of the spine and those below it.
func (f *faults) spine(path *field.Path, s *Structural, where level) {
	if s == nil {
		return
	}
	if s.Type == "array" && s.Items == nil {
		f.add(field.Required(path.Child("items"), "must be specified"))
	}
	f.spine(path.Child("items"), s.Items, inItems)
	for _, name := range object.SortedKeys(s.Properties) {
		p := s.Properties[name]
		f.spine(path.Child("properties").Key(name), &p, inField)
	}
	if more := s.AdditionalProperties; more != nil {
		f.forbid(where == atRoot, path, "additionalProperties", "must not be used at the root")
		f.forbid(s.XEmbeddedResource, path, "additionalProperties", "must not be used if x-kubernetes-embedded-resource is set")
		f.spine(path.Child("additionalProperties"), more.Structural, inField)
	}
	f.kind(path, s, where)
	f.resource(path, s, where)
	f.values(path, s.ValueValidation, eitherAnyOf(s), eitherAllOf(s))
}

// kind judges what a schema says of the type of its value.
func (f *faults) kind(path *field.Path, s *Structural, where level) {
	const onlyFalse = "must be false if x-kubernetes-int-or-string is true"
	if s.XIntOrString && s.XPreserveUnknownFields {
		f.add(field.Invalid(path.Child("x-kubernetes-preserve-unknown-fields"), true, onlyFalse))
	}
	if s.XIntOrString && s.XEmbeddedResource {
		f.add(field.Invalid(path.Child("x-kubernetes-embedded-resource"), true, onlyFalse))
	}
	const embedded = "must be object if x-kubernetes-embedded-resource is true"
	path = path.Child("type")
	switch {
	case s.XEmbeddedResource && s.Type == "":
		f.add(field.Required(path, embedded))
	case s.XEmbeddedResource && s.Type != "object":
		f.add(field.Invalid(path, s.Type, embedded))
	case s.Type == "" && !s.XIntOrString && !s.XPreserveUnknownFields:
		f.add(field.Required(path, "must not be empty "+string(where)))
	}
	if where == atRoot && s.Type != "" && s.Type != "object" {
		f.add(field.Invalid(path, s.Type, "must be object at the root"))
	}
}

// resource judges what a schema says of the members that resources have.
func (f *faults) resource(path *field.Path, s *Structural, where level) {
	if s.XEmbeddedResource && !s.XPreserveUnknownFields && len(s.Properties) == 0 {
		f.add(field.Required(path.Child("properties"), "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"))
	}
	if where != atRoot && !s.XEmbeddedResource {
		return
	}
	for _, want := range [...]struct{ name, kind string }{{"apiVersion", "string"}, {"kind", "string"}, {"metadata", "object"}} {
		if p, ok := s.Properties[want.name]; ok && p.Type != want.kind {
			f.add(field.Invalid(path.Child("properties").Key(want.name).Child("type"), p.Type, "must be "+want.kind))
		}
	}
	if meta, ok := s.Properties["metadata"]; ok && where == atRoot && !plainMetadata(meta) {
		f.add(field.Forbidden(path.Child("properties").Key("metadata"), "must not specify anything other than name and generateName, but metadata is implicitly specified"))
	}
}

// plainMetadata reports whether a schema of metadata says nothing but what may be
// said: the type, a default, name and generateName.
func plainMetadata(s Structural) bool {
	for name := range s.Properties {
		if name != "name" && name != "generateName" {
			return false
		}
	}
	if len(s.Properties) > 0 {
		s.Properties = nil
	}
	s.Type, s.Default = "", JSON{}
	if s.ValueValidation == nil {
		s.ValueValidation = &ValueValidation{}
	}
	return reflect.DeepEqual(s, Structural{ValueValidation: &ValueValidation{}})
}

// either reports whether alternatives are the ones that
// x-kubernetes-int-or-string may have: an integer, or a string.
func either(alternatives []NestedValueValidation) bool {
	return len(alternatives) == 2 &&
		reflect.DeepEqual(alternatives[0], NestedValueValidation{ForbiddenGenerics: Generic{Type: "integer"}}) &&
		reflect.DeepEqual(alternatives[1], NestedValueValidation{ForbiddenGenerics: Generic{Type: "string"}})
}

func eitherAnyOf(s *Structural) bool {
	return s.ValueValidation != nil && either(s.ValueValidation.AnyOf)
}

func eitherAllOf(s *Structural) bool {
	return s.ValueValidation != nil && len(s.ValueValidation.AllOf) > 0 && either(s.ValueValidation.AllOf[0].AnyOf)
}

// values judges the value validation of a schema. anyOf and allOf say that the
// alternatives of anyOf, or those of the first allOf, may name types.
func (f *faults) values(path *field.Path, v *ValueValidation, anyOf, allOf bool) {
	if v == nil {
		return
	}
	if !anyOf {
		f.nestedAll(path.Child("anyOf"), v.AnyOf, false)
	}
	f.nestedAll(path.Child("allOf"), v.AllOf, allOf)
	f.nestedAll(path.Child("oneOf"), v.OneOf, false)
	f.nested(path.Child("not"), v.Not, false)
	if v.Pattern != "" {
		if _, err := regexp.Compile(v.Pattern); err != nil {
			f.add(field.Invalid(path.Child("pattern"), v.Pattern, fmt.Sprintf("must be a valid regular expression, but isn't: %v", err)))
		}
	}
}

func (f *faults) nestedAll(path *field.Path, all []NestedValueValidation, first bool) {
	for i := range all {
		f.nested(path.Index(i), &all[i], first && i == 0)
	}
}

// nested judges a schema below allOf and its like. anyOf says that its
// alternatives may name types.
func (f *faults) nested(path *field.Path, n *NestedValueValidation, anyOf bool) {
	if n == nil {
		return
	}
	f.values(path, &n.ValueValidation, anyOf, false)
	f.nested(path.Child("items"), n.Items, false)
	for _, name := range object.SortedKeys(n.Properties) {
		p := n.Properties[name]
		f.nested(path.Child("properties").Key(name), &p, false)
	}
	const empty, undefined, untrue = "must be empty to be structural", "must be undefined to be structural", "must be false to be structural"
	g, x := n.ForbiddenGenerics, n.ForbiddenExtensions
	f.forbid(g.Type != "", path, "type", empty)
	f.forbid(n.AdditionalProperties != nil, path, "additionalProperties", undefined)
	f.forbid(g.Default.Object != nil, path, "default", undefined)
	f.forbid(g.Title != "", path, "title", empty)
	f.forbid(g.Description != "", path, "description", empty)
	f.forbid(g.Nullable, path, "nullable", untrue)
	f.forbid(x.XPreserveUnknownFields, path, "x-kubernetes-preserve-unknown-fields", untrue)
	f.forbid(x.XEmbeddedResource, path, "x-kubernetes-embedded-resource", untrue)
	f.forbid(x.XIntOrString, path, "x-kubernetes-int-or-string", untrue)
	f.forbid(len(x.XListMapKeys) > 0, path, "x-kubernetes-list-map-keys", empty)
	f.forbid(x.XListType != nil, path, "x-kubernetes-list-type", undefined)
	f.forbid(x.XMapType != nil, path, "x-kubernetes-map-type", undefined)
	f.forbid(len(n.XValidations) > 0, path, "x-kubernetes-validations", empty)
	if _, ok := n.Properties["metadata"]; ok {
		f.add(field.Forbidden(path.Child("properties").Key("metadata"), "must not be specified in a nested context"))
	}
}

// place is a schema of the spine and where it stands, without a schema where none
// does.
type place struct {
	path *field.Path
	s    *Structural
}

// complete wants the spine to have what the value validation at path speaks of.
func (f *faults) complete(on place, path *field.Path, v *ValueValidation) {
	f.completeNested(on, path.Child("not"), v.Not)
	for _, list := range [...]struct {
		name string
		all  []NestedValueValidation
	}{{"allOf", v.AllOf}, {"anyOf", v.AnyOf}, {"oneOf", v.OneOf}} {
		for i := range list.all {
			f.completeNested(on, path.Child(list.name).Index(i), &list.all[i])
		}
	}
}

func (f *faults) completeNested(on place, path *field.Path, n *NestedValueValidation) {
	switch {
	case n == nil:
		return
	case on.s == nil:
		f.add(field.Required(on.path, "because it is defined in "+path.String()))
		return
	}
	f.complete(on, path, &n.ValueValidation)
	f.completeNested(place{on.path.Child("items"), on.s.Items}, path.Child("items"), n.Items)
	for _, name := range object.SortedKeys(n.Properties) {
		sub, p := place{path: on.path.Child("properties").Key(name)}, n.Properties[name]
		if s, ok := on.s.Properties[name]; ok {
			sub.s = &s
		}
		f.completeNested(sub, path.Child("properties").Key(name), &p)
	}
}
