// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// appendText writes s on one line, in the first style that every parser reads
// back as s: plain, single-quoted (where the text itself holds a quote or a
// backslash), double-quoted.
func appendText(b []byte, s string) []byte {
	switch {
	case plainSafe(s):
		return append(b, s...)
	case strings.ContainsAny(s, "\"\\") && printable(s):
		b = append(b, '\'')
		b = append(b, strings.ReplaceAll(s, "'", "''")...)
		return append(b, '\'')
	}
	return appendQuoted(b, s)
}

// plainSafe reports whether s means itself without quotes, in a block context.
func plainSafe(s string) bool {
	if s == "" || !plainStart(s) {
		return false
	}
	if last := s[len(s)-1]; last == ' ' || last == ':' {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < ' ' || c == 0x7f:
			return false
		case c >= utf8.RuneSelf:
			return printable(s) && plainASCII(s) && !reserved(s) && !numeric(s)
		case c == ':' && s[i+1] == ' ', c == ' ' && s[i+1] == '#':
			return false
		}
	}
	return !reserved(s) && !numeric(s)
}

// plainASCII looks for what ends a plain scalar, in text that plainSafe has
// left off because of a character beyond ASCII.
func plainASCII(s string) bool {
	return !strings.Contains(s, ": ") && !strings.Contains(s, " #")
}

// plainStart reports whether a plain scalar may start as s does: a letter, a
// digit, or a sign that no YAML version gives a meaning.
func plainStart(s string) bool {
	switch c := s[0]; {
	case isLetter(c), isDigit(c):
		return true
	case c == '-':
		if len(s) > 2 && s[1] == '-' {
			return isLetter(s[2])
		}
		return len(s) > 1 && (isLetter(s[1]) || isDigit(s[1]))
	case c >= utf8.RuneSelf:
		r, _ := utf8.DecodeRuneInString(s)
		return unicode.IsLetter(r)
	default:
		return strings.IndexByte("/_.$(^+;\\", c) >= 0
	}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

// reserved reports whether a parser reads s as a bool, as null, as a special
// float or as a marker: YAML 1.1 types bool, null, float, merge and value, and
// the core schema of YAML 1.2.
func reserved(s string) bool {
	if len(s) > 5 {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "nil",
		".inf", "+.inf", "-.inf", ".nan", "inf", "+inf", "-inf", "nan",
		"<<", "=", "---", "...":
		return true
	}
	return false
}

// numeric reports whether s could be a number, a base-60 number or a date: it begins as one and
// holds only what one may hold. In doubt it returns true, which writes quotes.
func numeric(s string) bool {
	digits := strings.TrimLeft(s, "+-.")
	if digits == "" {
		return true
	}
	if !isDigit(digits[0]) {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) && strings.IndexByte("abcdefABCDEFxXoO_+-.:tTzZ ", s[i]) < 0 {
			return false
		}
	}
	return true
}

// printable reports whether s may stand unescaped between quotes. Characters
// beyond the basic plane are escaped, because not every parser accepts them.
func printable(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || r > 0xFFFF || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// blockSafe reports whether s reads best, and reads back, as a literal block:
// several lines, no escapes needed, no space at the end of a line that an
// editor would strip, and a first line that shows the indent.
func blockSafe(s string) bool {
	if strings.IndexByte(s, '\n') < 0 || strings.IndexByte("\n \t", s[0]) >= 0 {
		return false
	}
	last := rune('\n')
	for _, r := range s {
		switch {
		case r == '\n':
			if last == ' ' || last == '\t' {
				return false
			}
		case r == '\t':
			if last == '\n' {
				return false
			}
		case r == utf8.RuneError, r > 0xFFFF, !unicode.IsPrint(r):
			return false
		}
		last = r
	}
	return last != ' ' && last != '\t'
}

// appendBlock writes s as a literal block; the line feed behind its last line
// is the caller's.
func appendBlock(b []byte, s string, indent int) []byte {
	body := strings.TrimRight(s, "\n")
	switch len(s) - len(body) {
	case 0:
		b = append(b, "|-"...)
	case 1:
		b = append(b, '|')
	default:
		b = append(b, "|+"...)
	}
	for line := range strings.SplitSeq(body, "\n") {
		b = append(b, '\n')
		if line != "" {
			b = append(appendSpaces(b, indent), line...)
		}
	}
	for range len(s) - len(body) - 1 {
		b = append(b, '\n')
	}
	return b
}

// appendQuoted writes s between double quotes. Bytes that are no UTF-8 become
// U+FFFD, as in JSON.
func appendQuoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\t':
			b = append(b, '\\', 't')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r < 0x80 && r >= ' ' && r != 0x7f:
			b = append(b, byte(r))
		case r <= 0xFFFF && r != utf8.RuneError && unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r <= 0xFFFF:
			b = append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		default:
			b = append(b, '\\', 'U', '0', '0', hex[r>>20&15], hex[r>>16&15],
				hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
	}
	return append(b, '"')
}
