// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package depth_test

import (
	"strings"
	"testing"

	"cuelang.org/go/cue/parser"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/depth"
)

func TestWhatNestsTooDeeplyIsRefusedAtItsPlace(t *testing.T) {
	for name, part := range map[string]string{
		"terms":                 "1+",
		"terms over lines":      "1 +\n",
		"selectors":             "a.",
		"indices":               "a[0][",
		"fields":                "x: ",
		"optional fields":       "x?:\n",
		"brackets":              "[",
		"structs":               "{x:",
		"strings":               `"," + `,
		"strings over lines":    "\"\"\"\n,\n\"\"\" + ",
		"interpolations":        `"\(1),\(2)" + `,
		"interpolations inside": `"\(`,
		"calls":                 "f(1,",
		"commas inside":         "[1, 2] + ",
		"comments":              "1 + // , x\n",
	} {
		t.Run(name, func(t *testing.T) {
			head := "package p\n\n\ny: "
			err := depth.Check([]byte(head+strings.Repeat(part, depth.Max)+"1\n"), depth.Max)
			var deep *depth.Error
			require.ErrorAs(t, err, &deep)
			require.GreaterOrEqual(t, deep.Line, 4)
			require.Positive(t, deep.Column)
			require.NotEmpty(t, deep.Hint())
		})
	}
}

func TestWhatIsOnlyLongIsTaken(t *testing.T) {
	for name, part := range map[string]string{
		"fields":         "x: a.b + 1\n",
		"items":          "x: [\n1, 2 ]\n",
		"structs":        "x: {y: {z: 1}}, ",
		"calls":          "x: f(1, 2)(3)\n",
		"interpolations": `x: "\(1 + a["}"]),\(2)"` + "\n",
		"embedded":       "\"\\(a)\"\nx: \"\"\"\n\t\\(b[\"(\"]) \\(c)\n\t\"\"\"\n",
		"raw strings":    `x: #"\(((" \#(1)"#` + "\n",
		"bytes":          `x: '\(1)'` + "\n",
		"comments":       "// x: {[(\nx: 1 // {\n",
		"attributes":     "x: 1 @go(({[ )}])\n",
	} {
		t.Run(name, func(t *testing.T) {
			text := []byte(strings.Repeat(part, depth.Max))
			require.NoError(t, depth.Check(text, depth.Max))
		})
	}
	require.NoError(t, depth.Check([]byte(`x: "`+strings.Repeat("1+", 2<<20)+`"`), depth.Max))
}

// TestBrokenTextIsTheParsersToReport scans what the scanner may stumble over.
func TestBrokenTextIsTheParsersToReport(t *testing.T) {
	for _, text := range []string{`"\(`, `"\(]`, `"\(})`, `)`, `"`, "\"\"\"\n\\(", `#"\#(`, `"\(a)`, "\x00", "\xff", `@x(`} {
		_ = depth.Check([]byte(text+strings.Repeat("\n", depth.Max)), depth.Max)
		_ = depth.Check([]byte(strings.Repeat(text, depth.Max/len(text)+1)), depth.Max)
	}
}

// TestTheDeepestTextIsParsed: what is taken is far from what the stack holds.
func TestTheDeepestTextIsParsed(t *testing.T) {
	for _, part := range []string{"1+", "a."} {
		text := []byte("y: " + strings.Repeat(part, depth.Max/2-2) + "a\n")
		require.NoError(t, depth.Check(text, depth.Max))
		_, err := parser.ParseFile("x.cue", text)
		require.NoError(t, err)
	}
}

func BenchmarkCheck(b *testing.B) {
	text := []byte(strings.Repeat("// A comment of the usual length, about a field.\n#Port: {name?: string, port: int & >0 & <65536}\n", 10_000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := depth.Check(text, depth.Max); err != nil {
			b.Fatal(err)
		}
	}
}
