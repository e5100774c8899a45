// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"strconv"
	"strings"
)

// manyNames is how many known names a message lists at most.
const manyNames = 12

// unknownField says that name is not known, and what is.
func unknownField(name string, known []string) string {
	text := fmt.Sprintf("unknown field %q", name) + nearest(name, known)
	if len(known) > 0 && len(known) <= manyNames {
		text += "; known are " + strings.Join(known, ", ")
	}
	return text
}

// nearest suggests the known name that name was probably meant to be: "" where
// none is near.
func nearest(name string, known []string) string {
	best, least := "", 1+max(len(name), 3)/3
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least || (d == least && best == "" && d <= 2) {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// distance is how many letters must be inserted, left out, replaced or
// swapped with their neighbour to make b of a.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, last := make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := range s {
		row := make([]int, len(t)+1)
		row[0] = i + 1
		for j := range t {
			cost := 1
			if s[i] == t[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(t)]
}

// quoted lists words as "a", "b" or "c".
func quoted(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = strconv.Quote(w)
	}
	return choice(q)
}

// choice lists words as a, b or c.
func choice(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
