// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import "regexp"

// value is a value as CUE and our own checks show it: a text in quotes of any kind, a map, a
// list, or a word.
const value = `(?:#+"(?s:.*?)"#+|"""(?s:.*?)"""|"(?:[^"\\]|\\.)*(?:"…?|$)|'(?:[^'\\]|\\.)*(?:'…?|$)|\{.*\}|\[.*\]|[^ ,;:]+)`

// given is the part of a message that shows a value that was given.
var given = regexp.MustCompile(`(got |found |conflicting values |invalid value |invalid operands? |undefined field: )` + value + `( and ` + value + `)?`)

// withoutValues is a message without the values that it shows.
func withoutValues(text string) string {
	text = given.ReplaceAllStringFunc(text, func(found string) string {
		m := given.FindStringSubmatch(found)
		if found == m[1]+"a" || found == m[1]+"an" {
			return found // A kind: a list, an integer.
		}
		if m[2] != "" {
			return m[1] + hidden + " and " + hidden
		}
		return m[1] + hidden
	})
	return literals.ReplaceAllStringFunc(text, func(found string) string {
		if literals.FindStringSubmatch(found)[1] != "" {
			return found
		}
		return hidden
	})
}

// literals are the texts in quotes, with the word before those that are no values.
var literals = regexp.MustCompile(`((?:matches|reference|fields?|Secret|import|variable|the key) )?(?:"(?:[^"\\]|\\.)*(?:"…?|$))`)
