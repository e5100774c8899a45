// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package imports_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/imports"
	"github.com/ropewalk/ropewalk/render/spec"
)

func parse(t *testing.T, text string) []spec.Manifest {
	t.Helper()
	docs, err := spec.ParseManifests(spec.File{Name: "a.yaml", Data: []byte(text)}, 1<<20)
	require.NoError(t, err)
	return docs
}

func TestAloneNamesTheOthers(t *testing.T) {
	text := ""
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		text += "---\n" + hook(name, "x")
	}
	objects, at, err := imports.Objects(parse(t, text))
	require.NoError(t, err)
	require.NoError(t, imports.Alone(objects, at, 0, 1, 2, 3, 4, 5, 6))
	require.ErrorContains(t, imports.Alone(objects, at, 1), `ConfigMap "a" in line 2, ConfigMap "c" in line 6, ConfigMap "d" in line 8, ConfigMap "e" in line 10, ConfigMap "f" in line 12 and 1 more`)
}
