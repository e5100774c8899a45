// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// maxProbed bounds how many bytes of a file are parsed again to find the place of its
// syntax errors. Beyond it an error points to the beginning of its line.
const maxProbed = 2 << 20

// Messages of the YAML library.
const (
	openQuote   = "found unexpected end of stream"
	openQuoteAt = "found unexpected document indicator"
	noKey       = "did not find expected key"
	noItem      = "did not find expected '-' indicator"
)

// fault is a syntax error of a document. The library tells its line and, in its own
// terms, what the parser was looking for. explain turns that into the place and the
// words that a user needs: it looks at the lines around, and parses the text up to
// some place to see whether the error is there already.
type fault struct {
	*text
	// first and end are the lines of the document; end is the one after it.
	first, end int
	// line is the line at fault, and message what the library reports.
	line    int
	message string
}

// at is a mistake in a line; column counts bytes from 1.
func (f fault) at(line, column int, hint, format string, args ...any) *object.Error {
	return mistake(object.Pos{File: f.name, Line: line, Column: column}, nil, hint, format, args...)
}

func (f fault) explain() *object.Error {
	if e := f.foreign(); e != nil {
		return e
	}
	if line, column := f.openQuote(); line > 0 {
		e := f.at(line, column, "close it at the end of the text", "the quote is not closed")
		if line < f.line {
			e.Hint = fmt.Sprintf("close it at the end of the text: up to line %d all is taken as part of it", f.line)
		}
		return e
	}
	column := f.column()
	switch f.message {
	case "mapping values are not allowed in this context":
		return f.secondValue(column)
	case "could not find expected ':'":
		return f.noValue(f.line)
	case noKey, noItem:
		if key := hasKey.FindIndex(f.line1()); column == indent(f.line1())+1 || key != nil && column <= key[1] {
			return f.indentation()
		}
		return f.trailing(column)
	}
	if isFlow(f.message) {
		return f.flow(column)
	}
	return f.token(column)
}

// token explains errors inside one token.
func (f fault) token(column int) *object.Error {
	rest := string(f.line1()[min(column-1, len(f.line1())):])
	alias, isAlias := strings.CutPrefix(f.message, "unknown anchor '")
	switch {
	case isAlias:
		alias = strings.TrimSuffix(alias, "' referenced")
		if at := strings.Index(string(f.line1()), "*"+alias); at >= 0 {
			column = at + 1
		}
		return f.at(f.line, column, "define it in a line above, or quote the text", "no line above has the anchor of this alias")
	case f.message == "did not find expected alphabetic or numeric character":
		return f.at(f.line, f.before(column, "*&"), "quote the value", `"*" and "&" begin the name of an anchor`)
	case f.message == "found character that cannot start any token" && rest != "" && rest[0] != '\t':
		return f.at(f.line, column, "quote the value", "a value must not begin with %q", rest[:1])
	case f.message == "found unknown escape character", strings.Contains(f.message, "escape code"), strings.Contains(f.message, "hexdecimal"):
		return f.at(f.line, f.before(column, `\`), `write \\ for a backslash, or put the text in single quotes`, "an escape that YAML does not know")
	case f.message == "did not find expected comment or line break", strings.Contains(f.message, "indentation indicator"):
		return f.at(f.line, column, "begin the text on the next line; only an indentation of 1 to 9, + or - may follow",
			`unexpected text after "|" or ">"`)
	case strings.HasPrefix(f.message, "block sequence entries"):
		return f.at(f.line, column, "begin the list on a line of its own", `a list item ("- ") is not allowed here`)
	case strings.Contains(f.message, "<document start>") && bytes.HasPrefix(f.line1(), []byte("{")):
		return f.at(f.line, column, `begin it with a line "---"`, "a second value begins here")
	case strings.Contains(f.message, "<document start>"):
		return f.at(f.line, column, `begin the next document with "---"`, `the document ended at "..."`)
	case strings.HasPrefix(f.message, "exceeded max depth"):
		return f.at(f.line, column, "", "maps and lists are nested more than %d deep, which no flag allows", maxDepth)
	case strings.Contains(f.message, "incompatible YAML"), strings.Contains(f.message, "directive"):
		return f.at(f.line, column, "remove the line", "YAML directives (%%) other than %%YAML 1.1 and 1.2 are not supported")
	}
	return f.at(f.line, column, "", "%s", f.message)
}

// line1 is the line at fault.
func (f fault) line1() []byte { return f.text.line(f.line) }

// foreign explains what is no YAML at all, whatever the parser stumbled over.
func (f fault) foreign() *object.Error {
	if line := f.text.line(f.first); bytes.HasPrefix(line, []byte{'<'}) && !bytes.HasPrefix(line, []byte("<<")) {
		return f.at(f.first, 1, "", "this looks like HTML or XML, not like YAML")
	}
	for n := f.first; n < f.end; n++ {
		line := f.text.line(n)
		if bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("<<<<<<< ")) {
			return f.at(n, indent(line)+1, "keep one of the two texts and delete the lines <<<<<<<, ======= and >>>>>>>", "a merge conflict begins here that is not resolved")
		}
	}
	for n := f.line; n >= max(f.first, f.line-1); n-- {
		line := f.text.line(n)
		if at, r := odd(line); at >= 0 {
			return f.at(n, at+1, "write a space", "%U, which looks like a space, is none in YAML", r)
		}
		body := bytes.TrimLeft(line, " ")
		column := len(line) - len(body) + 1
		switch {
		case n < f.line:
		case bytes.HasPrefix(body, []byte{'\t'}), strings.HasPrefix(f.message, "found ") && bytes.Contains(dashes(body), []byte{'\t'}):
			return f.at(n, bytes.IndexByte(line, '\t')+1, "indent with spaces", "a tab indents the line")
		case bytes.HasPrefix(body, []byte("```")):
			return f.at(n, column, "keep only the lines of YAML", "a code fence of Markdown")
		case bytes.Contains(body, []byte("{{")), bytes.Contains(body, []byte("{%")):
			at := max(bytes.Index(line, []byte("{{")), bytes.Index(line, []byte("{%")))
			return f.at(n, at+1, "render the template first: a spec is plain YAML; quote text that holds braces", "a template is not YAML")
		}
	}
	return nil
}

// odd is the offset of a character that looks like a space, or like nothing, where YAML
// wants a space: before the text, and behind a colon or a dash; -1 where there is none.
func odd(line []byte) (int, rune) {
	text := string(line)
	for i, r := range text {
		if !isBlank(r) {
			continue
		}
		if before := strings.TrimRight(text[:i], " "); before == "" || strings.HasSuffix(before, ":") || strings.HasSuffix(before, "-") {
			return i, r
		}
	}
	return -1, 0
}

// dashes is what stands before the first text of a line: spaces, tabs and dashes.
func dashes(line []byte) []byte {
	return line[:len(line)-len(bytes.TrimLeft(line, " \t-"))]
}

// indent is the number of spaces before the text of a line, that of the lists in it
// included.
func indent(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

// inner is where the text behind the dashes of list items begins.
func inner(line []byte) int {
	at := indent(line)
	for bytes.HasPrefix(line[at:], []byte("- ")) {
		at += 2 + indent(line[at+2:])
	}
	return at
}

// probe is the message for the document up to an offset of the file, "" where that is
// well-formed, and with more behind it.
func (f fault) probe(to int, more string) string {
	data := append(append([]byte(nil), f.data[f.real[f.first-1]:to]...), more...)
	if f.probed += len(data); f.probed > maxProbed {
		return ""
	}
	_, err := linesRead(data)
	if err == nil {
		return ""
	}
	_, message := yamlError(err)
	return message
}

// column is where in its line the error shows: the shortest beginning of the line with
// which the document fails in the same way ends there.
func (f fault) column() int {
	begin, line := f.real[f.line-1], f.line1()
	low, high := indent(line), len(line)
	if f.probe(begin+high, "") != f.message {
		return low + 1
	}
	for low < high {
		middle := (low + high) / 2
		if f.probe(begin+middle, "") == f.message {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return max(high, indent(line)+1)
}

// before is the column of the last of some characters at or before a column.
func (f fault) before(column int, chars string) int {
	line := f.line1()
	return cmp.Or(bytes.LastIndexAny(line[:min(column, len(line))], chars)+1, column)
}

// openQuote is the place of a quote that is not closed: the document fails in the line of
// the fault for the lack of it, or is inside it where that line begins.
func (f fault) openQuote() (line, column int) {
	to := f.real[f.line-1]
	if f.message == openQuote || f.message == openQuoteAt {
		to = f.real[f.line-1] + len(f.line1())
	}
	if to <= f.real[f.first-1] || f.probe(to, "") != openQuote {
		return 0, 0
	}
	for n := f.at1(to); n >= f.first; n-- {
		line := f.text.line(n)
		if begin := f.real[n-1]; begin >= to || f.probe(begin, "") == openQuote {
			continue
		}
		for i := len(line) - 1; i >= 0; i-- {
			if (line[i] == '"' || line[i] == '\'') && f.probe(f.real[n-1]+i, "") != openQuote {
				return n, i + 1
			}
		}
	}
	return 0, 0
}

// at1 is the line of an offset.
func (f fault) at1(offset int) int { return f.text.at(offset).Line }

// above is the line before n that is neither empty nor a comment, 0 where there is none.
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
