// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rendercache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"math"
	"reflect"
	"slices"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// Key identifies a request of a tenant to a version of the program: equal keys mean equal
// renders. It is a SHA-256 in hex.
//
// It is made by reflection over the request, so that a new field is part of the key
// unless it is excluded by name.
func Key(req render.Request, version, scope string) string {
	h := hasher{Hash: sha256.New()}
	h.text("ropewalk render 1")
	h.text(version)
	h.text(scope)
	h.value(reflect.ValueOf(req))
	// Warnings from before the render are part of its result.
	for _, m := range req.Mistakes {
		h.text(m.Error())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// excluded are the fields that a render does not depend on: how it is run, and the files
// of trees, whose digests are in the key.
func excluded() map[reflect.Type][]string {
	return map[reflect.Type][]string{
		reflect.TypeFor[render.Request]():   {"Parallel", "Progress", "Mistakes", "Broken"},
		reflect.TypeFor[evaluate.Request](): {"Limits"},
		reflect.TypeFor[evaluate.Module]():  {"FS"},
	}
}

// hasher writes values so that different values give different bytes: each has its kind
// and its length before it.
type hasher struct{ hash.Hash }

func (h hasher) number(n uint64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	h.bytes(b[:])
}

func (h hasher) text(s string) {
	h.number(uint64(len(s)))
	h.bytes([]byte(s))
}

// bytes goes into the hash, which never fails.
func (h hasher) bytes(b []byte) { _, _ = h.Write(b) }

// value writes v. It panics on values that cannot be compared, such as functions: such a
// field must be excluded by name.
func (h hasher) value(v reflect.Value) {
	h.number(uint64(v.Kind()))
	switch v.Kind() {
	case reflect.String:
		h.text(v.String())
	case reflect.Bool:
		h.bool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		h.number(uint64(v.Int())) //nolint:gosec // only equality counts
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		h.number(v.Uint())
	case reflect.Float32, reflect.Float64:
		h.number(math.Float64bits(v.Float()))
	case reflect.Slice, reflect.Array:
		h.number(uint64(v.Len())) //nolint:gosec // a length is not negative
		for i := range v.Len() {
			h.value(v.Index(i))
		}
	case reflect.Map:
		h.mapping(v)
	case reflect.Struct:
		h.fields(v)
	case reflect.Pointer, reflect.Interface:
		h.bool(v.IsNil())
		if !v.IsNil() {
			h.text(v.Elem().Type().String())
			h.value(v.Elem())
		}
	default:
		if v.IsValid() {
			panic(fmt.Sprintf("rendercache: a %s cannot be part of a key", v.Type()))
		}
	}
}

func (h hasher) bool(b bool) {
	n := uint64(0)
	if b {
		n = 1
	}
	h.number(n)
}

func (h hasher) mapping(v reflect.Value) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		switch {
		case a.String() < b.String():
			return -1
		case a.String() > b.String():
			return 1
		}
		return 0
	})
	h.number(uint64(len(keys)))
	for _, k := range keys {
		if k.Kind() != reflect.String {
			panic("rendercache: a map whose keys are no strings cannot be part of a key")
		}
		h.text(k.String())
		h.value(v.MapIndex(k))
	}
}

func (h hasher) fields(v reflect.Value) {
	skip := excluded()[v.Type()]
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if slices.Contains(skip, f.Name) {
			continue
		}
		if v.Field(i).Type() == reflect.TypeFor[fs.FS]() {
			panic("rendercache: files cannot be part of a key: exclude " + f.Name + " by name")
		}
		h.text(f.Name)
		h.value(v.Field(i))
	}
}
