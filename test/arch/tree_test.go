// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root   = "../.."
	module = "github.com/ropewalk/ropewalk/"
)

// file is one parsed Go file of the project.
type file struct {
	path string // relative to the root
	fset *token.FileSet
	ast  *ast.File
}

// dir is the folder of the file, which is also its package.
func (f file) dir() string { return path.Dir(f.path) }

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f file) imports() []string {
	var out []string
	for _, i := range f.ast.Imports {
		out = append(out, strings.Trim(i.Path.Value, `"`))
	}
	return out
}

// lines is how many lines n spans.
func (f file) lines(n ast.Node) int {
	return f.fset.Position(n.End()).Line - f.fset.Position(n.Pos()).Line + 1
}

// paths lists every file of the project below dir, sorted and relative to the
// root; what git ignores, test data and hidden folders are left out.
func paths(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			skip := name == "testdata" || name == "out" || strings.HasPrefix(name, ".") && name != ".." && name != ".ci"
			if skip && p != root {
				return filepath.SkipDir
			}
			return nil
		}
		if name == ".git" { // the file of a worktree
			return nil
		}
		rel, err := filepath.Rel(root, p)
		out = append(out, filepath.ToSlash(rel))
		return err
	})
	require.NoError(t, err)
	slices.Sort(out)
	return out
}

// goFiles parses every Go file of the project, nested modules included.
func goFiles(t *testing.T) []file {
	t.Helper()
	var out []file
	for _, p := range paths(t) {
		if !strings.HasSuffix(p, ".go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Join(root, p), nil, parser.ParseComments)
		require.NoError(t, err, p)
		out = append(out, file{path: p, fset: fset, ast: f})
	}
	require.NotEmpty(t, out)
	return out
}

func read(t *testing.T, p string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, p))
	require.NoError(t, err)
	return string(data)
}
