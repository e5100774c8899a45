// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"bytes"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The budget of the house style: what a maintainer can hold in the head.
const (
	fileLines     = 450
	functionLines = 100
	packageFiles  = 20
)

func TestEveryPackageHasADoc(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range goFiles(t) {
		if !f.isTest() {
			documented[f.dir()] = documented[f.dir()] || f.ast.Doc != nil && len(f.ast.Doc.Text()) > 80
		}
	}
	for dir, ok := range documented {
		require.True(t, ok, "%s: the package needs a doc that says what it does, and its invariants", dir)
	}
}

func TestNoPackageHasANameThatSaysNothing(t *testing.T) {
	vague := []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "shared", "base", "manager", "data"}
	for _, f := range goFiles(t) {
		require.NotContains(t, vague, path.Base(f.dir()), "%s: name the result, not the drawer", f.path)
		require.NotContains(t, vague, strings.TrimSuffix(path.Base(f.path), ".go"), "%s: name the result, not the drawer", f.path)
	}
}

func TestFilesAndFunctionsKeepTheBudget(t *testing.T) {
	for _, f := range goFiles(t) {
		if ast.IsGenerated(f.ast) {
			continue
		}
		require.LessOrEqual(t, f.lines(f.ast), fileLines, "%s is too long: is it one thing?", f.path)
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				require.LessOrEqual(t, f.lines(fn), functionLines, "%s: %s is too long", f.path, fn.Name.Name)
			}
		}
	}
}

func TestPackagesKeepTheBudget(t *testing.T) {
	files := map[string]int{}
	for _, f := range goFiles(t) {
		if !f.isTest() && !ast.IsGenerated(f.ast) && !below(f.dir(), "test") {
			files[f.dir()]++
		}
	}
	for dir, n := range files {
		require.LessOrEqual(t, n, packageFiles, "%s has too many files: which two packages is it?", dir)
	}
}

func TestNothingHappensBeforeMain(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				require.NotEqual(t, "init", fn.Name.Name, "%s: an init hides what main does", f.path)
			}
		}
	}
}

func TestOnlyCommandsReadTheEnvironment(t *testing.T) {
	calls := []string{"Getenv", "LookupEnv", "Environ"}
	for _, f := range goFiles(t) {
		if f.isTest() || below(f.dir(), "cmd") || below(f.dir(), "test") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "os" {
					require.NotContains(t, calls, s.Sel.Name, "%s reads the environment: only commands may", f.path)
				}
			}
			return true
		})
	}
}

func TestMainIsOneLine(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.ast.Name.Name != "main" || f.isTest() || !below(f.dir(), "cmd") {
			continue
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				require.Len(t, fn.Body.List, 1, "%s: the command is a package that can be tested", f.path)
			}
		}
	}
}

func TestEveryFileNamesItsLicence(t *testing.T) {
	comment := map[string]string{
		".go": "// ", ".cue": "// ", ".yml": "# ", ".sh": "# ", "Makefile": "# ", "Dockerfile": "# ", ".lua": "-- ",
	}
	for _, p := range paths(t) {
		prefix, ok := comment[path.Ext(p)]
		if !ok {
			prefix, ok = comment[path.Base(p)]
		}
		if !ok {
			continue
		}
		head := read(t, p)[:min(400, len(read(t, p)))]
		require.Contains(t, head, prefix+"Copyright 2026 The Ropewalk Authors\n"+prefix+"SPDX-License-Identifier: Apache-2.0\n", p)
	}
}

func TestTheTopLevelIsThatOfTheDesign(t *testing.T) {
	known := []string{
		"cmd", "plugin", "render", "source", "artifact", "cue", "deploy", "docs", "internal", "test",
		"Makefile", "Dockerfile", "go.mod", "go.sum", "README.md", "LICENSE", "CHANGELOG.md", "out",
	}
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			require.Contains(t, known, e.Name(), "the top level is fixed by the design")
		}
	}
}

func TestTheImageIsBuiltByTheGoOfTheModule(t *testing.T) {
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	image := regexp.MustCompile(`(?m)^FROM golang:(\d+\.\d+)`).FindStringSubmatch(read(t, "Dockerfile"))
	require.NotNil(t, version)
	require.NotNil(t, image)
	require.Equal(t, version[1], image[1])
}

func TestTheModuleCanBeInstalled(t *testing.T) {
	require.NotContains(t, read(t, "go.mod"), "\nreplace ", "a replace breaks go install")
}

// TestNoFileNamesAMachine keeps paths of build machines out of the tree.
func TestNoFileNamesAMachine(t *testing.T) {
	places := regexp.MustCompile(`(/root/|/home/[a-z]+/go|/work/(main|shared)|/tmp/(tools|brief))`)
	for _, p := range paths(t) {
		if p == "test/arch/house_test.go" || slices.Contains([]string{".png", ".gz"}, path.Ext(p)) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, p))
		require.NoError(t, err)
		require.Nil(t, places.Find(bytes.TrimSpace(data)), p)
	}
}
