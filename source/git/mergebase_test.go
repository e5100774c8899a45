// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

// crossed is a repository whose branches a and b were merged into one another, so that
// they have two merge bases; lone shares nothing with them.
func crossed(t *testing.T) *servers.Git {
	t.Helper()
	_, g, first, _ := repository(t)
	var in strings.Builder
	commit := func(branch string, second int, parents ...string) {
		fmt.Fprintf(&in, "commit refs/heads/%s\nmark :%d\ncommitter t <t@example.com> %d +0000\ndata 1\nx\n", branch, second, 1_700_000_000+second)
		for i, p := range parents {
			in.WriteString([]string{"from ", "merge "}[min(i, 1)] + p + "\n")
		}
		fmt.Fprintf(&in, "M 100644 inline %s\ndata 1\n%d\n", branch, second%10)
	}
	commit("a", 1, first)
	commit("b", 2, first)
	commit("a", 3, ":1", ":2")
	commit("b", 4, ":2", ":1")
	commit("lone", 5)
	// The clock of this one is late: its parent is newer.
	commit("skewed", -900, ":3")
	g.Input(in.String()+"done\n", "fast-import", "--quiet", "--done")
	return g
}

func TestMergeBasesAreThoseOfGit(t *testing.T) {
	t.Parallel()
	g, many := crossed(t), historic(t)
	found := 0
	for dir, revisions := range map[string][]string{
		g.Dir:    {"a", "b", "lone", "main", "a~1", "b^2", "skewed"},
		many.Dir: {"main", "main~1", "main~1^2", "main~1^3", "many", "many~200", "v1.0.0", "nested", "both"},
	} {
		for _, a := range revisions {
			for _, b := range revisions {
				want, err := mergeBases(t.Context(), FindBinary(), dir, a, b)
				got, errOne := mergeBases(t.Context(), "", dir, a, b)
				require.Equal(t, want, got, "%s %s", a, b)
				require.Equal(t, err == nil, errOne == nil, "%s %s: %v, %v", a, b, err, errOne)
				if found += len(want); err != nil {
					require.ErrorIs(t, err, source.ErrNotFound)
					require.EqualError(t, errOne, err.Error())
					require.ErrorContains(t, err, "they have no common commit")
					require.NotContains(t, err.Error(), "shallow")
				}
			}
		}
	}
	require.Greater(t, found, 80)
	two, err := MergeBases(t.Context(), g.Dir, "a", "b")
	require.NoError(t, err)
	require.Equal(t, []string{g.Hash("b^1"), g.Hash("a^1")}, two, "the newest is first")
}

func TestAShallowCloneWithoutACommonCommitSaysWhatToFetch(t *testing.T) {
	t.Parallel()
	g := historic(t)
	_, dir := shallow(t, g)
	deep := filepath.Join(t.TempDir(), "deep")
	git(t, "", "clone", "--quiet", "--depth=3", "file://"+g.Dir, deep)
	for _, binary := range []string{FindBinary(), ""} {
		_, err := mergeBases(t.Context(), binary, dir, "HEAD", "origin/many")
		require.ErrorIs(t, err, source.ErrNotFound, binary)
		require.ErrorContains(t, err, "no common commit in this shallow clone", binary)
		require.ErrorContains(t, err, "fetch-depth: 0", binary)
		require.ErrorContains(t, err, "git fetch --unshallow", binary)
		// What is not there is not asked for.
		got, err := mergeBases(t.Context(), binary, deep, "HEAD", "HEAD~1")
		require.NoError(t, err, binary)
		require.Equal(t, []string{g.Hash("main~1")}, got, binary)
	}
}

func TestMergeBasesHaveAnEnd(t *testing.T) {
	t.Parallel()
	g := historic(t)
	d, err := openOnDisk(g.Dir)
	require.NoError(t, err)
	h := &history{onDisk: d, check: t.Context().Err, left: 100}
	a, err := d.findCommit(must(d.findNamed("many")))
	require.NoError(t, err)
	for range 100 {
		_, err = h.EncodedObject(a.Type(), a.Hash)
		require.NoError(t, err)
	}
	_, err = h.EncodedObject(a.Type(), a.Hash)
	require.ErrorIs(t, err, source.ErrLimit)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, binary := range []string{FindBinary(), ""} {
		_, err = mergeBases(ctx, binary, g.Dir, "main", "many")
		require.ErrorIs(t, err, context.Canceled, "%q", binary)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
