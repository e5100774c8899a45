// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMistakesInADocumentAreAtTheirFields(t *testing.T) {
	for text, want := range map[string]string{
		"spec: {files: []}":                                           "app.yaml:3:15: spec: spec.files: must not be empty (write files: [compose.yaml], or the one that it is)",
		"spec: {profiles: [1.0]}":                                     "app.yaml:3:7: spec: spec.files: is missing (write files: [compose.yaml], or the one that it is)",
		"spec: {files: [5, compose.yaml]}":                            `app.yaml:3:16: spec: spec.files[0]: expected a string, got a number (write it in quotes: "5")`,
		"spec: {files: [compose.yaml], envFile: {a: b}}":              "app.yaml:3:40: spec: spec.envFile: expected a string or a list, got a map",
		"spec: {files: [compose.yaml], profile: [a]}":                 `app.yaml:3:31: spec: spec.profile: unknown field "profile" (did you mean "profiles"?)`,
		"spec: {files: [compose.yaml]}\nprofiles: [a]":                `app.yaml:4:1: spec: profiles: unknown field "profiles" (move it under spec)`,
		"metadata: {names: a}\nspec: {files: [compose.yaml]}":         `app.yaml:3:12: spec: metadata.names: unknown field "names" (did you mean "name"?)`,
		"metadata: {name: a}\nspec: {files: [compose.yaml, \"\", ]}":  "app.yaml:4:30: spec: spec.files[1]: must not be empty",
		"spec: {files: [compose.yaml], envFile: [one.env, two: [a]]}": "app.yaml:3:50: spec: spec.envFile[1]: expected a string, got a map",
	} {
		files := map[string]string{
			"app.yaml":     "apiVersion: ropewalk.dev/v1alpha1\nkind: Compose\n" + text + "\n",
			"compose.yaml": "services: {web: {image: a}}\n", "one.env": "A=1\n",
		}
		_, errs := compiled(t, files, "app.yaml")
		require.Equal(t, want, errs.Failures().Sorted().Error(), text)
	}
}
