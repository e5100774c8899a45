// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package markdown_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/markdown"
)

func TestTextOfOthers(t *testing.T) {
	for in, want := range map[string]struct{ code, cell, text, html string }{
		"shop/web":        {"`shop/web`", "`shop/web`", "shop/web", "shop/web"},
		"a|b":             {"`a|b`", "<code>a&#124;b</code>", "a&#124;b", "a|b"},
		"`a``":            {"``` `a`` ```", "``` `a`` ```", "\\`a\\`\\`", "`a``"},
		"<b> & _x_":       {"`<b> & _x_`", "`<b> & _x_`", `&lt;b&gt; &amp; \_x\_`, "&lt;b&gt; &amp; _x_"},
		"@all #1":         {"`@all #1`", "`@all #1`", "@&#8203;all #&#8203;1", "@&#8203;all #&#8203;1"},
		"!1 &2 $3 GH-4":   {"`!1 &2 $3 GH-4`", "`!1 &2 $3 GH-4`", `!&#8203;1 &amp;&#8203;2 \$&#8203;3 GH-&#8203;4`, "!&#8203;1 &amp;&#8203;2 $&#8203;3 GH-&#8203;4"},
		"a\u202e\nb":      {"`a\\u202e\\nb`", "`a\\u202e\\nb`", `a\\u202e\\nb`, `a\u202e\nb`},
		"https://x www.x": {"`https://x www.x`", "`https://x www.x`", "https:&#8203;//x www&#8203;.x", "https:&#8203;//x www&#8203;.x"},
	} {
		require.Equal(t, want.code, markdown.Code(in), in)
		require.Equal(t, want.cell, markdown.Cell(in), in)
		require.Equal(t, want.text, markdown.Text(in), in)
		require.Equal(t, want.html, markdown.HTML(in), in)
	}
	require.Empty(t, markdown.Cell(""))
	require.Equal(t, "````diff\n```\n````\n", markdown.Fenced("diff", "```\n"))
}
