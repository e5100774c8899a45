// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/object"
)

// Messages of the YAML library.
const (
	openQuote   = "found unexpected end of stream"
	openQuoteAt = "found unexpected document indicator"
	noKey       = "did not find expected key"
	noItem      = "did not find expected '-' indicator"
	noStart     = "did not find expected <document start>"
	noContent   = "did not find expected node content"
)

// fault is a syntax error of a document. The library's parser knows its place and, in
// its own terms, what it expected. explain turns that into words that help a user. It looks at the
// lines around, each a few times at most, and does not parse again: it costs less than reading the
// document did.
type fault struct {
	*text
	// first and end are the lines of the document; end is the line after it.
	first, end int
	// line and column are the place of the error, and message what the library reports.
	line, column int
	message      string
	// from is the beginning of the token that the parser was reading: a quote, or a possible key.
	from object.Pos
	// open is the innermost map or list that is still open.
	open object.Pos
}

// fault returns the facts that the library's parser has about err. The library exports only the line,
// and another line if it knows several; its parser has all of them, with columns.
func (t *text) fault(d *yaml.Decoder, base int, err error) fault {
	yamlParser := reflect.ValueOf(d).Elem().FieldByName("parser").Elem()
	parser := yamlParser.FieldByName("parser")
	pos := func(mark reflect.Value) object.Pos {
		line, column := mark.FieldByName("line").Int(), mark.FieldByName("column").Int()
		return t.pos(base+int(line), int(column)+1)
	}
	f := fault{text: t, message: strings.TrimPrefix(err.Error(), "yaml: ")}
	if line, message, ok := strings.Cut(f.message, ": "); ok && strings.HasPrefix(line, "line ") {
		f.message = message
	}
	at := pos(parser.FieldByName("problem_mark"))
	f.from = pos(parser.FieldByName("context_mark"))
	if marks := parser.FieldByName("marks"); marks.Len() > 0 {
		f.open = pos(marks.Index(marks.Len() - 1))
	}
	switch {
	case parser.FieldByName("problem").Len() == 0: // The text is well-formed, and an alias has no target.
		at = pos(yamlParser.FieldByName("event").FieldByName("start_mark"))
	case f.message == "could not find expected ':'":
		at = f.from // The scanner has read further.
	}
	f.line, f.column = at.Line, at.Column
	return f
}

// mistakeAt returns a mistake in a line. The column counts bytes from 1.
func (f fault) mistakeAt(line, column int, hint, format string, args ...any) *object.Error {
	return mistake(object.Pos{File: f.name, Line: line, Column: column}, nil, hint, format, args...)
}

// explain returns the mistake that the author most probably made.
func (f fault) explain() *object.Error {
	// Some mistakes confuse the parser wherever they are.
	if e := f.explainForeign(); e != nil {
		return e
	}
	if quote := f.openQuote(); quote.Line > 0 {
		e := f.mistakeAt(quote.Line, quote.Column, "close it at the end of the text", "the quote is not closed")
		severalOpen := f.open.Line > 0 && f.bracket() != 0
		if quote.Line < f.line && (f.message != openQuote || severalOpen) {
			e.Hint = fmt.Sprintf("close it at the end of the text: up to line %d all is taken as part of it", f.line)
		}
		return e
	}

	// The message and the line at fault tell what was expected.
	switch f.message {
	case "mapping values are not allowed in this context":
		return f.explainSecondValue(f.column)
	case "could not find expected ':'":
		return f.explainNoValue(f.line)
	case noKey, noItem:
		if f.column <= max(indent(f.faultLine())+1, keyEnd(f.faultLine())) {
			return f.explainIndentation()
		}
		return f.explainTrailing(f.column)
	case noContent:
		if f.bracket() == 0 {
			return f.explainTrailing(f.column)
		}
		return f.explainFlow()
	}
	if strings.HasPrefix(f.message, "did not find expected ',' or") {
		f.open = f.from // The parser has closed it already.
		return f.explainFlow()
	}
	return f.explainToken(f.column)
}

// explainToken explains errors inside one token.
func (f fault) explainToken(column int) *object.Error {
	after := f.faultLine()[min(column-1, len(f.faultLine())):]
	switch {
	case strings.HasPrefix(f.message, "unknown anchor '"):
		return f.mistakeAt(f.line, column, "define it in a line above, or quote the text", "no line above has the anchor of this alias")
	case f.message == "did not find expected alphabetic or numeric character":
		return f.mistakeAt(f.from.Line, f.from.Column, "quote the value", `"*" and "&" begin the name of an anchor`)
	case f.message == "found character that cannot start any token" && len(after) > 0 && after[0] != '\t':
		return f.mistakeAt(f.line, column, "quote the value", "a value must not begin with %q", after[:1])
	case f.message == "found unknown escape character", strings.Contains(f.message, "escape code"), strings.Contains(f.message, "hexdecimal"):
		return f.mistakeAt(f.line, f.before(column, `\`),
			`write \\ for a backslash, or put the text in single quotes`, "an escape that YAML does not know")
	case f.message == "did not find expected comment or line break", strings.Contains(f.message, "indentation indicator"):
		return f.mistakeAt(f.line, column, "begin the text on the next line; only an indentation of 1 to 9, + or - may follow",
			`unexpected text after "|" or ">"`)
	case strings.HasPrefix(f.message, "block sequence entries"):
		return f.mistakeAt(f.line, column, "begin the list on a line of its own", `a list item ("- ") is not allowed here`)
	case f.message == noStart && bytes.HasPrefix(f.faultLine(), []byte("{")):
		return f.mistakeAt(f.line, column, `begin it with a line "---"`, "a second value begins here")
	case f.message == noStart:
		return f.mistakeAt(f.line, column, `begin the next document with "---"`, `the document ended at "..."`)
	case strings.HasPrefix(f.message, "exceeded max depth"):
		return f.mistakeAt(f.line, column, "", "maps and lists are nested more than %d deep, which no flag allows", maxDepth)
	case strings.Contains(f.message, "incompatible YAML"):
		column = bytes.LastIndexByte(f.faultLine(), '.') + 2 // The version is not supported.
		fallthrough
	case strings.Contains(f.message, "directive"):
		return f.mistakeAt(f.line, column, "remove the line", "YAML directives (%%) other than %%YAML 1.1 and 1.2 are not supported")
	}
	return f.mistakeAt(f.line, column, "", "%s", f.message)
}

// faultLine returns the line at fault.
func (f fault) faultLine() []byte { return f.text.line(f.line) }

// explainForeign explains text that is not YAML at all, wherever the parser stopped.
func (f fault) explainForeign() *object.Error {
	if line := f.text.line(f.first); bytes.HasPrefix(line, []byte{'<'}) && !bytes.HasPrefix(line, []byte("<<")) {
		return f.mistakeAt(f.first, 1, "", "this looks like HTML or XML, not like YAML")
	}
	for n := f.first; n < f.end; n++ {
		line := f.text.line(n)
		if bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("<<<<<<< ")) {
			return f.mistakeAt(n, indent(line)+1, "keep one of the two texts and delete the lines <<<<<<<, ======= and >>>>>>>",
				"a merge conflict begins here that is not resolved")
		}
	}
	for n := f.line; n >= max(f.first, f.line-1); n-- {
		line := f.text.line(n)
		if offset, r := findBlank(line); offset >= 0 {
			return f.mistakeAt(n, offset+1, "write a space", "%U, which looks like a space, is none in YAML", r)
		}
		body := bytes.TrimLeft(line, " ")
		column := len(line) - len(body) + 1
		switch {
		case n < f.line:
		case bytes.HasPrefix(body, []byte{'\t'}), strings.HasPrefix(f.message, "found ") && bytes.Contains(dashes(body), []byte{'\t'}):
			return f.mistakeAt(n, bytes.IndexByte(line, '\t')+1, "indent with spaces", "a tab indents the line")
		case bytes.HasPrefix(body, []byte("```")):
			return f.mistakeAt(n, column, "keep only the lines of YAML", "a code fence of Markdown")
		case bytes.Contains(body, []byte("{{")), bytes.Contains(body, []byte("{%")):
			offset := max(bytes.Index(line, []byte("{{")), bytes.Index(line, []byte("{%")))
			return f.mistakeAt(n, offset+1, "render the template first: a spec is plain YAML; quote text that holds braces",
				"a template is not YAML")
		}
	}
	return nil
}

// findBlank returns the offset of a character that is invisible, or looks like a space, at a place
// where YAML requires a space: before the text, and behind a colon or a dash. It returns -1 if there
// is no such character.
func findBlank(line []byte) (int, rune) {
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		if isBlank(r) {
			if before := bytes.TrimRight(line[:i], " "); len(before) == 0 || before[len(before)-1] == ':' || before[len(before)-1] == '-' {
				return i, r
			}
		}
		i += size
	}
	return -1, 0
}

// dashes returns the beginning of a line before its first text: spaces, tabs and dashes.
func dashes(line []byte) []byte {
	return line[:len(line)-len(bytes.TrimLeft(line, " \t-"))]
}

// indent returns the number of spaces at the beginning of a line. The dash of a list item is text.
func indent(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

// textStart returns the offset of the text behind the dashes of list items.
func textStart(line []byte) int {
	offset := indent(line)
	for bytes.HasPrefix(line[offset:], []byte("- ")) {
		offset += 2 + indent(line[offset+2:])
	}
	return offset
}

// before returns the column of the last of some characters at or before a column, or the column
// itself.
func (f fault) before(column int, chars string) int {
	line := f.faultLine()
	return cmp.Or(bytes.LastIndexAny(line[:min(column, len(line))], chars)+1, column)
}

// openQuote returns the place of a quote that is not closed: the parser was reading it, or a quote
// that begins the next text closed it in the line of the fault. The line of the place is 0 if there is
// no such quote.
func (f fault) openQuote() object.Pos {
	if f.message == openQuote || f.message == openQuoteAt {
		return f.from
	}
	line := f.faultLine()
	begin := f.real[f.line-1]
	last := bytes.LastIndexAny(line[:min(f.column-1, len(line))], `"'`)
	if last < 0 {
		return object.Pos{}
	}
	first := bytes.LastIndexByte(f.data[f.real[f.first-1]:begin+last], line[last]) + f.real[f.first-1]
	if first < f.real[f.first-1] || first >= begin {
		return object.Pos{}
	}
	// A quote opens a text if it stands at a beginning, in a line where no quote of its kind is open.
	opening := f.posAt(first)
	before := f.text.line(opening.Line)[:opening.Column-1]
	if len(before) > 0 && strings.IndexByte(" [{,:", before[len(before)-1]) < 0 {
		return object.Pos{}
	}
	inQuotes := bytes.Count(before, line[last:last+1])%2 > 0
	inComment := bytes.HasPrefix(bytes.TrimLeft(before, " "), []byte{'#'}) || bytes.Contains(before, []byte(" #"))
	if inQuotes || inComment {
		return object.Pos{}
	}
	return opening
}

// above returns the line before n that is neither empty nor a comment, or 0.
func (f fault) above(n int) int {
	for n--; n >= f.first; n-- {
		if body := bytes.TrimSpace(f.text.line(n)); len(body) > 0 && body[0] != '#' {
			return n
		}
	}
	return 0
}

// hasKey matches a line that begins with a key.
var hasKey = regexp.MustCompile(`^[ -]*("[^"]*"|'[^']*'|[^:#"'{\[]([^:]|:[^ ])*):( |$)`)

// keyEnd returns the offset behind the key that a line begins with, its colon and its space. It
// returns 0 if the line has no key. YAML has no key of more than 1,024 characters.
func keyEnd(line []byte) int {
	const longest = 4 << 10
	if match := hasKey.FindIndex(line[:min(len(line), textStart(line)+longest)]); match != nil {
		return match[1]
	}
	return 0
}
