// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rendercache_test

import (
	"io/fs"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// excluded are the fields that are not in the key: how a request is run and reported, and the files of
// trees, whose digests are in it.
func excluded() map[reflect.Type][]string {
	return map[reflect.Type][]string{
		reflect.TypeFor[render.Request]():   {"Parallel", "Progress", "Mistakes", "Broken", "Secrets"},
		reflect.TypeFor[evaluate.Request](): {"Limits"},
		reflect.TypeFor[evaluate.Module]():  {"FS", "Foreign"},
		reflect.TypeFor[render.Spec]():      {"Written"},
	}
}

// fields sets one field after the other, at any depth of a request, and calls done for
// each; v is as it was afterwards.
func fields(t *testing.T, v reflect.Value, name string, open []reflect.Type, done func(name string)) {
	t.Helper()
	old := reflect.ValueOf(v.Interface())
	if !old.IsValid() {
		old = reflect.Zero(v.Type())
	}
	within := func(next reflect.Value, name string) {
		done(name)
		if !slices.Contains(open, next.Type()) {
			fields(t, next, name, append(open, next.Type()), done)
		}
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("changed")
		done(name)
	case reflect.Bool:
		v.SetBool(true)
		done(name)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
		done(name)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(7)
		done(name)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		within(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		within(v.Index(0), name+"[]")
	case reflect.Map:
		element := reflect.New(v.Type().Elem()).Elem()
		v.Set(reflect.MakeMap(v.Type()))
		key := reflect.ValueOf("key").Convert(v.Type().Key())
		v.SetMapIndex(key, element)
		done(name + "{}")
		fields(t, element, name+"{}", open, func(name string) {
			v.SetMapIndex(key, element)
			done(name)
		})
	case reflect.Interface:
		v.Set(reflect.ValueOf("changed"))
		done(name)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if slices.Contains(excluded()[v.Type()], f.Name) {
				continue
			}
			require.True(t, f.IsExported(), "%s.%s is not encoded", name, f.Name)
			require.NotEqual(t, reflect.TypeFor[fs.FS](), f.Type, "%s.%s: a key cannot hold files", name, f.Name)
			fields(t, v.Field(i), name+"."+f.Name, open, done)
		}
	default:
		require.Failf(t, "not part of a key", "%s is a %s", name, v.Type())
	}
	v.Set(old)
}

func TestEveryFieldOfARequestIsInTheKey(t *testing.T) {
	var req render.Request
	seen := map[string]string{rendercache.Key(req, "v1", ""): "the empty request"}
	count := 0
	fields(t, reflect.ValueOf(&req).Elem(), "request", nil, func(name string) {
		count++
		key := rendercache.Key(req, "v1", "")
		require.NotEmpty(t, key, name)
		require.Empty(t, seen[key], "%s has the key of another field", name)
		seen[key] = name
	})
	require.Greater(t, count, 200)
}
