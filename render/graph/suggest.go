// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"slices"
	"strings"
)

// mostNames is how many names a hint lists: more are no help.
const mostNames = 8

// suggest is a hint for a name that is not among known: the nearest one, and
// what there is.
func suggest(name string, known []string) string {
	known = slices.Clone(known)
	slices.Sort(known)
	known = slices.Compact(known)
	if len(known) == 0 {
		return "there are none"
	}
	// A name that would have to change as a whole is no guess.
	nearest, best := "", min(max(2, len(name)/3), len(name)-1)+1
	for _, k := range known {
		// A difference in length alone can rule a name out.
		if d := max(len(k)-len(name), len(name)-len(k)); d >= best {
			continue
		}
		if d := distance(name, k); d < best {
			nearest, best = k, d
		}
	}
	there := "there are: "
	if len(known) == 1 {
		there = "there is: "
	}
	listed := there + strings.Join(known[:min(len(known), mostNames)], ", ")
	if more := len(known) - mostNames; more > 0 {
		listed += fmt.Sprintf(" and %d more", more)
	}
	if nearest == "" {
		return listed
	}
	return fmt.Sprintf("did you mean %q? %s", nearest, listed)
}

// distance is the number of insertions, deletions and replacements that turn
// a into b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
