// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearestGuessesOnlyWhatIsNear(t *testing.T) {
	tests := map[string]struct {
		word  string
		known []string
		want  string
	}{
		"a letter too few":               {"replica", []string{"image", "replicas"}, "replicas"},
		"two letters of three":           {"mn", []string{"max", "min"}, "min"},
		"nothing for two other letters":  {"mn", []string{"mm", "on"}, ""},
		"two letters swapped":            {"paht", []string{"git", "path"}, "path"},
		"another case":                   {"DEPENDSON", []string{"dependsOn"}, "dependsOn"},
		"the beginning":                  {"depend", []string{"dependsOn"}, "dependsOn"},
		"the first in order of a draw":   {"cat", []string{"rat", "bat"}, "bat"},
		"a longer name":                  {"portNumber", []string{"env", "port"}, "port"},
		"a beginning in another case":    {"imagepull", []string{"imagePullPolicy"}, "imagePullPolicy"},
		"a very long name":               {strings.Repeat("port", 30), []string{"port"}, "port"},
		"nothing where all letters go":   {"zzz", []string{"abc"}, ""},
		"nothing for one letter":         {"x", []string{"y"}, ""},
		"nothing where nothing is known": {"x", nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := Nearest(tt.word, tt.known)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.want != "", ok)
		})
	}
}

func TestSuggestListsWhatIsKnown(t *testing.T) {
	require.Equal(t, `did you mean "path"?`, Suggest("paht", []string{"path"}))
	require.Equal(t, "known: a, b", Suggest("zzz", []string{"b", "a"}))
	require.Equal(t, "none is defined", Suggest("zzz", nil))
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("name-%02d", i))
	}
	require.Contains(t, Suggest("zzz", many), "name-11 and 8 more")
}

// Each mistake of a file may name another of thousands of names.
func TestALongListIsNotComparedAsAWhole(t *testing.T) {
	t.Parallel()
	known := make([]string, 20_000)
	for i := range known {
		known[i] = fmt.Sprintf("%s-%05d", strings.Repeat("name", 12), i)
	}
	slices.Reverse(known)
	name, ok := Nearest(known[777]+"x", known)
	require.True(t, ok)
	require.Equal(t, known[777], name)
	far := strings.Repeat("eman", 12) + "-00000"
	_, ok = Nearest(far, known)
	require.False(t, ok)
	require.LessOrEqual(t, len(around(far, slices.Sorted(slices.Values(known)))), 500)
}
