// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// Fields is a map in the making.
type Fields []object.Member

// Put adds a field, and nothing where the value is nothing.
func (f *Fields) Put(name string, v object.Value) {
	if v.Kind != object.KindNone && v.Kind != object.KindNull {
		*f = append(*f, object.Member{Name: name, Pos: v.Pos, Value: v})
	}
}

// Value is the map, nothing where it has no fields.
func (f Fields) Value(pos object.Pos) object.Value {
	if len(f) == 0 {
		return object.Value{}
	}
	return object.Value{Kind: object.KindMap, Pos: pos, Members: f}
}

// Pairs is a map of names and values in turn, without those whose value is nothing.
func Pairs(pos object.Pos, of ...any) object.Value {
	var f Fields
	for i := 0; i+1 < len(of); i += 2 {
		f.Put(of[i].(string), of[i+1].(object.Value)) //nolint:forcetypeassert // by the callers
	}
	return f.Value(pos)
}

// Label is a name as a DNS label: My_App is my-app.
func Label(name string) string {
	const longest = 63
	return strings.Trim(object.Shorten(object.Label(name), longest), "-")
}

// Written is errors on a document as those on what the author wrote: of paths the first
// counts that a path begins with, where * is any name. Words are those of hints.
func Written(errs object.Errors, paths [][2]string, words *strings.Replacer) object.Errors {
	out := slices.Clone(errs)
	for i, e := range errs {
		written := *e
		for _, p := range paths {
			begin := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(p[0]), `\*`, `[^.[]+`) + `($|[.[])`)
			if begin.MatchString(e.Path) {
				written.Path = begin.ReplaceAllString(e.Path, p[1]+"$1")
				break
			}
		}
		written.Hint = words.Replace(e.Hint)
		out[i] = &written
	}
	return out
}
