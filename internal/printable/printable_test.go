// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package printable_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/printable"
)

func TestText(t *testing.T) {
	for name, tt := range map[string]struct{ in, text, line string }{
		"plain":             {"a b", "a b", "a b"},
		"letters":           {"Grüße, 世界, שלום, नमस्ते, e\u0301", "Grüße, 世界, שלום, नमस्ते, e\u0301", "Grüße, 世界, שלום, नमस्ते, e\u0301"},
		"signs":             {"…→├≤€😀\u00a0\u3000", "…→├≤€😀\u00a0\u3000", "…→├≤€😀\u00a0\u3000"},
		"lines and tabs":    {"a\n\tb", "a\n\tb", `a\n\tb`},
		"the start of line": {"a\rb", `a\rb`, `a\rb`},
		"colours":           {"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`, `\x1b[31mred\x1b[0m`},
		"C0 and DEL":        {"\x00\x07\x08\x7f", `\x00\x07\x08\x7f`, `\x00\x07\x08\x7f`},
		"C1":                {"\u0085\u009b31m", `\u0085\u009b31m`, `\u0085\u009b31m`},
		"embeddings":        {"\u202a\u202b\u202c\u202d\u202e", `\u202a\u202b\u202c\u202d\u202e`, `\u202a\u202b\u202c\u202d\u202e`},
		"isolates":          {"\u2066\u2067\u2068\u2069", `\u2066\u2067\u2068\u2069`, `\u2066\u2067\u2068\u2069`},
		"marks":             {"\u200e\u200f\u061c", `\u200e\u200f\u061c`, `\u200e\u200f\u061c`},
		"nothing to see":    {"\u200b\u200c\u200d\u2060\ufeff\u00ad", `\u200b\u200c\u200d\u2060\ufeff\u00ad`, `\u200b\u200c\u200d\u2060\ufeff\u00ad`},
		"separators":        {"a\u2028b\u2029", `a\u2028b\u2029`, `a\u2028b\u2029`},
		"tags":              {"\U000e0041", `\U000e0041`, `\U000e0041`},
		"not UTF-8":         {"a\xff\xc3", `a\xff\xc3`, `a\xff\xc3`},
		"a replacement":     {"a\uFFFD\x1b", "a\uFFFD\\x1b", "a\uFFFD\\x1b"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.text, printable.Text(tt.in))
			require.Equal(t, tt.line, printable.Line(tt.in))
			require.Equal(t, tt.text, printable.Text(tt.text), "once is enough")
		})
	}
}

func TestLinef(t *testing.T) {
	require.Equal(t, "a\\nb \\x1b 1s 5\n", printable.Linef("%s %v %s %d\n", "a\nb", errors.New("\x1b"), time.Second, 5))
}
