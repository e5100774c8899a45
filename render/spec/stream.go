// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"unicode/utf16"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/object"
)

// MaxFile limits the size of a file: 4 MiB.
const MaxFile = 4 << 20

// dense is the lowest number of bytes for each character that can make a value. The YAML library
// needs some 300 bytes for a value, so that a file of commas only would need a gigabyte; texts of
// people and of tools have twenty bytes and more.
const dense = 10

// maxBroken limits the malformed documents that are explained per file.
const maxBroken = 10_000

// maxTags limits the %TAG directives of a file: the YAML library compares each with all
// others.
const maxTags = 100

// parsed is one document of a stream.
type parsed struct {
	value object.Value
	// blocks are the block scalars by the position of their indicator.
	blocks map[object.Pos]Block
	// errs are mistakes inside the document that leave its structure intact.
	errs object.Errors
	// kubectlErrs are mistakes only for documents that kubectl or Helm reads too: yes, no, on, off
	// without quotes, which are text here and bools there.
	kubectlErrs object.Errors
	// full is set if the document is too large, or nests too deep: part of it is left out.
	full bool
}

// documents reads every document of f. A syntax error ends only its own
// document: reading goes on at the next "---".
func (f File) documents(limit int) (docs []parsed, errs object.Errors) {
	if f.structured != nil {
		return []parsed{*f.structured}, nil
	}

	// The size of a file is checked before it is parsed.
	if len(f.Data) > limit {
		return nil, object.Errors{mistake(object.Pos{File: f.Name}, nil, "keep large data out of specs",
			"the file has %d bytes, more than the %d that are allowed", len(f.Data), limit)}
	}
	data := bytes.TrimPrefix(UTF8(f.Data), []byte("\xef\xbb\xbf"))
	if Values(data) > limit/dense {
		return nil, object.Errors{mistake(object.Pos{File: f.Name}, nil, "keep large data out of specs",
			"the file holds more than %d values, which no flag allows", limit/dense)}
	}
	t := newText(f.Name, lineFeeds(yamlEscapes(data)))
	t.manifests = f.manifests
	t.values = f.values
	t.ended = f.ended
	if t.tags() > maxTags {
		return nil, object.Errors{mistake(object.Pos{File: f.Name}, nil, "write the tags without them",
			"the file has more than %d %%TAG directives", maxTags)}
	}

	// A text with invalid characters is read further if it may hold specs.
	errs, binary := t.check()
	if len(errs) > 0 {
		if ours, _ := Mentions(data); binary || !ours {
			return nil, errs
		}
	}

	// Read documents up to the next mistake, and go on behind it.
	for start := 0; start < len(t.data); {
		batch, last, broken := t.stream(start)
		if err := t.contextErr(); err != nil {
			return nil, object.Errors{{Stage: object.StageSpec, Pos: object.Pos{File: f.Name}, Err: err}}
		}
		docs = append(docs, batch...)
		if broken == nil {
			break
		}
		// The malformed document begins at start, or behind the last good document.
		line := t.posAt(start).Line
		if len(batch) > 0 {
			line = t.nextDocument(last)
		}
		next := t.nextDocument(line)
		e := t.syntax(*broken, line, next)
		if len(batch) > 0 {
			if shifted := t.shifted(batch[len(batch)-1].value.Pos.Line, broken.message); shifted != nil {
				// Only the first line was read as a document.
				e = shifted
				docs = docs[:len(docs)-1]
			}
		}
		errs = append(errs, e)
		if len(errs) > maxBroken {
			errs = append(errs, mistake(object.Pos{File: f.Name, Line: next}, nil, "",
				"more than %d documents of the file are not well-formed; the rest is not read", maxBroken))
			break
		}
		start = t.lineStart(next)
	}
	return docs, errs
}

// contextErr returns the error of the context that bounds the reading, or nil.
func (t *text) contextErr() error {
	if t.ended == nil {
		return nil
	}
	return t.ended()
}

// reader reads a text for the library until the context that bounds the reading ends.
type reader struct {
	*bytes.Reader
	text *text
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	if err := r.text.contextErr(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// tags returns the number of lines that begin with a directive for tags.
func (t *text) tags() int {
	n := 0
	for _, start := range t.starts {
		if bytes.HasPrefix(t.data[start:], []byte("%TAG")) {
			n++
		}
	}
	return n
}

// shifted returns the mistake of a document that begins at a line with spaces and goes on without
// them, which the library reads as two documents. It returns nil for any other mistake.
func (t *text) shifted(line int, message string) *object.Error {
	text := t.line(line)
	first := bytes.TrimLeft(text, " ")
	isFlow := len(first) > 0 && (first[0] == '{' || first[0] == '[')
	if message != noStart || len(first) == len(text) || len(first) == 0 || isFlow {
		return nil
	}
	return mistake(object.Pos{File: t.name, Line: line, Column: 1}, nil, "remove the spaces at its beginning",
		"the first line of the document is indented, and those below are not")
}

// lineFeeds returns data with the lone carriage returns that end lines as line feeds.
func lineFeeds(data []byte) []byte {
	if bytes.IndexByte(data, '\r') < 0 {
		return data
	}
	out := bytes.Clone(data)
	for i, c := range out {
		if c == '\r' && (i+1 == len(out) || out[i+1] != '\n') {
			out[i] = '\n'
		}
	}
	return out
}

// Values returns the highest number of values that a text of YAML or JSON can hold, without its
// aliases: each value needs a comma, a bracket, a colon or a dash.
func Values(data []byte) int {
	n := 0
	for i, c := range data {
		switch c {
		case ',', '[', '{':
			n++
		case ':', '-', '?':
			if i+1 < len(data) && data[i+1] <= ' ' {
				n++
			}
		}
	}
	return n
}

// Weight estimates the bytes that the documents of a file of this text take in memory. They never
// take much more, except for aliases; see [object.Value.Size].
func Weight(data []byte) int64 {
	const perValue = 250
	return int64(len(data)) + perValue*int64(Values(data))
}

// stream reads documents from the offset start to the end of the text or to a syntax error; last is
// the line of the last document that it read.
func (t *text) stream(start int) (docs []parsed, last int, broken *fault) {
	base := sort.SearchInts(t.starts, start) + 1
	d := yaml.NewDecoder(&reader{Reader: bytes.NewReader(t.data[start:]), text: t})
	for {
		var n yaml.Node
		err := decodeNode(d, &n)
		if errors.Is(err, io.EOF) {
			return docs, last, nil
		}
		if err != nil {
			f := t.fault(d, base, err)
			return docs, last, &f
		}
		c := newConverter(t, base)
		last = c.pos(&n).Line
		for _, root := range n.Content {
			v := c.convert(root, 0).value
			if v.Kind == object.KindNull && len(c.errs) == 0 {
				continue
			}
			docs = append(docs, parsed{value: v, blocks: c.blocks, errs: c.errs, kubectlErrs: c.kubectlErrs, full: c.full})
		}
	}
}

// nextDocument returns the line of the first "---" below a line, or the line behind the last: YAML
// allows "---" only between documents.
func (t *text) nextDocument(line int) int {
	for n := line + 1; n <= len(t.real); n++ {
		if after, ok := bytes.CutPrefix(t.line(n), []byte("---")); ok &&
			(len(after) == 0 || after[0] == ' ' || after[0] == '\t') {
			return n
		}
	}
	return len(t.real) + 1
}

// lineStart returns the offset of the beginning of a line.
func (t *text) lineStart(line int) int {
	if line > len(t.real) {
		return len(t.data)
	}
	return t.real[line-1]
}

// yamlEscapes replaces the two escapes of JSON that the YAML library does not know, surrogate pairs
// and \/, by their meaning. Only JSON is touched.
func yamlEscapes(data []byte) []byte {
	start := bytes.TrimLeft(data, " \t\r\n")
	isJSON := len(start) > 0 && (start[0] == '{' || start[0] == '[')
	if !isJSON || !bytes.ContainsRune(start, '\\') || !json.Valid(start) {
		return data
	}
	escape := regexp.MustCompile(`\\\\|\\/|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)
	return escape.ReplaceAllFunc(data, func(m []byte) []byte {
		switch m[1] {
		case '\\':
			return m
		case '/':
			return m[1:]
		}
		high, _ := strconv.ParseUint(string(m[2:6]), 16, 16)
		low, _ := strconv.ParseUint(string(m[8:12]), 16, 16)
		return fmt.Appendf(nil, `\U%08X`, utf16.DecodeRune(rune(high), rune(low))) //nolint:gosec // 16 bits fit
	})
}

// ErrSecondDocument is the mistake of a file with several values where one is expected.
var ErrSecondDocument = errors.New("a second document begins here; expected one value")

// ParseValue reads a file that holds one value, such as a values file; an
// empty file is KindNone. The error is an object.Errors with every mistake.
func ParseValue(f File) (object.Value, error) { return f.value() }

// ParseValues works like [ParseValue] for values that Helm might read: yes, no, on and off without
// quotes are mistakes, and keys may be whole numbers and bools, which are texts for Helm.
func ParseValues(f File) (object.Value, error) {
	f.values = true
	return f.value()
}

func (f File) value() (object.Value, error) {
	docs, errs := f.documents(MaxFile)
	for _, d := range docs {
		errs = append(errs, d.errs...)
		if f.values {
			errs = append(errs, d.kubectlErrs...)
		}
	}
	if len(docs) > 1 {
		errs = append(errs, mistake(docs[1].value.Pos, nil, "", "%w", ErrSecondDocument))
	}
	if len(errs) > 0 || len(docs) == 0 {
		return object.Value{}, errs.Sorted().Err()
	}
	return docs[0].value, nil
}

// ParseManifests reads every document of a file that may be far larger than a spec, such as a bundle
// of CustomResourceDefinitions: up to limit bytes. Like kubectl, it reads yes, no, on and off without
// quotes as bools.
func ParseManifests(f File, limit int) ([]Manifest, error) {
	f.manifests = true
	return ParseDocuments(f, limit)
}

// ParseDocuments works like [ParseManifests] for files that kubectl does not read: YAML 1.2, in which
// only true and false are bools.
func ParseDocuments(f File, limit int) ([]Manifest, error) {
	docs, errs := f.documents(limit)
	out := make([]Manifest, 0, len(docs))
	for _, d := range docs {
		errs = append(errs, d.errs...)
		out = append(out, Manifest{Pos: d.value.Pos, Value: d.value, Blocks: d.blocks})
	}
	if err := errs.Sorted().Err(); err != nil {
		return nil, err
	}
	return out, nil
}
