// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package version_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source/version"
)

func TestTheHighestVersionInARangeIsChosen(t *testing.T) {
	tags := []string{
		"latest", "v0.9.0", "1.0.0", "v1.2.3", "1.2.10", "v1.10.0-rc.1", "1.9.9", "2.0.0", "2.0.0+build", "v2.0.0", "3.0", "v4", "01.2.3", "5.0.0-", "main",
	}
	for text, want := range map[string]string{
		"^1.0": "1.9.9", "~1.2.3": "1.2.10", "~1.2": "1.2.10", "1.x": "1.9.9", "1.2.x": "1.2.10", "*": "2.0.0", ">=1.0.0 <2.0.0": "1.9.9",
		">=1.0.0, <2.0.0": "1.9.9", "1.0.0 - 1.2.5": "v1.2.3", "<1": "v0.9.0", "=1.2.3": "v1.2.3", "1.2.3": "v1.2.3",
		"<1 || >=2": "2.0.0", ">=1.0.0-0 <2.0.0": "v1.10.0-rc.1", "^0.9": "v0.9.0", ">=3": "", "v1.x": "1.9.9",
	} {
		r, err := version.ParseRange(text)
		require.NoError(t, err, text)
		require.Equal(t, text, r.String())
		backward := slices.Clone(tags)
		slices.Reverse(backward)
		for _, order := range [][]string{tags, backward} {
			h := r.Highest()
			for _, tag := range order {
				h.Add(tag)
			}
			got, ok := h.Tag()
			require.Equal(t, want != "", ok, text)
			require.Equal(t, want, got, text)
		}
	}
}

func TestWhatIsNoRangeIsRefused(t *testing.T) {
	for _, text := range []string{"", " ", "abc", ">", "1.2.3.4.5", "^^1", "latest", "!=1.0.0", strings.Repeat("1 ", 500)} {
		_, err := version.ParseRange(text)
		require.ErrorContains(t, err, "is not a range of versions", text)
	}
}

func FuzzRange(f *testing.F) {
	f.Add("^1.2", "v1.2.3")
	f.Add(">=1.0.0-0 || ~2", "2.0.0-rc.1+x")
	f.Fuzz(func(_ *testing.T, text, tag string) {
		r, err := version.ParseRange(text)
		if err != nil {
			return
		}
		h := r.Highest()
		h.Add(tag)
		h.Tag()
	})
}

func ExampleRange_Highest() {
	r, err := version.ParseRange("^1.2")
	if err != nil {
		panic(err)
	}
	h := r.Highest()
	for _, tag := range []string{"v1.1.0", "v1.2.0", "v1.4.2", "v2.0.0", "latest"} {
		h.Add(tag)
	}
	fmt.Println(h.Tag())
	// Output: v1.4.2 true
}
