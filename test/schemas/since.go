// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// writeSince writes which members and values of components the trees of older versions lack:
// the name, such as core.v1.PodSpec.hostnameOverride or core.v1.PodSpec.os=linux, and the
// version that brought it. The first line names the oldest tree.
func writeSince(newest map[string]*compactSchema, minor int, trees []string, out string) error {
	slices.SortFunc(trees, func(a, b string) int { return cmp.Compare(minorOf(a), minorOf(b)) })
	lines := map[string]string{"": fmt.Sprintf("1.%d", minorOf(trees[0]))}
	had := members(newest)
	for _, tree := range slices.Backward(trees) {
		older := minorOf(tree)
		if older != minor-1 {
			return fmt.Errorf("%s: expected the tree of version 1.%d: %w", tree, minor-1, os.ErrInvalid)
		}
		components, _, err := readKubernetes(tree)
		if err != nil {
			return err
		}
		have := members(components)
		for name, of := range had {
			// What uses a component or a list of values that was not there is missing itself.
			if have[name] == "" && have[of] != "" && !strings.HasSuffix(name, "=") {
				lines[name] = fmt.Sprintf("1.%d", minor)
			}
		}
		maps.DeleteFunc(had, func(name, _ string) bool { return have[name] == "" })
		minor = older
	}
	return writeLines(out, lines)
}

// members are the names of the members of components and of their values, each with what it
// is one of: the component, and the list of values.
func members(components map[string]*compactSchema) map[string]string {
	out := map[string]string{}
	for component, s := range components {
		out[component] = "all"
		for name, p := range s.Properties {
			name = component + "." + name
			out[name] = component
			values := p.Enum
			if p.Items != nil {
				values = append(slices.Clone(values), p.Items.Enum...)
			}
			for _, v := range values {
				out[name+"="] = component
				out[name+"="+v] = name + "="
			}
		}
	}
	return out
}

// minorOf is the second number of the version in the name of a module's folder, 0 where there
// is none.
func minorOf(tree string) int {
	m := regexp.MustCompile(`@v1\.(\d+)\.`).FindStringSubmatch(filepath.Base(tree))
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // It has digits alone, and few.
	return n
}
