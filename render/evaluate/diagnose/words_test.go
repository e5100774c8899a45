// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnUnknownFieldIsNamedWithThoseThatAreKnown(t *testing.T) {
	many := []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett", "kilo", "lima", "mike"}
	for name, c := range map[string]struct {
		field string
		known []string
		want  string
	}{
		"one is near":       {"replica", []string{"image", "replicas"}, `unknown field "replica", did you mean "replicas"?`},
		"none is near":      {"color", []string{"image", "replicas"}, `unknown field "color"; known are image, replicas`},
		"too many to list":  {"zulu", many, `unknown field "zulu"`},
		"as many as fit":    {"zulu", many[:12], `unknown field "zulu"; known are alpha, bravo, charlie, delta, echo, foxtrot, golf, hotel, india, juliett, kilo, lima`},
		"none is known":     {"color", nil, `unknown field "color"`},
		"a name with lines": {"a\nb", nil, `unknown field "a\nb"`},
	} {
		require.Equal(t, c.want, UnknownField(c.field, c.known), name)
	}
}

func TestWordsAreListed(t *testing.T) {
	require.Empty(t, Quoted(nil))
	require.Equal(t, `"a"`, Quoted([]string{"a"}))
	require.Equal(t, `"a" or "b"`, Quoted([]string{"a", "b"}))
	require.Equal(t, `"a", "b" or "c"`, Quoted([]string{"a", "b", "c"}))
}
