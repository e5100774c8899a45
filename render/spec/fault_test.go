// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSyntaxErrorsSayWhatToDo(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a second colon":                     {"a: b: c\n", `f:1:5: spec: ": " in a value that is not quoted (quote the value, or write the second key on a line of its own)`},
		"a URL without quotes":               {"host: web: 8080\n", `f:1:10: spec: ": " in a value that is not quoted (quote the value, or write the second key on a line of its own)`},
		"a deeper key after a value":         {"a:\n  b: 1\n    c: 2\n", `f:3:5: spec: the indentation of 4 spaces is more than that of the key before it, which has a value already (indent it by 2 spaces, as line 2)`},
		"a deeper key in a list item":        {"- a: 1\n    b: 2\n", `f:2:5: spec: the indentation of 4 spaces is more than that of the key before it, which has a value already (indent it by 2 spaces, as line 1)`},
		"a shallower key":                    {"a:\n    b: 1\n   c: 2\n", `f:3:4: spec: the indentation of 3 spaces matches no line above (indent it by 0 or 4 spaces)`},
		"no space after a colon":             {"a: 1\nb:2\n", `f:2:1: spec: expected "key: value" (write a space behind the colon)`},
		"no space after a colon, then a key": {"a:2\nb: 1\n", `f:1:1: spec: expected "key: value" (write a space behind the colon)`},
		"two dashes between documents":       {"a: 1\n--\nb: 2\n", `f:2:1: spec: expected "key: value" (documents are separated by "---")`},
		"documents without a separator":      {"apiVersion: v1\nkind: A\napiVersion: v1\nb: 1\n", `f:3:1: spec: key "apiVersion" is written twice, first at line 1 (a second document begins with a line "---")`},
		"no space after a dash":              {"a:\n- b\n-c\n", `f:3:1: spec: expected "key: value" (write a space behind the dash)`},
		"an equals sign":                     {"a: 1\nb = 2\n", `f:2:1: spec: expected "key: value" (write ": " in place of "=")`},
		"no colon before a map":              {"a: 1\nb\n  c: 1\n", `f:2:1: spec: expected "key: value" (write a colon behind it)`},
		"a conflict":                         {"a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> x\n", `f:2:1: spec: a merge conflict begins here that is not resolved (keep one of the two texts and delete the lines <<<<<<<, ======= and >>>>>>>)`},
		"a conflict after a block":           {"a: |\n  x\n<<<<<<< HEAD\n  y\n=======\n  z\n>>>>>>> x\n", `f:3:1: spec: a merge conflict begins here that is not resolved (keep one of the two texts and delete the lines <<<<<<<, ======= and >>>>>>>)`},
		"a tab after spaces":                 {"a:\n  \tb: 1\n", `f:2:3: spec: a tab indents the line (indent with spaces)`},
		"a tab in a list":                    {"a:\n  -\t\tk: v\n", `f:2:4: spec: a tab indents the line (indent with spaces)`},
		"a template":                         {"a: 1\n{{- if .x }}\nb: 1\n{{- end }}\n", `f:2:1: spec: a template is not YAML (render the template first: a spec is plain YAML; quote text that holds braces)`},
		"a template in a value":              {"a: {{ .x }}\n", `f:1:5: spec: a key must be text, not a map or a list (quote the value if its braces are text; a template must be rendered first)`},
		"a fence":                            {"```yaml\na: 1\n```\n", `f:1:1: spec: a code fence of Markdown (keep only the lines of YAML)`},
		"a no-break space that indents":      {"a:\n\u00a0 b: 1\n  c: 2\n", `f:2:1: spec: U+00A0, which looks like a space, is none in YAML (write a space)`},
		"a no-break space after a colon":     {"a: 1\nb:\u00a02\n", `f:2:3: spec: U+00A0, which looks like a space, is none in YAML (write a space)`},
		"a zero width space in a key":        {"a: 1\n\u200bb: 2\n", `f:2:1: spec: the key has an invisible character (U+200B) (write "b")`},
		"a byte order mark in a key":         {"a: 1\n\ufeffb: 2\n", `f:2:1: spec: the key has an invisible character (U+FEFF) (write "b")`},
		"a quote in quotes":                  {"a: \"b \"c\" d\"\n", `f:1:8: spec: unexpected text behind the value (write \" for a quote inside of quotes, or put the text in single quotes)`},
		"a single quote in quotes":           {"a: 'it's'\n", `f:1:8: spec: unexpected text behind the value (write '' for a single quote inside of single quotes, or put the text in double quotes)`},
		"text after a quote":                 {"a: \"b\" c\n", `f:1:8: spec: unexpected text behind the value (write \" for a quote inside of quotes, or put the text in single quotes)`},
		"a quote that a later one closes":    {"a: \"b\nc: \"d\"\n", `f:1:4: spec: the quote is not closed (close it at the end of the text: up to line 2 all is taken as part of it)`},
		"a single quote that is not closed":  {"a: 1\nb: 'x\nc: 2\n", `f:2:4: spec: the quote is not closed (close it at the end of the text)`},
		"a key whose quote is open":          {"a: 1\n\"b: 2\n", `f:2:1: spec: the quote is not closed (close it at the end of the text)`},
		"an open quote after a closed one":   {"a: {b: \"x\", c: \"y}\nd: 1\n", `f:1:16: spec: the quote is not closed (close it at the end of the text: up to line 3 all is taken as part of it)`},
		"a bracket too many":                 {"a: [1]]\n", `f:1:7: spec: unexpected "]" (delete it, or open the bracket before it)`},
		"another bracket":                    {"a: [1, {b: 2]\n", `f:1:13: spec: "]" does not close the "{" of 1:8 (write "}")`},
		"a flow map over lines":              {"a: {b: 1,\n  c: 2\nd: 3\n", `f:1:4: spec: the "{" is not closed (write "}" behind its last item)`},
		"no comma":                           {"a: {b: 1 c: 2}\n", `f:1:10: spec: expected "," or "}" before this text (separate the items of a flow map or list by commas)`},
		"a comment of JSON":                  {"{\"a\": 1, // one\n \"b\": 2}\n", `f:2:2: spec: expected "," or "}" before this text (separate the items by commas; a comment begins with "#")`},
		"a block with less":                  {"a: |\n    b\n   c\nd: 1\n", `f:3:4: spec: the indentation of 3 spaces is less than that of the text that line 1 begins (indent it by at least 4 spaces, as the text above)`},
		"a block with an indicator":          {"a: |x\n  b\n", `f:1:5: spec: unexpected text after "|" or ">" (begin the text on the next line; only an indentation of 1 to 9, + or - may follow)`},
		"text behind a block":                {"a: | b\n  c\n", `f:1:6: spec: unexpected text after "|" or ">" (begin the text on the next line; only an indentation of 1 to 9, + or - may follow)`},
		"text as its key":                    {"a:\n- b: |-\n  - c\n", `f:3:3: spec: the text that line 2 begins is not deeper than its key (indent the text by more than its key in line 2)`},
		"a deeper empty line":                {"a: |\n    \n  b\n", `f:3:3: spec: an empty line before it is indented deeper than the text that line 1 begins (remove the spaces of the empty lines above)`},
		"a list in a line":                   {"a: - b\n", `f:1:4: spec: a list item ("- ") is not allowed here (begin the list on a line of its own)`},
		"an item in a map":                   {"a:\n  b: 1\n  - c\n", `f:3:3: spec: a list item ("- ") among the keys of a map (indent it as the items of its list, or more than the key that it belongs to)`},
		"a key in a list":                    {"a:\n  - b\n  c: 1\n", `f:3:3: spec: a key among the items of a list (write "- " before it, or indent it as the key above the list, or as the text of the item)`},
		"an item that is too deep":           {"a:\n    - b\n   - c\n", `f:3:4: spec: the indentation of 3 spaces matches no line above (indent it by 0 or 4 or 6 spaces)`},
		"an alias before its anchor":         {"a: *b\nc: &b 1\n", `f:1:4: spec: no line above has the anchor of this alias (define it in a line above, or quote the text)`},
		"a wildcard":                         {"a: *.example.com\n", `f:1:4: spec: "*" and "&" begin the name of an anchor (quote the value)`},
		"two anchors":                        {"a: &b &c 1\n", `f:1:7: spec: unexpected text behind the value (quote the whole value, or delete what stands behind it)`},
		"an at sign":                         {"a: @b\n", `f:1:4: spec: a value must not begin with "@" (quote the value)`},
		"a percent sign":                     {"a: %b\n", `f:1:4: spec: a value must not begin with "%" (quote the value)`},
		"a backslash":                        {"a: \"C:\\dir\"\n", `f:1:7: spec: an escape that YAML does not know (write \\ for a backslash, or put the text in single quotes)`},
		"an escape of hexadecimal digits":    {"a: \"\\xZZ\"\n", `f:1:5: spec: an escape that YAML does not know (write \\ for a backslash, or put the text in single quotes)`},
		"another version of YAML":            {"%YAML 3.0\n---\na: 1\n", `f:1:9: spec: YAML directives (%) other than %YAML 1.1 and 1.2 are not supported (remove the line)`},
		"a first line that is indented":      {" a: 1\nb: 1\n", "f:1:1: spec: the first line of the document is indented, and those below are not (remove the spaces at its beginning)"},
		"an indented line after others":      {"a: 1\n---\n\n  # c\n  a: 1\nb: 1\n", "f:5:1: spec: the first line of the document is indented, and those below are not (remove the spaces at its beginning)"},
		"JSON in lines":                      {" {\"a\": 1}\n{\"b\": 1}\n", `f:2:1: spec: a second value begins here (begin it with a line "---")`},
		"a document after dots":              {"a: 1\n...\nb: 1\n", `f:3:1: spec: the document ended at "..." (begin the next document with "---")`},
		"a key at the dashes":                {"--- a: 1\nb: 2\n", `f:1:5: spec: a key on the line of "---" (write it on the next line)`},
		"line ends of CR":                    {"a:\r  b: 1\r c: 2\r", `f:3:2: spec: the indentation of 1 space matches no line above (indent it by 0 or 2 spaces)`},
		"line ends of CRLF":                  {"a:\r\n  b: 1\r\n c: 2\r\n", `f:3:2: spec: the indentation of 1 space matches no line above (indent it by 0 or 2 spaces)`},
		"HTML":                               {"<!DOCTYPE html>\n<p>a: b\n", `f:1:1: spec: this looks like HTML or XML, not like YAML`},
		"a colon without a key":              {"a: 1\n: 2\n", `f:2:1: spec: unexpected ":" (write a key before the colon)`},
		"Latin-1":                            {"a: gr\xfcn\n", `f:1:6: spec: byte 0xfc is not valid UTF-8: in Latin-1 it is "ü" (save the file as UTF-8)`},
		"a number near 0":                    {"a: 1e-400\n", `f:1:4: spec: number 1e-400 is too close to 0 for a 64-bit float (quote it if it is text)`},
		"an integer that is none":            {"a: !!int x\n", `f:1:4: spec: what stands behind the tag !!int is not an integer (leave the tag out if it is text)`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := value(c.text)
			require.Equal(t, []string{c.want}, lines(err))
		})
	}
}

func TestSyntaxErrorsQuoteNoSecret(t *testing.T) {
	for _, line := range []string{
		`a: "x" hunter2`, "a hunter2", "a:hunter2", "a=hunter2", "-hunter2", `a: x: hunter2`, "a: |hunter2", "a: [x, hunter2", "a: {b: 1 hunter2: 3}", "a: *hunter2",
		`"hunter2`, "a: @hunter2", `a: "\hunter2"`, "a: hunter2\n   b: c", "a: {b: 1} hunter2: 3", "--- hunter2: a",
	} {
		_, err := value("kind: Secret\nstringData:\n  " + line + "\n  z: 1\n")
		require.NotContains(t, strings.Join(lines(err), "\n"), "hunter2", line)
	}
}

func TestSyntaxErrorsOfLargeFilesAreBounded(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"at the end": {
			strings.Repeat("x: |\n  "+strings.Repeat("t", 100)+"\n", 20_000) + " z: 1\n",
			"f:40001:2: spec: the indentation of 1 space is less than that of the text that line 39999 begins (indent it by at least 2 spaces, as the text above)",
		},
		"a quote":   {"a: \"" + strings.Repeat("a: {b: [1, 2], c: \"x\"}\n", 20_000), `f:1:24: spec: unexpected text behind the value (write \" for a quote inside of quotes, or put the text in single quotes)`},
		"a bracket": {"a: [" + strings.Repeat("\n  x,", 10_000), `f:1:4: spec: the "[" is not closed (write "]" behind its last item)`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := value(c.text)
			require.Equal(t, []string{c.want}, lines(err))
		})
	}
	_, err := value(strings.Repeat("a: b: c\n---\n", 5_000))
	require.Len(t, lines(err), 5_000)
}
