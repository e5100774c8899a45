// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// explainSecondValue explains a colon, at column, in a place where no key can be.
func (f fault) explainSecondValue(column int) *object.Error {
	line := f.faultLine()
	if bytes.HasPrefix(line, []byte("--- ")) {
		return f.mistakeAt(f.line, 5, "write it on the next line", `a key on the line of "---"`)
	}
	if end := keyEnd(line); end > 0 && end < column {
		return f.mistakeAt(f.line, column, `quote the value, or write the second key on a line of its own`, `": " in a value that is not quoted`)
	}
	n := f.above(f.line)
	if n == 0 {
		return f.mistakeAt(f.line, column, "", `a "key: value" is not allowed here`)
	}
	before := f.text.line(n)
	switch {
	case keyEnd(before) == 0 && bytes.Count(before, []byte{'"'})%2 == 0:
		return f.explainNoValue(n)
	case indent(line) > textStart(before):
		return f.mistakeAt(f.line, indent(line)+1, fmt.Sprintf("indent it by %s, as line %d", printable.Count(textStart(before), "space"), n),
			"the indentation of %s is more than that of the key before it, which has a value already", printable.Count(indent(line), "space"))
	}
	return f.mistakeAt(f.line, column, "check the indentation of this line and of those before it", `a "key: value" is not allowed here`)
}

// plainKey matches a text that can stand before a colon, and beginsPlain the beginning of such a text.
var (
	plainKey    = regexp.MustCompile(`^[A-Za-z0-9_./-]*$`)
	beginsPlain = regexp.MustCompile(`^[A-Za-z0-9_./-]`)
)

// explainNoValue explains a line that has no key with a value.
func (f fault) explainNoValue(n int) *object.Error {
	line := f.text.line(n)
	offset := textStart(line)
	if offset > indent(line) {
		return f.mistakeAt(n, indent(line)+1, itemHint, itemMessage)
	}
	body := bytes.TrimRight(line[offset:], " ")
	name, value, colon := bytes.Cut(body, []byte{':'})
	beforeEquals, _, equals := bytes.Cut(body, []byte{'='})
	beforeEquals = bytes.TrimSpace(beforeEquals)
	hint := ""
	switch {
	case len(body) > 0 && (body[0] == '"' || body[0] == '\'') && quoted(body) == len(body):
		return f.mistakeAt(n, offset+1, "close it at the end of the text", "the quote is not closed")
	case len(body) > 1 && body[0] == '-' && body[1] != '-':
		hint = "write a space behind the dash"
	case string(body) == "--", bytes.HasPrefix(body, []byte("----")):
		hint = `documents are separated by "---"`
	case colon && len(value) > 0 && plainKey.Match(name):
		hint = "write a space behind the colon"
	case equals && plainKey.Match(beforeEquals):
		hint = `write ": " in place of "="`
	case beginsPlain.Match(body):
		hint = "write a colon behind it"
	}
	return f.mistakeAt(n, offset+1, hint, `expected "key: value"`)
}

// The message for a list item in a map, and its hint.
const (
	itemMessage = `a list item ("- ") among the keys of a map`
	itemHint    = "indent it as the items of its list, or more than the key that it belongs to"
)

// blockHeader matches a line that begins a block scalar.
var blockHeader = regexp.MustCompile(`(^|[ :-])[|>][-+0-9]*( +#.*)?$`)

// beginsBlock reports whether a line begins a block scalar, by its end.
func beginsBlock(line []byte) bool {
	const longest = 1 << 10
	return blockHeader.Match(line[max(0, len(line)-longest):])
}

// explainIndentation explains a line that begins in a column where no map or list is open.
func (f fault) explainIndentation() *object.Error {
	line := f.faultLine()
	column := indent(line)
	if len(line) > column && strings.IndexByte("]},:", line[column]) >= 0 {
		return f.explainTrailing(column + 1)
	}

	// The line continues one of the lines above.
	const most = 16 // levels that a message lists
	levels := []int{}
	lowest := 1 << 30
	for n := f.above(f.line); n > 0; n = f.above(n) {
		above := f.text.line(n)
		at := indent(above)
		if at < column && lowest > column && beginsBlock(above) {
			text := indent(f.text.line(f.below(n)))
			if f.below(n) == f.line && textStart(above) >= column {
				return f.mistakeAt(f.line, column+1, fmt.Sprintf("indent the text by more than its key in line %d", n),
					"the text that line %d begins is not deeper than its key", n)
			}
			if text <= column {
				return f.mistakeAt(f.line, column+1, "remove the spaces of the empty lines above",
					"an empty line before it is indented deeper than the text that line %d begins", n)
			}
			return f.mistakeAt(f.line, column+1, fmt.Sprintf("indent it by at least %s, as the text above", printable.Count(text, "space")),
				"the indentation of %s is less than that of the text that line %d begins", printable.Count(column, "space"), n)
		}
		if at >= lowest {
			continue
		}
		lowest = at
		for _, level := range []int{textStart(above), at} {
			if !slices.Contains(levels, level) {
				levels = append(levels, level)
			}
		}
		if at < column || len(levels) > most {
			break
		}
	}

	// If a line above has the same indentation, this line does not fit there.
	item := bytes.HasPrefix(line[column:], []byte("- "))
	switch {
	case item && slices.Contains(levels, column):
		return f.mistakeAt(f.line, column+1, itemHint, itemMessage)
	case f.message == noItem && slices.Contains(levels, column):
		return f.mistakeAt(f.line, column+1, `write "- " before it, or indent it as the key above the list, or as the text of the item`,
			`a key among the items of a list`)
	case len(levels) == 0 || slices.Contains(levels, column):
		return f.mistakeAt(f.line, column+1, "check the indentation of this line and of those before it",
			"the line does not continue what is above it")
	}
	return f.mistakeAt(f.line, column+1, "indent it by "+numbers(levels),
		"the indentation of %s matches no line above", printable.Count(column, "space"))
}

// below returns the line after n that is not empty.
func (f fault) below(n int) int {
	for n++; n < f.end && len(bytes.TrimSpace(f.text.line(n))) == 0; n++ {
	}
	return n
}

// numbers lists indentations, such as 2 or 4 spaces.
func numbers(levels []int) string {
	slices.Sort(levels)
	var out string
	for _, n := range levels[:len(levels)-1] {
		out += fmt.Sprint(n) + " or "
	}
	return out + printable.Count(levels[len(levels)-1], "space")
}

// explainTrailing explains text behind a value that has ended.
func (f fault) explainTrailing(column int) *object.Error {
	line := f.faultLine()
	if column > 1 && column <= len(line) && strings.IndexByte("&*!", line[column-2]) >= 0 {
		column--
	}
	after := line[min(column-1, len(line)):]
	before := bytes.TrimRight(line[:min(column-1, len(line))], " ")
	hint := "quote the whole value, or delete what stands behind it"
	switch {
	case bytes.HasPrefix(after, []byte{']'}), bytes.HasPrefix(after, []byte{'}'}):
		hint = "delete it, or open the bracket before it"
	case bytes.HasPrefix(after, []byte{':'}):
		hint = "write a key before the colon"
	case bytes.HasSuffix(before, []byte{'"'}):
		hint = `write \" for a quote inside of quotes, or put the text in single quotes`
	case bytes.HasSuffix(before, []byte{'\''}):
		hint = "write '' for a single quote inside of single quotes, or put the text in double quotes"
	}
	// Only marks are quoted: other text may be a password, and messages end up in logs.
	if len(after) > 0 && strings.IndexByte(":]},", after[0]) >= 0 {
		return f.mistakeAt(f.line, column, hint, "unexpected %q", after[:1])
	}
	return f.mistakeAt(f.line, column, hint, "unexpected text behind the value")
}

// bracket returns the bracket that is open where the parser stopped, or 0.
func (f fault) bracket() byte {
	line := f.text.line(f.open.Line)
	if f.open.Column < 1 || f.open.Column > len(line) {
		return 0
	}
	if c := line[f.open.Column-1]; c == '[' || c == '{' {
		return c
	}
	return 0
}

// explainFlow explains a mistake in a flow map or list, such as {a: [1, 2]}: a bracket that is not
// closed or is closed by another bracket, or a missing comma.
func (f fault) explainFlow() *object.Error {
	line := f.faultLine()
	open := f.bracket()
	closer := string(closing(open))
	after := line[min(f.column-1, len(line)):]
	own := indent(line)
	switch {
	case open == 0:
		return f.mistakeAt(f.line, f.column, "check commas and brackets", `expected "," or a closing bracket`)
	case len(bytes.TrimSpace(f.data[f.real[f.line-1]+len(line)-len(after):])) == 0, bytes.HasPrefix(line, []byte("---")),
		f.line > f.open.Line && own <= indent(f.text.line(f.open.Line)) && keyEnd(line) > 0 && line[own] != '"':
		return f.mistakeAt(f.open.Line, f.open.Column, fmt.Sprintf("write %q behind its last item", closer), "the %q is not closed", string(open))
	case after[0] == ']', after[0] == '}':
		if after[0] == closing(open) {
			break
		}
		return f.mistakeAt(f.line, f.column, fmt.Sprintf("write %q", closer),
			"%q does not close the %q of %d:%d", after[:1], string(open), f.open.Line, f.open.Column)
	case after[0] == ',':
		return f.mistakeAt(f.line, f.column, "delete it, or write a value before it", `unexpected ","`)
	}
	column := f.column
	if after[0] == ':' { // It follows the word that is too much.
		column = max(bytes.LastIndexAny(bytes.TrimRight(line[:column-1], " "), " {[,")+1, own) + 1
	}
	hint := "separate the items of a flow map or list by commas"
	if bytes.Contains(line, []byte("//")) || bytes.Contains(f.text.line(f.line-1), []byte("//")) {
		hint = `separate the items by commas; a comment begins with "#"`
	}
	return f.mistakeAt(f.line, column, hint, `expected "," or %q before this text`, closer)
}

// closing returns the bracket that closes a bracket.
func closing(open byte) byte {
	if open == '[' {
		return ']'
	}
	return '}'
}

// quoted returns the number of bytes behind the quote at the beginning of a text that belong to it.
func quoted(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && text[0] == '"':
			i++
		case text[i] == text[0]:
			return i
		}
	}
	return len(text)
}
