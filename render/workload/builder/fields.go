// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// Fields collects the fields of a map.
type Fields []object.Member

// Put adds a field. It adds nothing if the value is absent or null.
func (f *Fields) Put(name string, v object.Value) {
	if v.Kind != object.KindNone && v.Kind != object.KindNull {
		*f = append(*f, object.Member{Name: name, Pos: v.Pos, Value: v})
	}
}

// Value returns the map, or an absent value if it has no fields.
func (f Fields) Value(pos object.Pos) object.Value {
	if len(f) == 0 {
		return object.Value{}
	}
	return object.Value{Kind: object.KindMap, Pos: pos, Members: f}
}

// Pairs returns a map of alternating names and values. Absent values and nulls are left out.
func Pairs(pos object.Pos, namesAndValues ...any) object.Value {
	var f Fields
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		f.Put(namesAndValues[i].(string), namesAndValues[i+1].(object.Value)) //nolint:forcetypeassert // by the callers
	}
	return f.Value(pos)
}

// Label returns a name as a DNS label: My_App becomes my-app.
func Label(name string) string {
	const longest = 63
	return strings.Trim(object.Shorten(object.Label(name), longest), "-")
}

// Written returns errors on a document as errors on the text of the author. Each of paths holds
// the beginning of a path in the document, where * is any name, and the beginning that replaces
// it; the first that fits counts. The replacer words is applied to hints.
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
