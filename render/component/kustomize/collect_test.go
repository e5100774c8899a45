// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/api/krusty"
)

func TestBuiltinPluginsAreThoseOfTheLibrary(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, krusty.GetBuiltinPluginNames(), builtinPlugins())
}

func TestReferencesAreReadAsKustomizeDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://github.com/org/repo//deploy?ref=main":                     "git https://github.com/org/repo?tag=main&submodules=true deploy",
		"git@github.com:org/repo.git//deploy":                              "git git@github.com:org/repo.git?submodules=true deploy",
		"ssh://git@host/org/repo.git/a?ref=x&submodules=false":             "git ssh://git@host/org/repo.git?tag=x a",
		"git::https://host/org/repo.git":                                   "git https://host/org/repo.git?submodules=true ",
		"github.com/org/repo?ref=0123456789012345678901234567890123456789": "git https://github.com/org/repo?commit=0123456789012345678901234567890123456789&submodules=true ",
		"https://raw.githubusercontent.com/org/repo/main/x.yaml":           "http https://raw.githubusercontent.com/org/repo/main/x.yaml ",
		"https://github.com/org/repo/releases/download/v1/install.yaml":    "http https://github.com/org/repo/releases/download/v1/install.yaml ",
		"https://example.com/manifests":                                    "http https://example.com/manifests ",
		"https://dev.azure.com/org/project/_git/repo/deploy?version=v1":    "git https://dev.azure.com/org/project/_git/repo?tag=v1&submodules=true deploy",
		"../base": "", "base/web.yaml": "", "file:///etc": "",
	} {
		r, ok := parseRemote(text)
		require.Equal(t, want != "", ok, text)
		if ok {
			require.Equal(t, want, r.Type+" "+r.Refs[0]+" "+r.Path, text)
		}
	}
}
