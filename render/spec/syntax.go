// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/render/object"
)

// decodeNode reads the next document. The library reports what it does not
// expect of itself as a panic; a user's text must not end the program.
func decodeNode(d *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: the parser failed: %w", crash.Of(r))
		}
	}()
	return d.Decode(n)
}

// syntax is the mistake that the YAML library reports for the text from start on, in the
// document of the lines from first to before end.
func (t *text) syntax(start, first, end int, err error) *object.Error {
	line, message := yamlError(err)
	// What the library's parser finds it reports at the start of the enclosing
	// map, one line too early, and some mistakes at no line at all. Its scanner
	// reports the start of the token, which is what a user looks for.
	if line == 0 || strings.HasPrefix(message, "did not find expected") || strings.HasPrefix(message, "found a tab") {
		line = firstBadLine(t.data[start:], message)
	}
	base := sort.SearchInts(t.starts, start) + 1
	offset := t.offset(min(base+line-1, len(t.starts)), 1)
	line = min(t.at(offset).Line, end, len(t.real))
	f := fault{text: t, first: min(first, line), end: end, line: line, message: message}
	if line == end { // the scanner is ahead of the parser
		f.first, f.end = line, t.nextDocument(line)
	}
	return f.explain()
}

// yamlError is the line and the message of an error of the library; 0 where
// it names no line.
func yamlError(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	m := regexp.MustCompile(`^line (\d+): (.*)$`).FindStringSubmatch(message)
	if m == nil {
		return 0, message
	}
	line, err = strconv.Atoi(m[1])
	if err != nil {
		return 0, message
	}
	return line, m[2]
}

// firstBadLine is the line of data for which the library reports message: the
// one that it had read when it stopped, or one of the few before that it could
// have stopped at.
func firstBadLine(data []byte, message string) int {
	const lookahead = 4
	line, _ := linesRead(data)
	for k := line - 1; k >= max(1, line-lookahead); k-- {
		_, err := linesRead(bytes.Join(bytes.SplitAfterN(data, []byte{'\n'}, k+1)[:k], nil))
		if err == nil {
			return k + 1
		}
		if _, same := yamlError(err); same != message {
			return k + 1
		}
		if k == 1 {
			return 1
		}
	}
	return max(line-lookahead, 1)
}

// linesRead is how many lines the library reads of data before it finds a
// mistake in it, and the mistake; nil where there is none.
func linesRead(data []byte) (int, error) {
	r := &lineReader{rest: data}
	d := yaml.NewDecoder(r)
	for {
		var n yaml.Node
		switch err := decodeNode(d, &n); {
		case errors.Is(err, io.EOF):
			return r.line, nil
		case err != nil:
			return max(r.line, 1), err
		}
	}
}

// lineReader gives one line at a time and counts them.
type lineReader struct {
	rest []byte
	line int
	// inLine is set if the line at hand is not read to its end.
	inLine bool
}

func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	if !r.inLine {
		r.line++
	}
	n := len(r.rest)
	if i := bytes.IndexByte(r.rest, '\n'); i >= 0 {
		n = i + 1
	}
	n = copy(p, r.rest[:n])
	r.inLine = r.rest[n-1] != '\n'
	r.rest = r.rest[n:]
	return n, nil
}
