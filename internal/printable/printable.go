// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package printable writes text of others so that it is safe on a terminal and in a log:
// what steers a terminal, turns the direction of writing, or cannot be seen is written as
// an escape of Go, such as \x1b or \u202e. Letters, marks, numbers, signs and spaces of
// every language are left as they are. A text is escaped once, where it is written.
//
// What is written in a message is also cut, counted and put on one line here: [Cut], [Count],
// [OneLine]. These do not escape.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s with escapes. Ends of lines and tabs stay.
func Text(s string) string { return escape(s, func(r rune) bool { return r == '\n' || r == '\t' }) }

// Line returns s with escapes, also for ends of lines and tabs, so that the result stays in
// one line and in one cell of a table.
func Line(s string) string { return escape(s, func(rune) bool { return false }) }

// Linef formats as [fmt.Sprintf] does, with a [Line] for each argument that is text, an error
// or a [fmt.Stringer].
func Linef(format string, args ...any) string {
	clean := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case string:
			clean[i] = Line(a)
		case error:
			clean[i] = Line(a.Error())
		case fmt.Stringer:
			clean[i] = Line(a.String())
		default:
			clean[i] = a
		}
	}
	return fmt.Sprintf(format, clean...)
}

func escape(s string, keep func(r rune) bool) string {
	bad := func(r rune) bool { return (!unicode.IsGraphic(r) && !keep(r)) || r == utf8.RuneError }
	if !strings.ContainsFunc(s, bad) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !bad(r) || r == utf8.RuneError:
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}
