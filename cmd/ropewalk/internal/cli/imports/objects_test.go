// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package imports_test

import (
	"strings"
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
	text := "{apiVersion: argoproj.io/v1alpha1, kind: KIND, metadata: {name: a}}\n"
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		text += "---\n" + hook(name, "x")
	}
	objects, at, err := imports.Objects(parse(t, strings.Replace(text, "KIND", "Application", 1)))
	require.NoError(t, err)
	_, err = imports.Alone(objects, at)
	require.ErrorContains(t, err, `ConfigMap "a" in line 3, ConfigMap "b" in line 5, ConfigMap "c" in line 7, ConfigMap "d" in line 9, ConfigMap "e" in line 11 and 2 more`)

	// A render of manifests may hold an ApplicationSet, and is one of manifests.
	objects, at, err = imports.Objects(parse(t, strings.Replace(text, "KIND", "ApplicationSet", 1)))
	require.NoError(t, err)
	units, err := imports.Alone(objects, at)
	require.NoError(t, err)
	require.False(t, units)
	units, err = imports.Alone(objects[:1], at)
	require.NoError(t, err)
	require.True(t, units)
}
