// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// fieldPath reads the fieldPath of a rule: .name for properties and ['name']
// for them and for keys of maps. It reports false where it leads nowhere.
func fieldPath(text string, s *structural.Structural) (string, bool) {
	var path *field.Path
	for text != "" {
		name, rest, ok := step(text)
		if !ok {
			return "", false
		}
		text = rest
		switch {
		case s.Properties != nil:
			p, ok := s.Properties[name]
			if !ok {
				return "", false
			}
			path, s = path.Child(name), &p
		case valuesOf(s) != nil:
			path, s = path.Key(name), valuesOf(s)
		default:
			return "", false
		}
	}
	return strings.TrimPrefix(path.String(), "<nil>"), true
}

// step is the first step of a path and what follows it.
func step(text string) (name, rest string, ok bool) {
	if rest, ok = strings.CutPrefix(text, "['"); ok {
		return quoted(rest)
	}
	if rest, ok = strings.CutPrefix(text, "."); !ok {
		return "", "", false
	}
	end := strings.IndexAny(rest, ".[]")
	if end < 0 {
		end = len(rest)
	}
	return rest[:end], rest[end:], end > 0
}

// quoted is a name up to its quote and bracket, with the escapes of C.
func quoted(text string) (name, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'':
			rest, ok = strings.CutPrefix(text[i+1:], "]")
			return b.String(), rest, ok
		case '\\':
			i++
			at := -1
			if i < len(text) {
				at = strings.IndexByte(`abfnrtv'\`, text[i])
			}
			if at < 0 {
				return "", "", false
			}
			b.WriteByte("\a\b\f\n\r\t\v'\\"[at])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
