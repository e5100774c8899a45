// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
)

func TestNumbersThatCUECannotHoldAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a long exponent":            {"a: 1\nb: 1e100001\n", "modules/m/m.cue:2:4: evaluate: number 1e100001 is out of range"},
		"a negative one":             {"b: 1E-100001\n", "number 1E-100001 is out of range"},
		"a signed one":               {"b: 1e+100001\n", "number 1e+100001 is out of range"},
		"several":                    {"a: 1e100001\nb: 2e100001\n", "m.cue:2:4"},
		"digits in a text":           {"b: \"1e100001\"\n", ""},
		"digits in a comment":        {"// 1e100001\nb: 1\n", ""},
		"a long number":              {"b: 123456789012345678901234567890\n", ""},
		"an exponent that CUE holds": {"b: 1e00099\n", ""},
		"a short exponent":           {"b: 1e308\n", ""},
		"no CUE":                     {"b: 1e100001 {\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := evaluate.Module{Label: "modules/m", FS: fstest.MapFS{"m.cue": {Data: []byte("")}}}
			err := checkNumbers(m, &tree{laid: map[string]string{}}, "m.cue", []byte(c.text))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// A run of digits behind an e is found wherever it begins.
func TestAnExponentIsFoundAtEachPlace(t *testing.T) {
	for before := range 12 {
		text := "            "[:before] + "1e10000"
		require.True(t, mayExceed([]byte(text)), before)
		require.False(t, mayExceed([]byte("            "[:before]+"110000")), before)
	}
}
