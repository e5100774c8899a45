// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/render/object"
)

// text is a file with an index that turns the line and column of the YAML
// library into a position for an editor. The library counts columns
// in characters and starts a line at every Unicode line break; editors and
// object.Pos count bytes and break at LF, CRLF and CR.
type text struct {
	name string
	data []byte
	// starts are the offsets of the lines as the library counts them.
	starts []int
	// real are the offsets of the lines as editors count them; the same slice
	// where both agree.
	real []int
	// wide is set if the text is not only ASCII.
	wide bool
	// every has the offset of every everyth character, so that a column far to the right is
	// found without a walk from the beginning of its line.
	every []int
	// manifests and values are the fields of the file.
	manifests, values bool
	// ended is the field of the file.
	ended func() error
	// aliased counts the values that the aliases of all its documents stand for.
	aliased int
}

const everyth = 128

// newText indexes the text of f, which starts with no byte order mark.
func newText(name string, data []byte) *text {
	t := &text{name: name, data: data, starts: make([]int, 1, bytes.Count(data, []byte{'\n'})+2)}
	t.real = t.starts
	var unicodeBreaks []int
	for i, n := 0, 0; i < len(data); n++ {
		if n%everyth == 0 {
			t.every = append(t.every, i)
		}
		c := data[i]
		if c >= utf8.RuneSelf {
			t.wide = true
			r, size := utf8.DecodeRune(data[i:])
			i += size
			if r == '\u0085' || r == '\u2028' || r == '\u2029' {
				unicodeBreaks = append(unicodeBreaks, i)
			}
			continue
		}
		i++
		lone := c == '\r' && (i == len(data) || data[i] != '\n')
		if c == '\n' || lone {
			t.starts = append(t.starts, i)
		}
	}
	t.real = t.starts
	if len(unicodeBreaks) > 0 {
		t.starts = append(append([]int(nil), t.real...), unicodeBreaks...)
		sort.Ints(t.starts)
	}
	return t
}

// pos returns the position of a line and a column of the library, both from 1.
func (t *text) pos(line, column int) object.Pos {
	if !t.wide && line <= len(t.real) {
		return object.Pos{File: t.name, Line: line, Column: column}
	}
	return t.posAt(t.offset(line, column))
}

// offset returns the offset in the text of a line and a column of the library.
func (t *text) offset(line, column int) int {
	if line < 1 || line > len(t.starts) || len(t.data) == 0 {
		return len(t.data)
	}
	start := t.starts[line-1]
	before := sort.SearchInts(t.every, start+1) - 1
	n := before*everyth + utf8.RuneCount(t.data[t.every[before]:start]) + max(column, 1) - 1
	mark := min(n/everyth, len(t.every)-1)
	at := t.every[mark]
	for n -= mark * everyth; n > 0 && at < len(t.data); n-- {
		_, size := utf8.DecodeRune(t.data[at:])
		at += size
	}
	return at
}

// posAt returns the position of an offset in the text.
func (t *text) posAt(offset int) object.Pos {
	line := sort.SearchInts(t.real, offset+1)
	return object.Pos{File: t.name, Line: line, Column: offset - t.real[line-1] + 1}
}

// line returns the content of a line as editors count them, from 1, without its break.
func (t *text) line(n int) []byte {
	if n < 1 || n > len(t.real) {
		return nil
	}
	end := len(t.data)
	if n < len(t.real) {
		end = t.real[n]
	}
	return bytes.TrimRight(t.data[t.real[n-1]:end], "\r\n")
}

// check reports invalid UTF-8 and control characters, the first of each, and replaces them by harmless
// characters of the same length, so that the other mistakes are found too. The result binary is set if
// the data is not text, or cannot be read further.
func (t *text) check() (errs object.Errors, binary bool) {
	encoding, control := false, false
	out := t.data
	replace := func(i int, by byte) {
		if len(errs) == 0 {
			out = bytes.Clone(t.data) // Excerpts show the data of the caller.
		}
		out[i] = by
	}

	// A character is invalid, not allowed, or right.
	for i := 0; i < len(t.data); {
		c := t.data[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(t.data[i:])
			if r == utf8.RuneError && size == 1 {
				replace(i, 'x')
				if !encoding {
					errs = append(errs, mistake(t.posAt(i), nil, "save the file as UTF-8", "byte 0x%02x is not valid UTF-8%s", c, latin(c)))
					encoding = true
				}
			}
			isControl := r > unicode.MaxASCII && r < 0xa0 && r != '\u0085'
			if isControl || r == '\ufffe' || r == '\uffff' {
				replace(i+size-1, 0xbd) // U+00BD, U+FFFD
				if !control {
					errs = append(errs, mistake(t.posAt(i), nil, fmt.Sprintf(`delete it, or write "\u%04x" in double quotes`, r),
						"control character %U is not allowed", r))
					control = true
				}
			}
			i += size
			continue
		}
		if c == 0 {
			return object.Errors{mistake(t.posAt(i), nil, "save the file as text in UTF-8", "a byte 0x00, as in binary files and in UTF-16")}, true
		}
		isSpace := c == '\n' || c == '\r' || c == '\t'
		if (c < ' ' && !isSpace) || c == 0x7f {
			replace(i, ' ')
			if !control {
				// The indentation of a line decides the meaning of the rest.
				binary = binary || len(bytes.TrimSpace(t.data[bytes.LastIndexByte(t.data[:i], '\n')+1:i])) == 0
				errs = append(errs, mistake(t.posAt(i), nil, fmt.Sprintf(`delete it, or write "\x%02x" in double quotes`, c),
					"control character 0x%02x is not allowed", c))
				control = true
			}
		}
		i++
	}
	t.data = out
	return errs, binary
}

// latin returns the meaning of a byte in the encoding that Western systems used before UTF-8.
func latin(c byte) string {
	if c < 0xa0 {
		return ""
	}
	return fmt.Sprintf(": in Latin-1 it is %q", string(rune(c)))
}

// UTF8 returns a text in UTF-16 or UTF-32 as UTF-8. Any other text is unchanged. The encoding is
// detected as in section 5.2 of YAML 1.2: by a byte order mark, or by the zero bytes of the first
// characters, which are in ASCII.
func UTF8(data []byte) []byte {
	const long, short = 4, 2
	size := 0
	order := binary.ByteOrder(binary.BigEndian)
	startsWith := func(mark string) bool {
		return len(data) >= len(mark) && !slices.ContainsFunc([]int{0, 1, 2, 3}[:len(mark)], func(i int) bool {
			return mark[i] != data[i] && (mark[i] != 'a' || data[i] == 0)
		})
	}

	// The first bytes tell the length of a unit, and the order of its bytes.
	switch {
	case startsWith("\x00\x00\xfe\xff"), startsWith("\x00\x00\x00a"):
		size = long
	case startsWith("\xff\xfe\x00\x00"), startsWith("a\x00\x00\x00"):
		size, order = long, binary.LittleEndian
	case startsWith("\xfe\xff"), startsWith("\x00a\x00a"):
		size = short
	case startsWith("\xff\xfe"), startsWith("a\x00a\x00"):
		size, order = short, binary.LittleEndian
	}
	if size == 0 || len(data)%size != 0 {
		return data
	}

	// The units are decoded into characters.
	var out []rune
	var units []uint16
	for ; len(data) > 0; data = data[size:] {
		if size == long {
			out = append(out, rune(order.Uint32(data))) //nolint:gosec // too large values are replaced
		} else {
			units = append(units, order.Uint16(data))
		}
	}
	out = append(out, utf16.Decode(units)...)
	return []byte(strings.TrimPrefix(string(out), "\ufeff"))
}

// decodeNode reads the next document. The library reports its own failures as a panic; a user's text
// must not end the program.
func decodeNode(d *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: the parser failed: %w", crash.Of(r))
		}
	}()
	return d.Decode(n)
}

// syntax returns the mistake in the document of the lines from first to before end.
func (t *text) syntax(f fault, first, end int) *object.Error {
	f.line = min(f.line, end, len(t.real))
	f.first, f.end = min(first, f.line), end
	if f.line == end { // The scanner is ahead of the parser.
		f.first, f.end = f.line, t.nextDocument(f.line)
	}
	return f.explain()
}

// The results for a variable without a value.
const (
	// UnknownEmpty replaces it by an empty text, with a warning.
	UnknownEmpty = "empty"
	// UnknownFail makes it a mistake.
	UnknownFail = "fail"
	// UnknownKeep leaves it unchanged.
	UnknownKeep = "keep"
)
