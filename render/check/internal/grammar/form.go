// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package grammar

import "strings"

func lower(c byte) bool { return 'a' <= c && c <= 'z' }
func digit(c byte) bool { return '0' <= c && c <= '9' }

func alphanumeric(c byte) bool { return lower(c) || digit(c) || 'A' <= c && c <= 'Z' }

// inName reports whether a byte may stand inside the name of a label key.
func inName(c byte) bool { return alphanumeric(c) || c == '-' || c == '_' || c == '.' }

// all reports whether every byte of text is good.
func all(text string, good func(byte) bool) bool {
	for i := range len(text) {
		if !good(text[i]) {
			return false
		}
	}
	return true
}

// isLabel reports whether text is of letters in lower case, digits and dashes,
// none of which begins or ends it.
func isLabel(text string) bool {
	return text != "" && text[0] != '-' && text[len(text)-1] != '-' &&
		all(text, func(c byte) bool { return lower(c) || digit(c) || c == '-' })
}

// isSubdomain reports whether text is labels with dots between them.
func isSubdomain(text string) bool {
	for label := range strings.SplitSeq(text, ".") {
		if !isLabel(label) {
			return false
		}
	}
	return true
}

// isName reports whether text may stand after the slash of a label key.
func isName(text string) bool {
	return text != "" && alphanumeric(text[0]) && alphanumeric(text[len(text)-1]) && all(text, inName)
}
