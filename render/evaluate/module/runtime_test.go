// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"testing"

	"cuelang.org/go/cue/cuecontext"
	"github.com/stretchr/testify/require"
)

func TestRuntimeValuesAreLiteralsOfCUE(t *testing.T) {
	tests := map[string]struct{ kind, text, want string }{
		"a number":                    {"number", "-12.5", "-12.5"},
		"a number of 30 digits":       {"number", "123456789012345678901234567890", "123456789012345678901234567890"},
		"a number with a unit":        {"number", "1Ki", "1024"},
		"a negative one":              {"number", "-1Ki", "-1024"},
		"a hexadecimal number":        {"number", "0x1E", "30"},
		"separators and a plus":       {"number", "+1_000", "1000"},
		"zero":                        {"number", "-0", "0"},
		"a number and an end of line": {"number", "5\n", "5"},
		"two numbers":                 {"number", "1 2", ""},
		"an expression":               {"number", "1+2", ""},
		"two signs":                   {"number", "--5", ""},
		"none":                        {"number", "", ""},
		"out of range":                {"number", "1e100001", ""},
		"text":                        {"string", "a\n\"b\" \\(x)", `"a\n\"b\" \\(x)"`},
		"a boolean":                   {"bool", "true\n", "true"},
		"no boolean":                  {"bool", "yes", ""},
		"no type":                     {"int", "1", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			expr, err := runtimeValue(tt.kind, tt.text)
			if tt.want == "" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			got, err := cuecontext.New().BuildExpr(expr).MarshalJSON()
			require.NoError(t, err)
			require.Equal(t, tt.want, string(got))
		})
	}
}
