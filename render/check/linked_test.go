// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNothingIsLinkedThatSetsItselfUp keeps those packages of Kubernetes out of
// the command that cost each process time before its first line: tests alone may
// import them.
func TestNothingIsLinkedThatSetsItselfUp(t *testing.T) {
	cheap := []string{
		"k8s.io/apimachinery/pkg/api/resource", "k8s.io/apimachinery/pkg/runtime/schema",
		"k8s.io/apimachinery/pkg/util/json", "k8s.io/apimachinery/pkg/util/validation/field",
	}
	files := 0
	require.NoError(t, fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if strings.HasPrefix(path, "k8s.io/") {
				require.Contains(t, cheap, path, name)
			}
		}
		return nil
	}))
	require.Greater(t, files, 50)
}
