// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

// canaries has a text for each class of characters that a terminal obeys or hides.
var canaries = map[string]string{
	"colour": "a\x1b[31mb", "bell": "a\x07b", "backspace": "a\x08b", "start of line": "a\rropewalk: b", "C1": "a\u009b31mb", "DEL": "a\x7fb",
	"override": "a\u202eb", "isolate": "a\u2066b\u2069", "mark": "a\u200eb\u200f", "no width": "a\u200bb\u200d\ufeff", "separator": "a\u2028b",
	"new line": "a\nropewalk: b", "tab": "a\tb", "letters": "größer 誤り שלום",
}

func TestNoWriterPassesACanaryOn(t *testing.T) {
	for name, text := range canaries {
		t.Run(name, func(t *testing.T) {
			writers := map[string]func(a *App){
				"a note":          func(a *App) { a.Note("%s and %v\n", text, errors.New(text)) },
				"lines":           func(a *App) { require.NoError(t, a.Print(text+"\n")) },
				"an outcome":      func(a *App) { require.NoError(t, a.Outcome("text", nil, text+"\n")) },
				"data":            func(a *App) { require.NoError(t, a.Outcome("json", map[string]string{text: text}, "")) },
				"a table":         func(a *App) { require.NoError(t, a.Print(Table([][]string{{text, "x"}, {"y", text}}))) },
				"an error":        func(a *App) { a.Report().Fail(errors.New(text)) },
				"a usage":         func(a *App) { a.Report().Fail(Usagef(text, "unknown %s", text)) },
				"a mistake":       func(a *App) { a.Report().Fail(mistake(text)) },
				"a mistake, JSON": func(a *App) { a.JSON = true; a.Report().Fail(mistake(text)) },
				"an excerpt": func(a *App) {
					a.Texts = map[string][]byte{"f": []byte("x: " + text + "\n")}
					a.Report().Fail(object.Errors{{Pos: object.Pos{File: "f", Line: 1, Column: 4}, Err: errors.New("wrong")}})
				},
			}
			for writer, write := range writers {
				var out bytes.Buffer
				write(New(Streams{Out: &out, Err: &out}))
				if writer != "lines" && writer != "an outcome" { // which are of several lines
					require.NotContains(t, "\n"+out.String(), "\nropewalk: b", writer)
				}
				for _, r := range out.String() {
					require.True(t, unicode.IsGraphic(r) || r == '\n' || r == '\t', "%s: %q in %q", writer, r, out.String())
				}
				if name == "letters" {
					require.Contains(t, out.String(), text, writer)
				}
				if writer == "a table" {
					require.Equal(t, 2, strings.Count(out.String(), "\n"), writer)
				}
				if writer == "data" {
					var back map[string]string
					require.NoError(t, json.Unmarshal(out.Bytes(), &back))
					require.Equal(t, map[string]string{text: text}, back, "data is the same")
				}
			}
		})
	}
}

func mistake(text string) object.Errors {
	at := object.Pos{File: text, Line: 1, Column: 1}
	return object.Errors{{
		Pos: at, Path: text, Node: object.ID(text), Policy: text, Err: errors.New(text), Hint: text,
		Notes: []object.Note{{Pos: at, Text: text}},
	}}
}
