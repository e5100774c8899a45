// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilesThatHoldManifests(t *testing.T) {
	t.Parallel()
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"a manifest":                     {pod, true},
		"several":                        {pod + "---\n" + pod, true},
		"JSON":                           {`{"apiVersion": "v1", "kind": "Pod"}`, true},
		"a document of ours":             {"apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\n", false},
		"one of ours beside a manifest":  {pod + "---\napiVersion: ropewalk.dev/v1alpha1\nkind: Transform\n", false},
		"a document of Score":            {"apiVersion: score.dev/v1b1\nmetadata: {name: a}\n", false},
		"a kustomization":                {"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", false},
		"values":                         {"replicas: 2\n", false},
		"a kind without a version":       {"kind: Pod\n", false},
		"nothing":                        {"", false},
		"one that is broken":             {pod + "  x: [\n", true},
		"one of ours that is broken":     {"apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\n  x: [\n", false},
		"text that is broken and no one": {"a: [\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, holdsManifest([]byte(c.text)))
		})
	}
}
