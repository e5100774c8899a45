// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"reflect"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// reportUnknown reports fields of v that the type t of the library does not have, and values of
// another type. The library names the first one only, and no line.
func (w *walker) reportUnknown(k *kustomization, v object.Value, t reflect.Type, p object.Path) {
	// The type requires a kind.
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want := map[reflect.Kind]object.Kind{
		reflect.Struct: object.KindMap, reflect.Map: object.KindMap, reflect.Slice: object.KindList, reflect.String: object.KindString, reflect.Bool: object.KindBool,
	}[t.Kind()]
	switch {
	case v.Kind == object.KindNull || want == object.KindNone:
		return
	case v.Kind != want:
		w.fail(k, p)("", "expected %s, got %s", want, v.Kind)
		return
	}

	// The parts have types of their own.
	switch t.Kind() { //nolint:exhaustive // Scalars have nothing below.
	case reflect.Slice:
		for i, item := range v.Items {
			w.reportUnknown(k, item, t.Elem(), p.Append(object.Index(i)))
		}
	case reflect.Map:
		for _, m := range v.Members {
			w.reportUnknown(k, m.Value, t.Elem(), p.Append(object.Field(m.Name)))
		}
	case reflect.Struct:
		known := map[string]reflect.Type{}
		names := fieldsOf(t, known, nil)
		for _, m := range v.Members {
			fieldPath := p.Append(object.Field(m.Name))
			field, ok := known[strings.ToLower(m.Name)]
			if !ok {
				w.fail(k, fieldPath)(suggest(m.Name, names), "kustomize knows no field %q here", m.Name)
				continue
			}
			w.reportUnknown(k, m.Value, field, fieldPath)
		}
	}
}

// suggest returns the hint for a field that is not among names: the nearest field that is not
// deprecated, or what is written in place of a deprecated field.
func suggest(name string, names []string) string {
	var old [][2]string
	current := slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		i := slices.IndexFunc(deprecations(), func(f [2]string) bool { return f[0] == n })
		if i >= 0 {
			old = append(old, deprecations()[i])
		}
		return i >= 0
	})
	near, _ := object.Nearest(name, names)
	for _, f := range old {
		if f[0] == near && object.DidYouMean(name, current) == "" {
			return "write it as " + f[1]
		}
	}
	return object.Suggest(name, current)
}

// fieldsOf adds the fields of a struct by their names in lower case: decoding does not mind
// the case.
func fieldsOf(t reflect.Type, known map[string]reflect.Type, names []string) []string {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			in := f.Type
			if in.Kind() == reflect.Pointer {
				in = in.Elem()
			}
			names = fieldsOf(in, known, names)
			continue
		}
		if name == "" {
			name = f.Name
		}
		if f.IsExported() && name != "-" {
			known[strings.ToLower(name)] = f.Type
			names = append(names, name)
		}
	}
	return names
}
