// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
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
	there := "there are: "
	if len(known) == 1 {
		there = "there is: "
	}
	listed := there + strings.Join(known[:min(len(known), mostNames)], ", ")
	if more := len(known) - mostNames; more > 0 {
		listed += fmt.Sprintf(" and %d more", more)
	}
	if nearest, ok := object.Nearest(name, known); ok {
		return fmt.Sprintf("did you mean %q? %s", nearest, listed)
	}
	return listed
}
