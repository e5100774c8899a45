// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"slices"
	"strconv"
	"strings"
)

// Served returns the apiVersions that a version of Kubernetes serves by default, such as
// apps/v1, and their kinds, such as apps/v1/Deployment, sorted. Those of the newest version
// that is known are returned for one that is newer, or that cannot be read. What was removed
// before that version is not known.
func Served(version string) []string {
	have := minor(version)
	var out []string
	for line := range strings.Lines(kinds) {
		fields := strings.Fields(line)
		if len(fields) < 4 || Preview(fields[0]) || len(fields) > 4 && have >= 0 && minor(fields[4]) > have {
			continue
		}
		out = append(out, fields[0], fields[0]+"/"+fields[1])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Preview reports whether servers leave a version of a built-in group out by
// default.
func Preview(apiVersion string) bool {
	return strings.Contains(apiVersion, "alpha") || strings.Contains(apiVersion, "beta")
}

// minor is the second number of a version of Kubernetes, -1 where there is none.
func minor(version string) int {
	_, rest, _ := strings.Cut(version, ".")
	if end := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' }); end >= 0 {
		rest = rest[:end]
	}
	if n, err := strconv.Atoi(rest); err == nil {
		return n
	}
	return -1
}
