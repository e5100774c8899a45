// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// Nearest returns the known name that word was most likely meant to be. A name is near if at most a
// third of the letters differ, where a swap of two neighbours counts as one letter. A name is also
// near if it is the beginning of word or word is its beginning, and if it is one letter longer than
// a word of two. ok is false if no name is near. In a long list only those names are compared that
// are sorted next to word: most mistakes leave its beginning.
func Nearest(word string, names []string) (name string, ok bool) {
	const letters, longest = 3, 64
	best := len(word) / letters
	lower := strings.ToLower(word)

	// The nearest name wins, and of equally near names the first.
	extended := ""
	for _, k := range around(word, slices.Sorted(slices.Values(names))) {
		l := strings.ToLower(k)
		if extended == "" && len(l) > letters && strings.HasPrefix(lower, l) {
			extended = k
		}
		d := longest
		switch {
		case len(word) == letters-1 && len(l) == letters && Distance(lower, l) == 1: // mn is min
			d = 0
		case len(word) >= letters && strings.HasPrefix(l, lower):
			d = min(1, len(l)-len(lower))
		case len(word) <= longest && len(k) <= longest:
			d = Distance(lower, l)
		}
		if d <= best && (!ok || d < best) {
			name, best, ok = k, d, true
		}
	}
	if !ok && extended != "" {
		return extended, true
	}
	return name, ok
}

// around returns the part of a sorted list in which word would be.
func around(word string, sorted []string) []string {
	const half = 250
	if len(sorted) <= 2*half {
		return sorted
	}
	at, _ := slices.BinarySearch(sorted, word)
	return sorted[max(0, min(at, len(sorted)-half)-half):min(len(sorted), max(at, half)+half)]
}

// DidYouMean returns the hint that names the nearest known name, or "" if none is near.
func DidYouMean(word string, names []string) string {
	if name, ok := Nearest(word, names); ok {
		return fmt.Sprintf("did you mean %q?", name)
	}
	return ""
}

// Distance returns how many letters must be added, dropped, changed or swapped with their
// neighbour to make b of a (optimal string alignment).
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			hasNeighbours := i > 1 && j > 1
			if hasNeighbours && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Suggest returns the hint for an unknown word: the nearest known word, or all known words.
func Suggest(word string, names []string) string {
	if hint := DidYouMean(word, names); hint != "" {
		return hint
	}
	if len(names) == 0 {
		return "none is defined"
	}
	const most = 12
	sorted := slices.Compact(slices.Sorted(slices.Values(names)))
	return "known: " + printable.List(sorted, most)
}
