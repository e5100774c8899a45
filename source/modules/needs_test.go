// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/modules"
)

func TestWhatAModuleNeedsIsKnownBeforeAnybodyIsAsked(t *testing.T) {
	oci, files := shop(t)
	tree := treeOf(t, files)
	r := online(&modules.Registry{Config: "example.com/web=web.example/x+insecure,other.example=none.example," + oci.Host})
	needs, err := r.Needs(tree)
	require.NoError(t, err)
	require.Empty(t, oci.Requests())
	require.Equal(t, []modules.Dependency{
		{Path: "example.com/base", Version: "v0.1.0", Origin: "oci://" + oci.Host + "/example.com/base:v0.1.0"},
		{Path: "example.com/web", Version: "v0.2.0", Origin: "oci://web.example/x/example.com/web:v0.2.0"},
	}, needs)

	all := online(&modules.Registry{Config: oci.Host})
	_, got, err := all.Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	needs, err = all.Needs(tree)
	require.NoError(t, err)
	for i := range got {
		got[i].Digest = ""
	}
	require.Equal(t, got, needs, "it is what Complete gets")

	nowhere := online(&modules.Registry{Config: "other.example=none.example"})
	needs, err = nowhere.Needs(tree)
	require.NoError(t, err)
	require.NotEmpty(t, needs)
	whole, err := source.NewTree(map[string][]byte{"a.cue": []byte("package a\n")}, "path:a", "")
	require.NoError(t, err)
	needs, err = nowhere.Needs(whole)
	require.NoError(t, err)
	require.Empty(t, needs)
	_, err = online(&modules.Registry{Config: "me@host"}).Needs(tree)
	require.ErrorIs(t, err, source.ErrReference)
}
