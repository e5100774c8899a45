// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package scc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/scc"
)

func TestSuccessorsComeFirst(t *testing.T) {
	require.Empty(t, scc.Components(nil))
	require.Equal(t, [][]int{{2}, {1}, {0}, {3}}, scc.Components([][]int{{1, 2}, {2}, nil, {0, 3}}))
	require.Equal(t, [][]int{{3}, {0, 1, 2}}, scc.Components([][]int{{1}, {2}, {0, 3}, nil}), "vertices in a cycle are one component")
}

func TestChainsMayBeOfAnyLength(t *testing.T) {
	next := make([][]int, 1_000_000)
	for i := range next[:len(next)-1] {
		next[i] = []int{i + 1}
	}
	require.Len(t, scc.Components(next), len(next))
}
