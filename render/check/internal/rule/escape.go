// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import "strings"

// reserved reports whether CEL gives a name a meaning of its own.
func reserved(name string) bool {
	switch name {
	case "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function",
		"if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while":
		return true
	}
	return false
}

// escape is the identifier by which rules reach a property: "a.b-c" is
// a__dot__b__dash__c, and "namespace" is __namespace__. It reports false where no
// identifier can stand for the name (Kubernetes documentation, "Validation rules",
// escaping).
func escape(name string) (string, bool) {
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return "", false
	}
	if reserved(name) {
		return "__" + name + "__", true
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case strings.HasPrefix(name[i:], "__"):
			b.WriteString("__underscores__")
			i++
		case c == '.':
			b.WriteString("__dot__")
		case c == '-':
			b.WriteString("__dash__")
		case c == '/':
			b.WriteString("__slash__")
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
			b.WriteByte(c)
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unescape is the name that an identifier of [escape] stands for. It reports
// false where the identifier holds a sequence of no meaning.
func unescape(identifier string) (string, bool) {
	if !strings.Contains(identifier, "__") {
		return identifier, true
	}
	var b strings.Builder
	for i := 0; i < len(identifier); {
		word, ok := sequence(identifier[i:])
		if !ok {
			b.WriteByte(identifier[i])
			i++
			continue
		}
		i += len(word) + 4
		switch {
		case word == "underscores":
			b.WriteString("__")
		case word == "dot":
			b.WriteByte('.')
		case word == "dash":
			b.WriteByte('-')
		case word == "slash":
			b.WriteByte('/')
		case reserved(word) && len(word)+4 == len(identifier):
			b.WriteString(word)
		default:
			return "", false
		}
	}
	return b.String(), true
}

// sequence is the word of a sequence __word__ that text begins with.
func sequence(text string) (word string, ok bool) {
	rest, ok := strings.CutPrefix(text, "__")
	if !ok {
		return "", false
	}
	end := strings.IndexByte(rest, '_')
	if end <= 0 || !strings.HasPrefix(rest[end:], "__") {
		return "", false
	}
	return rest[:end], true
}
