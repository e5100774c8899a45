// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// smallPackage is how many lines a package may have without a test.
const smallPackage = 100

// freeNames are what test files are called that are about no one source file: what all tests of a
// package share, those of several ways to the same result, and what Go gives a meaning to.
func freeNames() []string {
	return []string{"bench", "cases", "example", "export", "fuzz", "helpers", "internal", "main"}
}

// platforms are ends of file names that say where a file is built.
var platforms = regexp.MustCompile(`_(linux|darwin|windows|unix|bsd|other|amd64|arm64)$`)

// TestTestsAreNamedAfterWhatTheyTest finds test files whose name does not begin with that of a
// source file beside them: render_retry_test.go is about render.go.
func TestTestsAreNamedAfterWhatTheyTest(t *testing.T) {
	sources := map[string][]string{}
	for _, f := range goFiles(t) {
		if name := platforms.ReplaceAllString(strings.TrimSuffix(path.Base(f.path), ".go"), ""); !f.isTest() && name != "doc" {
			sources[f.dir()] = append(sources[f.dir()], name)
		}
	}
	for _, f := range goFiles(t) {
		if f.isTest() && !below(f.dir(), "test") {
			name := strings.TrimSuffix(path.Base(f.path), "_test.go")
			require.True(t, isNamedAfter(name, append(sources[f.dir()], freeNames()...)),
				"%s: name it after the source file that it tests, or SOURCE_ASPECT_test.go", f.path)
		}
	}
}

// isNamedAfter reports whether the name of a test file is one of sources, or begins with one and an
// underscore.
func isNamedAfter(name string, sources []string) bool {
	for _, s := range sources {
		if name == s || strings.HasPrefix(name, s+"_") {
			return true
		}
	}
	return false
}

// tested is the line of a package whose tests are elsewhere.
var tested = regexp.MustCompile(`(?m)^Tested by ([a-z0-9/]+(?:(?:, | and )[a-z0-9/]+)*)\.$`)

// TestPackagesHaveTestsOrNameThem finds packages without tests. One that only the tests of others
// reach says so in its doc: "Tested by render/workload."
func TestPackagesHaveTestsOrNameThem(t *testing.T) {
	lines, tests, elsewhere := map[string]int{}, map[string]bool{}, map[string]string{}
	for _, f := range goFiles(t) {
		switch {
		case f.isTest():
			tests[f.dir()] = true
		case !ast.IsGenerated(f.ast):
			lines[f.dir()] += f.lines(f.ast)
			if found := tested.FindStringSubmatch(f.ast.Doc.Text()); found != nil {
				elsewhere[f.dir()] = found[1]
			}
		}
	}
	for dir, n := range lines {
		if n > smallPackage && !tests[dir] && !below(dir, "test") {
			require.NotEmpty(t, elsewhere[dir], "%s: %d lines without a test: write one, or add the line \"Tested by PACKAGE.\" to its doc", dir, n)
		}
	}
	for dir, named := range elsewhere {
		require.False(t, tests[dir], "%s: its doc says that it has no test", dir)
		for _, by := range regexp.MustCompile(`, | and `).Split(named, -1) {
			require.True(t, tests[by], "%s: %s, which is to test it, has no test", dir, by)
		}
	}
}
