// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnclosedFindsTheBracketByTheIndentation(t *testing.T) {
	tests := map[string]struct {
		text string
		want opened
	}{
		"the last brace is missing":         {"a: {\n\tb: {\n\t}\n", opened{"{", 1, 4, 0}},
		"an inner brace is missing":         {"a: {\n\tb: {\n\t\tc: 1\n}\n", opened{"{", 2, 5, 1}},
		"a list before another field":       {"a: [#B\n\nc: {\n}\n", opened{"[", 1, 4, 0}},
		"brackets of another kind":          {"a: {b: [1, 2}\n", opened{"[", 1, 8, 0}},
		"behind an interpolation":           {"a: {b: \"x\\(c)y\\(d.e)z\"\n", opened{"{", 1, 4, 0}},
		"a call within an interpolation":    {"a: {b: \"\\(len(c))\"\n", opened{"{", 1, 4, 0}},
		"a call and an open list after all": {"a: [\"\\(len([c]))\", \n", opened{"[", 1, 4, 0}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := unclosed([]byte(tt.text))
			require.True(t, ok)
			require.Equal(t, tt.want, got)
		})
	}
	for name, text := range map[string]string{
		"all are closed":      "a: {b: [1]}\n",
		"one too many":        "a: {\nb: ]\n}",
		"an unclosed string":  "a: {b: \"x}\n",
		"one too many, alone": "}\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, ok := unclosed([]byte(text))
			require.False(t, ok)
		})
	}
}
