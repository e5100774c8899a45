// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package printable

import (
	"fmt"
	"strings"
)

// Cut returns text as it is up to a size of most bytes. A longer one ends there, between two
// characters, and more follows, such as "…": the result then has more than most bytes.
func Cut(text string, most int, mark string) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + mark
}

// OneLine returns text with one space for each run of white space, ends of lines among it.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// JoinLines returns text with one space for each run of tabs and ends of lines. Its spaces
// stay as they are, for text whose spaces an author has chosen.
func JoinLines(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\t' || r == '\r' }), " ")
}

// FirstLine returns text up to the end of its first line.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Count returns a number with its noun: 1 object, 2 objects. The number is an integer, or its text
// in decimal.
func Count(n any, noun string) string {
	text := fmt.Sprint(n)
	if text != "1" {
		noun += "s"
	}
	return text + " " + noun
}

// List returns names with commas between them. Of more than most it has the first, and the
// number of the others: a, b and 2 more.
func List(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Revision returns a revision of Flux, or a digest, with the first 12 characters of its sum.
// Text that does not end in a sum is returned as it is.
func Revision(revision string) string {
	const shown, shortest = 12, 40 // of a checksum: SHA-1 has 40 characters
	i := strings.LastIndexByte(revision, ':') + 1
	sum := revision[i:]
	if i == 0 || len(sum) < shortest || strings.Trim(sum, "0123456789abcdef") != "" {
		return revision
	}
	return revision[:i] + sum[:shown]
}
