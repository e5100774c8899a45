// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSmallFilesShareMemoryAndStayApart(t *testing.T) {
	var entries []entry
	for i := range 1000 {
		entries = append(entries, file(fmt.Sprintf("a/%d", i), strings.Repeat(fmt.Sprint(i%10), i*17%(2*smallFile))))
	}
	tree, err := read(t, Options{App: "a"}, entries...)
	require.NoError(t, err)
	var held int64
	for i := range 1000 {
		n, err := tree.find("open", fmt.Sprintf("a/%d", i), true)
		require.NoError(t, err)
		require.Equal(t, strings.Repeat(fmt.Sprint(i%10), i*17%(2*smallFile)), string(n.data))
		held += int64(cap(n.data))
	}
	require.Equal(t, held, tree.Stats().Memory, "none has room behind its end")
	require.Nil(t, tree.block)
}

func TestALookUpCostsNoMemory(t *testing.T) {
	tree, err := read(t, Options{App: "a"}, file("a/b/c/d", "x"), link("a/l", "b"))
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if n, err := tree.find("stat", "a/b/c/d", true); err != nil || n.size != 1 {
			t.Error(err)
		}
	}))
	for _, name := range []string{"a/l/c/d", "a/b/../b/c/d", "a/b/c/d/e", "a/x", ""} {
		require.Nil(t, tree.direct(name), name)
	}
	require.Same(t, tree.root, tree.direct("."))
}
