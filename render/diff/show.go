// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// textWidth limits a name, a path or a sentence in a report, in bytes: a longer text is of no use
// to a reader, and an object may hold megabytes of it.
const textWidth = 600

// JSON returns the report as indented JSON that is safe on a terminal: everything that is not
// printable is escaped.
func (r Report) JSON() ([]byte, error) { return encode(r) }

// Named is the report of one of several projects.
type Named struct {
	// Project is the path of the project, below the folder of all.
	Project string `json:"project"`
	Report
}

// Reports are the reports of several projects.
type Reports []Named

// JSON returns the reports as a list, in the form of [Report.JSON].
func (r Reports) JSON() ([]byte, error) { return encode(append(Reports{}, r...)) }

func encode(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, c := range string(data) {
		switch {
		case c == '\n' || unicode.IsPrint(c):
			b.WriteRune(c)
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	b.WriteByte('\n')
	return []byte(b.String()), nil
}

// Show returns a value on one line, as JSON, cut at width bytes of text. Characters that are not
// printable are escaped.
func Show(v any, width int) string { return printable.Cut(oneLine(v), width, "…") }

// showBoth returns two values as Show does. If they begin with the same width bytes, they are
// shown from shortly before the first difference.
func showBoth(before, after any, width int) (string, string) {
	old, now := oneLine(before), oneLine(after)
	if old == now || printable.Cut(old, width, "…") != printable.Cut(now, width, "…") {
		return printable.Cut(old, width, "…"), printable.Cut(now, width, "…")
	}
	from := 0
	for from < len(old) && from < len(now) && old[from] == now[from] {
		from++
	}
	from = runeStart(old, max(0, from-width/4))
	return "…" + printable.Cut(old[from:], width, "…"), "…" + printable.Cut(now[from:], width, "…")
}

// oneLine returns a value as JSON on one line, or "" for a missing value.
func oneLine(v any) string {
	if v == nil {
		return ""
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return printable.Line(fmt.Sprint(v))
	}
	return printable.Line(strings.TrimSpace(b.String()))
}

// shown returns a name, a path or a sentence in a form that may go to a terminal.
func shown(text string) string { return printable.Cut(printable.Line(text), textWidth, "…") }

// runeStart returns the last index up to at where a character begins.
func runeStart(text string, offset int) int {
	for offset > 0 && offset < len(text) && !utf8.RuneStart(text[offset]) {
		offset--
	}
	return offset
}
