// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/diff"
)

func TestTextOfSeveralLinesIsComparedByLines(t *testing.T) {
	field := func(before, after any) string {
		return diff.Change{Fields: []diff.Field{{Path: "data.conf", Before: before, After: after, From: "a.yaml:3:1"}}}.Markdown()
	}
	for _, c := range []struct{ before, after, want string }{
		{"1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\nx\n5\n6\n7\n", "# data.conf:  # a.yaml:3:1\n  2\n  3\n- 4\n+ x\n  5\n  6\n"},
		{"1\n2\n", "1\n2\n3\n", "# data.conf:  # a.yaml:3:1\n  1\n  2\n+ 3\n"},
		{"```\nb\n", "```\u202e\nb\n", "# data.conf:  # a.yaml:3:1\n- ```\n+ ```\\u202e\n  b\n"},
		// What only ends in another way, and what is too long, is shown as values are.
		{"1\n2\n", "1\n2", "- data.conf: \"1\\n2\\n\"\n+ data.conf: \"1\\n2\"  # a.yaml:3:1\n"},
	} {
		fence := strings.Repeat("`", 3+strings.Count(c.want, "+ ```"))
		require.Equal(t, fence+"diff\n"+c.want+fence+"\n", field(c.before, c.after))
	}
	require.Contains(t, field("a", strings.Repeat("line\n", 100)), `- data.conf: "a"`)
	require.Contains(t, field("a", int64(1)), "- data.conf: \"a\"\n+ data.conf: 1")
}
