// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Known returns the oldest and the newest minor version of Kubernetes whose schemas are known:
// 1.OLDEST to 1.NEWEST.
func Known() (oldest, newest int) {
	first, _, _ := strings.Cut(since, "\n")
	for _, minor := range table() {
		newest = max(newest, minor)
	}
	return Minor(strings.TrimSpace(first)), newest
}

// Since returns the minor version of Kubernetes that brought a member of a component, such as
// core.v1.PodSpec.hostnameOverride, or a value of a member, such as core.v1.Toleration.operator=Lt;
// 0 where the oldest version that is known has it.
func Since(name string) int { return table()[name] }

var table = sync.OnceValue(func() map[string]int { //nolint:gochecknoglobals // a constant
	out := map[string]int{}
	for line := range strings.Lines(since) {
		if name, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			out[name] = Minor(version)
		}
	}
	return out
})

// Served returns the apiVersions that a version of Kubernetes serves by default, such as
// apps/v1, and their kinds, such as apps/v1/Deployment, sorted. For a version that is newer than
// the newest known version, or that cannot be read, it returns what the newest known version serves. What was removed
// before that version is not known.
func Served(version string) []string {
	have := Minor(version)
	var versions []string
	for line := range strings.Lines(kinds) {
		fields := strings.Fields(line)
		later := len(fields) > 4 && have >= 0 && Minor(fields[4]) > have
		if later || len(fields) < 4 || Preview(fields[0]) {
			continue
		}
		versions = append(versions, fields[0], fields[0]+"/"+fields[1])
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}

// Preview reports whether servers leave a version of a built-in group out by
// default.
func Preview(apiVersion string) bool {
	return strings.Contains(apiVersion, "alpha") || strings.Contains(apiVersion, "beta")
}

// Minor returns the second number of a version of Kubernetes, or -1 if it has no such number.
func Minor(version string) int {
	_, rest, _ := strings.Cut(version, ".")
	if end := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' }); end >= 0 {
		rest = rest[:end]
	}
	if n, err := strconv.Atoi(rest); err == nil {
		return n
	}
	return -1
}
