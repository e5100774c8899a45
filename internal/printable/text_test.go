// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package printable_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/printable"
)

func TestTextIsCutBetweenTwoCharacters(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		most int
		want string
	}{
		"a text of that size stays": {"four", 4, "four"},
		"a longer one is cut":       {"four", 3, "fou…"},
		"before half a character":   {"aöö", 4, "aö…"},
		"behind a whole one":        {"aöö", 3, "aö…"},
		"without what is no text":   {"a\xffbcd", 3, "ab…"},
		"to nothing":                {"ö", 1, "…"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, printable.Cut(c.text, c.most, "…"))
		})
	}
}

func TestLinesBecomeOne(t *testing.T) {
	const text = "\n a  b\r\n\tc\n"
	require.Equal(t, "a b c", printable.OneLine(text))
	require.Equal(t, " a  b c", printable.JoinLines(text), "spaces are the author's")
	require.Equal(t, "a  b", printable.FirstLine("a  b\nc"))
	require.Equal(t, "a", printable.FirstLine("a"))
}

func TestNumbersHaveTheirNoun(t *testing.T) {
	for want, n := range map[string]any{"0 objects": 0, "1 object": 1, "2 objects": int64(2), "3 objects": "3"} {
		require.Equal(t, want, printable.Count(n, "object"))
	}
	require.Equal(t, "1 object", printable.Count("1", "object"))
	require.Equal(t, "1 object", printable.Count(int64(1), "object"))
}

func TestLongListsNameTheFirst(t *testing.T) {
	require.Empty(t, printable.List(nil, 2))
	require.Equal(t, "a, b", printable.List([]string{"a", "b"}, 2))
	require.Equal(t, "a, b and 2 more", printable.List([]string{"a", "b", "c", "d"}, 2))
}

func TestRevisionsAreShort(t *testing.T) {
	sum := strings.Repeat("0123456789", 4)
	for revision, want := range map[string]string{
		"main@sha1:" + sum:                   "main@sha1:012345678901",
		"sha256:" + sum + "abcdefabcdef":     "sha256:012345678901",
		"sha256:" + sum[:39]:                 "sha256:" + sum[:39],
		"sha256:" + strings.ToUpper(sum+"A"): "sha256:" + sum + "A",
		sum:                                  sum,
		"v1.2.3":                             "v1.2.3",
	} {
		require.Equal(t, want, printable.Revision(revision))
	}
}
