// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"strings"
	"unicode/utf8"
)

// textWidth returns the width of s in pixels at a font size. Widths come from DejaVu Sans, in
// hundredths of the size: it is the widest of the common sans-serif fonts, so that what fits here
// fits anywhere.
func textWidth(s string, size int) int {
	sum := 0
	for _, r := range s {
		sum += charWidth(r)
	}
	return (sum*size + 99) / 100
}

// boldWidth returns the width of bold letters, which are an eighth wider than the letters of
// [textWidth].
func boldWidth(s string, size int) int { return textWidth(s, size) * 9 / 8 }

func charWidth(r rune) int {
	switch {
	case strings.ContainsRune("ijl", r):
		return 28
	case strings.ContainsRune("ft.,:/- I", r):
		return 40
	case r == 'r':
		return 42
	case strings.ContainsRune("mwMW%@…→", r):
		return 100
	case r == '×':
		return 84
	case r >= 'A' && r <= 'Z':
		return 73
	case r < utf8.RuneSelf:
		return 64
	}
	// Letters of other scripts are up to as wide as they are high.
	return 100
}

// fit shortens s in its middle until measure says that it is at most width
// wide: names differ at their start and at their end.
func fit(s string, measure func(string, int) int, size, width int) string {
	if measure(s, size) <= width {
		return s
	}
	runes := []rune(s)
	for keep := len(runes) - 1; keep > 1; keep-- {
		head := (keep + 1) / 2
		short := string(runes[:head]) + "…" + string(runes[len(runes)-(keep-head):])
		if measure(short, size) <= width {
			return short
		}
	}
	return "…"
}
