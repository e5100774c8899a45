// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// secondValue explains a colon, at column, where no key can be.
func (f fault) secondValue(column int) *object.Error {
	line := f.line1()
	if bytes.HasPrefix(line, []byte("--- ")) {
		return f.at(f.line, 5, "write it on the next line", `a key on the line of "---"`)
	}
	key := hasKey.FindIndex(line)
	if key != nil && key[1] < column {
		return f.at(f.line, column, `quote the value, or write the second key on a line of its own`, `": " in a value that is not quoted`)
	}
	n := f.above(f.line)
	if n == 0 {
		return f.at(f.line, column, "", `a "key: value" is not allowed here`)
	}
	before := f.text.line(n)
	switch {
	case !hasKey.Match(before) && bytes.Count(before, []byte{'"'})%2 == 0:
		return f.noValue(n)
	case indent(line) > inner(before):
		return f.at(f.line, indent(line)+1, fmt.Sprintf("indent it by %s, as line %d", blanks(inner(before)), n),
			"the indentation of %s is more than that of the key before it, which has a value already", blanks(indent(line)))
	}
	return f.at(f.line, column, "check the indentation of this line and of those before it", `a "key: value" is not allowed here`)
}

// plainKey matches what can stand before a colon.
var plainKey = regexp.MustCompile(`^[A-Za-z0-9_./-]+`)

// noValue explains a line that has no key with a value.
func (f fault) noValue(n int) *object.Error {
	line := f.text.line(n)
	at := inner(line)
	if at > indent(line) {
		return f.at(n, indent(line)+1, itemHint, itemMessage)
	}
	body := string(bytes.TrimRight(line[at:], " "))
	name, value, colon := strings.Cut(body, ":")
	left, _, equals := strings.Cut(body, "=")
	left = strings.TrimSpace(left)
	hint := ""
	switch {
	case body != "" && (body[0] == '"' || body[0] == '\'') && quoted([]byte(body)) == len(body):
		return f.at(n, at+1, "close it at the end of the text", "the quote is not closed")
	case len(body) > 1 && body[0] == '-' && body[1] != '-':
		hint = "write a space behind the dash"
	case body == "--", strings.HasPrefix(body, "----"):
		hint = `documents are separated by "---"`
	case colon && value != "" && plainKey.FindString(name) == name:
		hint = "write a space behind the colon"
	case equals && plainKey.FindString(left) == left:
		hint = `write ": " in place of "="`
	case plainKey.MatchString(body):
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

// indentation explains a line that begins in a column where nothing is open.
func (f fault) indentation() *object.Error {
	line := f.line1()
	own := indent(line)
	if len(line) > own && strings.IndexByte("]},:", line[own]) >= 0 {
		return f.trailing(own + 1)
	}
	levels, least := []int{}, 1<<30
	for n := f.above(f.line); n > 0; n = f.above(n) {
		above := f.text.line(n)
		at := indent(above)
		if blockHeader.Match(above) && at < own && least > own {
			text := indent(f.text.line(f.below(n)))
			if f.below(n) == f.line && inner(above) >= own {
				return f.at(f.line, own+1, fmt.Sprintf("indent the text by more than its key in line %d", n), "the text that line %d begins is not deeper than its key", n)
			}
			if text <= own {
				return f.at(f.line, own+1, "remove the spaces of the empty lines above", "an empty line before it is indented deeper than the text that line %d begins", n)
			}
			return f.at(f.line, own+1, fmt.Sprintf("indent it by at least %s, as the text above", blanks(text)),
				"the indentation of %s is less than that of the text that line %d begins", blanks(own), n)
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
		if at < own {
			break
		}
	}
	item := bytes.HasPrefix(line[own:], []byte("- "))
	switch {
	case item && slices.Contains(levels, own):
		return f.at(f.line, own+1, itemHint, itemMessage)
	case f.message == noItem && slices.Contains(levels, own):
		return f.at(f.line, own+1, `write "- " before it, or indent it as the key above the list, or as the text of the item`, `a key among the items of a list`)
	case len(levels) == 0 || slices.Contains(levels, own):
		return f.at(f.line, own+1, "check the indentation of this line and of those before it", "the line does not continue what is above it")
	}
	return f.at(f.line, own+1, "indent it by "+numbers(levels), "the indentation of %s matches no line above", blanks(own))
}

// below is the line after n that is not empty.
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
	return out + blanks(levels[len(levels)-1])
}

func blanks(n int) string {
	if n == 1 {
		return "1 space"
	}
	return fmt.Sprintf("%d spaces", n)
}

// trailing explains text behind a value that has ended.
func (f fault) trailing(column int) *object.Error {
	line := f.line1()
	if column > 1 && column <= len(line) && strings.IndexByte("&*!", line[column-2]) >= 0 {
		column--
	}
	rest := string(line[min(column-1, len(line)):])
	before := bytes.TrimRight(line[:min(column-1, len(line))], " ")
	hint := "quote the whole value, or delete what stands behind it"
	switch {
	case strings.HasPrefix(rest, "]"), strings.HasPrefix(rest, "}"):
		hint = "delete it, or open the bracket before it"
	case strings.HasPrefix(rest, ":"):
		hint = "write a key before the colon"
	case bytes.HasSuffix(before, []byte{'"'}):
		hint = `write \" for a quote inside of quotes, or put the text in single quotes`
	case bytes.HasSuffix(before, []byte{'\''}):
		hint = "write '' for a single quote inside of single quotes, or put the text in double quotes"
	}
	// Only marks are quoted: the text may be a password, and messages end up in logs.
	if rest != "" && strings.IndexByte(":]},", rest[0]) >= 0 {
		return f.at(f.line, column, hint, "unexpected %q", rest[:1])
	}
	return f.at(f.line, column, hint, "unexpected text behind the value")
}

// bracket is one that is open in a flow map or list.
type bracket struct {
	line, column int
	char         byte
}

// flow explains a mistake in the flow map or list, such as {a: [1, 2]}, that the line at
// fault begins: a bracket that is not closed or is closed by another, or a comma that
// is missing.
func (f fault) flow(column int) *object.Error {
	var open []bracket
	first := f.flowStart()
	base := indent(f.text.line(first))
	for n := first; n < f.end; n++ {
		line := f.text.line(n)
		body := bytes.TrimSpace(line)
		if n > first && len(open) > 0 && len(body) > 0 && indent(line) <= base && hasKey.Match(line) && line[indent(line)] != '"' {
			break
		}
		for i := 0; i < len(line); i++ {
			c := line[i]
			switch {
			case c == '#' && (i == 0 || line[i-1] == ' '):
				i = len(line)
			case (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" ,[{:", line[i-1]) >= 0):
				i += quoted(line[i:])
			case c == '[' || c == '{':
				open = append(open, bracket{n, i + 1, c})
			case (c == ']' || c == '}') && len(open) > 0:
				last := open[len(open)-1]
				if c != closing(last.char) {
					return f.at(n, i+1, fmt.Sprintf("write %q", string(closing(last.char))), "%q does not close the %q of %d:%d", string(c), string(last.char), last.line, last.column)
				}
				open = open[:len(open)-1]
			}
			if n >= f.line && len(open) > 0 && (i+1 >= len(line) || line[i] == ' ' || strings.IndexByte(" ,]}", line[i+1]) >= 0) {
				if e := f.missing(n, min(i+1, len(line)), open); e != nil {
					return e
				}
			}
		}
	}
	if len(open) == 0 {
		return f.at(f.line, column, "check commas and brackets", `expected "," or a closing bracket`)
	}
	last := open[len(open)-1]
	return f.at(last.line, last.column, fmt.Sprintf("write %q behind its last item", string(closing(last.char))), "the %q is not closed", string(last.char))
}

// flowStart is the line in which the flow that is open at the line at fault begins.
func (f fault) flowStart() int {
	inside := func(n int) bool { return n > f.first && isFlow(f.probe(f.real[n-1], "")) }
	high, low := f.line, f.line
	for step := 1; low > f.first && inside(low); step *= 2 {
		high, low = low, max(low-step, f.first)
	}
	for low+1 < high {
		if middle := (low + high) / 2; inside(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return low
}

// missing reports the word that ends before an offset of a line, if the flow is not
// well-formed up to there even with its brackets closed.
func (f fault) missing(n, to int, open []bracket) *object.Error {
	var more []byte
	for i := len(open) - 1; i >= 0; i-- {
		more = append(more, closing(open[i].char))
	}
	message := f.probe(f.real[n-1]+to, string(more))
	if !isFlow(message) {
		return nil
	}
	line := f.text.line(n)
	begin := max(bytes.LastIndexAny(bytes.TrimRight(line[:to], " "), " {[,")+1, indent(line))
	hint := "separate the items of a flow map or list by commas"
	if bytes.Contains(line, []byte("//")) || n > f.line && bytes.Contains(f.text.line(n-1), []byte("//")) {
		hint = `separate the items by commas; a comment begins with "#"`
	}
	return f.at(n, begin+1, hint, `expected "," or %q before this text`, string(closing(open[len(open)-1].char)))
}

// isFlow reports whether a message of the library is about a flow map or list.
func isFlow(message string) bool {
	return strings.HasPrefix(message, "did not find expected ',' or") || message == "did not find expected node content"
}

// closing is the bracket that closes another.
func closing(open byte) byte {
	if open == '[' {
		return ']'
	}
	return '}'
}

// quoted is how many bytes behind the quote that a text begins with are part of it.
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
