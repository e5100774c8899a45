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

// explainSecondValue explains a colon, at column, where no key can be.
func (f fault) explainSecondValue(column int) *object.Error {
	line := f.faultLine()
	if bytes.HasPrefix(line, []byte("--- ")) {
		return f.at(f.line, 5, "write it on the next line", `a key on the line of "---"`)
	}
	if end := keyEnd(line); end > 0 && end < column {
		return f.at(f.line, column, `quote the value, or write the second key on a line of its own`, `": " in a value that is not quoted`)
	}
	n := f.above(f.line)
	if n == 0 {
		return f.at(f.line, column, "", `a "key: value" is not allowed here`)
	}
	before := f.text.line(n)
	switch {
	case keyEnd(before) == 0 && bytes.Count(before, []byte{'"'})%2 == 0:
		return f.explainNoValue(n)
	case indent(line) > inner(before):
		return f.at(f.line, indent(line)+1, fmt.Sprintf("indent it by %s, as line %d", printable.Count(inner(before), "space"), n),
			"the indentation of %s is more than that of the key before it, which has a value already", printable.Count(indent(line), "space"))
	}
	return f.at(f.line, column, "check the indentation of this line and of those before it", `a "key: value" is not allowed here`)
}

// plainKey matches what can stand before a colon, and beginsPlain what begins with that.
var (
	plainKey    = regexp.MustCompile(`^[A-Za-z0-9_./-]*$`)
	beginsPlain = regexp.MustCompile(`^[A-Za-z0-9_./-]`)
)

// explainNoValue explains a line that has no key with a value.
func (f fault) explainNoValue(n int) *object.Error {
	line := f.text.line(n)
	at := inner(line)
	if at > indent(line) {
		return f.at(n, indent(line)+1, itemHint, itemMessage)
	}
	body := bytes.TrimRight(line[at:], " ")
	name, value, colon := bytes.Cut(body, []byte{':'})
	left, _, equals := bytes.Cut(body, []byte{'='})
	left = bytes.TrimSpace(left)
	hint := ""
	switch {
	case len(body) > 0 && (body[0] == '"' || body[0] == '\'') && quoted(body) == len(body):
		return f.at(n, at+1, "close it at the end of the text", "the quote is not closed")
	case len(body) > 1 && body[0] == '-' && body[1] != '-':
		hint = "write a space behind the dash"
	case string(body) == "--", bytes.HasPrefix(body, []byte("----")):
		hint = `documents are separated by "---"`
	case colon && len(value) > 0 && plainKey.Match(name):
		hint = "write a space behind the colon"
	case equals && plainKey.Match(left):
		hint = `write ": " in place of "="`
	case beginsPlain.Match(body):
		hint = "write a colon behind it"
	}
	return f.at(n, at+1, hint, `expected "key: value"`)
}

// What is wrong with a list item in a map, and what to do.
const (
	itemMessage = `a list item ("- ") among the keys of a map`
	itemHint    = "indent it as the items of its list, or more than the key that it belongs to"
)

// blockHeader matches a line that begins a block scalar.
var blockHeader = regexp.MustCompile(`(^|[ :-])[|>][-+0-9]*( +#.*)?$`)

// beginsBlock reports whether a line begins a block scalar: its end tells it.
func beginsBlock(line []byte) bool {
	const longest = 1 << 10
	return blockHeader.Match(line[max(0, len(line)-longest):])
}

// explainIndentation explains a line that begins in a column where nothing is open.
func (f fault) explainIndentation() *object.Error {
	line := f.faultLine()
	own := indent(line)
	if len(line) > own && strings.IndexByte("]},:", line[own]) >= 0 {
		return f.explainTrailing(own + 1)
	}

	// The line continues one of the lines above.
	const most = 16 // levels that a message lists
	levels := []int{}
	least := 1 << 30
	for n := f.above(f.line); n > 0; n = f.above(n) {
		above := f.text.line(n)
		at := indent(above)
		if at < own && least > own && beginsBlock(above) {
			text := indent(f.text.line(f.below(n)))
			if f.below(n) == f.line && inner(above) >= own {
				return f.at(f.line, own+1, fmt.Sprintf("indent the text by more than its key in line %d", n), "the text that line %d begins is not deeper than its key", n)
			}
			if text <= own {
				return f.at(f.line, own+1, "remove the spaces of the empty lines above", "an empty line before it is indented deeper than the text that line %d begins", n)
			}
			return f.at(f.line, own+1, fmt.Sprintf("indent it by at least %s, as the text above", printable.Count(text, "space")),
				"the indentation of %s is less than that of the text that line %d begins", printable.Count(own, "space"), n)
		}
		if at >= least {
			continue
		}
		least = at
		for _, level := range []int{inner(above), at} {
			if !slices.Contains(levels, level) {
				levels = append(levels, level)
			}
		}
		if at < own || len(levels) > most {
			break
		}
	}

	// If a line above has the same indentation, the text of this one does not fit there.
	item := bytes.HasPrefix(line[own:], []byte("- "))
	switch {
	case item && slices.Contains(levels, own):
		return f.at(f.line, own+1, itemHint, itemMessage)
	case f.message == noItem && slices.Contains(levels, own):
		return f.at(f.line, own+1, `write "- " before it, or indent it as the key above the list, or as the text of the item`, `a key among the items of a list`)
	case len(levels) == 0 || slices.Contains(levels, own):
		return f.at(f.line, own+1, "check the indentation of this line and of those before it", "the line does not continue what is above it")
	}
	return f.at(f.line, own+1, "indent it by "+numbers(levels), "the indentation of %s matches no line above", printable.Count(own, "space"))
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
	rest := line[min(column-1, len(line)):]
	before := bytes.TrimRight(line[:min(column-1, len(line))], " ")
	hint := "quote the whole value, or delete what stands behind it"
	switch {
	case bytes.HasPrefix(rest, []byte{']'}), bytes.HasPrefix(rest, []byte{'}'}):
		hint = "delete it, or open the bracket before it"
	case bytes.HasPrefix(rest, []byte{':'}):
		hint = "write a key before the colon"
	case bytes.HasSuffix(before, []byte{'"'}):
		hint = `write \" for a quote inside of quotes, or put the text in single quotes`
	case bytes.HasSuffix(before, []byte{'\''}):
		hint = "write '' for a single quote inside of single quotes, or put the text in double quotes"
	}
	// Only marks are quoted: the text may be a password, and messages end up in logs.
	if len(rest) > 0 && strings.IndexByte(":]},", rest[0]) >= 0 {
		return f.at(f.line, column, hint, "unexpected %q", rest[:1])
	}
	return f.at(f.line, column, hint, "unexpected text behind the value")
}

// bracket returns the bracket that is open where the parser stopped, or 0 if there is none.
func (f fault) bracket() byte {
	if line := f.text.line(f.open.Line); f.open.Column <= len(line) && f.open.Column > 0 && strings.IndexByte("[{", line[f.open.Column-1]) >= 0 {
		return line[f.open.Column-1]
	}
	return 0
}

// explainFlow explains a mistake in a flow map or list, such as {a: [1, 2]}: a bracket that is not
// closed or is closed by another, or a comma that is missing.
func (f fault) explainFlow() *object.Error {
	line := f.faultLine()
	open := f.bracket()
	last := string(closing(open))
	rest := line[min(f.column-1, len(line)):]
	own := indent(line)
	switch {
	case open == 0:
		return f.at(f.line, f.column, "check commas and brackets", `expected "," or a closing bracket`)
	case len(bytes.TrimSpace(f.data[f.real[f.line-1]+len(line)-len(rest):])) == 0, bytes.HasPrefix(line, []byte("---")),
		f.line > f.open.Line && own <= indent(f.text.line(f.open.Line)) && keyEnd(line) > 0 && line[own] != '"':
		return f.at(f.open.Line, f.open.Column, fmt.Sprintf("write %q behind its last item", last), "the %q is not closed", string(open))
	case rest[0] == ']', rest[0] == '}':
		if rest[0] == closing(open) {
			break
		}
		return f.at(f.line, f.column, fmt.Sprintf("write %q", last), "%q does not close the %q of %d:%d", rest[:1], string(open), f.open.Line, f.open.Column)
	case rest[0] == ',':
		return f.at(f.line, f.column, "delete it, or write a value before it", `unexpected ","`)
	}
	column := f.column
	if rest[0] == ':' { // It follows the word that is one too many.
		column = max(bytes.LastIndexAny(bytes.TrimRight(line[:column-1], " "), " {[,")+1, own) + 1
	}
	hint := "separate the items of a flow map or list by commas"
	if bytes.Contains(line, []byte("//")) || bytes.Contains(f.text.line(f.line-1), []byte("//")) {
		hint = `separate the items by commas; a comment begins with "#"`
	}
	return f.at(f.line, column, hint, `expected "," or %q before this text`, last)
}

// closing returns the bracket that closes another.
func closing(open byte) byte {
	if open == '[' {
		return ']'
	}
	return '}'
}

// quoted returns how many bytes behind the quote that a text begins with are part of it.
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
