// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"errors"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// errText says that a text is not JSON of the form that the reader knows.
var errText = errors.New("not JSON without spaces, or a member that is not known")

// maxDepth is how deep values may lie in one another.
const maxDepth = 200

// reader reads JSON without spaces between its parts. After the first mistake
// nothing is left to read.
type reader struct {
	rest  string
	depth int
	bad   bool
}

func (r *reader) fail() { r.bad, r.rest = true, "" }

func (r *reader) take(c byte) bool {
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *reader) want(c byte) {
	if !r.take(c) {
		r.fail()
	}
}

// text reads a string. It is a part of the input where it has no escapes.
func (r *reader) text() string {
	r.want('"')
	for i := 0; i < len(r.rest); i++ {
		switch r.rest[i] {
		case '"':
			s := r.rest[:i]
			r.rest = r.rest[i+1:]
			return s
		case '\\':
			return r.escaped()
		}
	}
	r.fail()
	return ""
}

// escaped reads a string whose first quote is behind.
func (r *reader) escaped() (s string) {
	end := stringEnd(r.rest)
	if end < 0 || json.Unmarshal([]byte(`"`+r.rest[:end]+`"`), &s) != nil {
		r.fail()
		return ""
	}
	r.rest = r.rest[end+1:]
	return s
}

// stringEnd is the place of the quote that ends a string, -1 where none does.
func stringEnd(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

func (r *reader) truth() bool {
	if rest, ok := strings.CutPrefix(r.rest, "true"); ok {
		r.rest = rest
		return true
	}
	rest, ok := strings.CutPrefix(r.rest, "false")
	if r.rest = rest; !ok {
		r.fail()
	}
	return false
}

// digits reads a number as text.
func (r *reader) digits() string {
	end := 0
	for end < len(r.rest) && strings.IndexByte("+-.0123456789Ee", r.rest[end]) >= 0 {
		end++
	}
	s := r.rest[:end]
	r.rest = r.rest[end:]
	return s
}

func (r *reader) number() *float64 {
	f, err := strconv.ParseFloat(r.digits(), 64)
	if err != nil {
		r.fail()
	}
	return &f
}

func (r *reader) integer() *int64 {
	i, err := strconv.ParseInt(r.digits(), 10, 64)
	if err != nil {
		r.fail()
	}
	return &i
}

// value reads a value of any form; integers are int64.
func (r *reader) value() (v any) {
	raw := r.raw()
	if r.bad || json.Unmarshal([]byte(raw), &v) != nil {
		r.fail()
		return nil
	}
	return v
}

// raw passes over a value and returns its text.
func (r *reader) raw() string {
	depth := 0
	for end := 0; end < len(r.rest); end++ {
		switch r.rest[end] {
		case '"':
			n := stringEnd(r.rest[end+1:])
			if n < 0 {
				r.fail()
				return ""
			}
			end += n + 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		next := end + 1
		switch {
		case depth < 0:
			return r.cut(end)
		case depth == 0 && (next == len(r.rest) || strings.IndexByte(",}]", r.rest[next]) >= 0):
			return r.cut(next)
		}
	}
	r.fail()
	return ""
}

func (r *reader) cut(end int) string {
	s := r.rest[:end]
	r.rest = r.rest[end:]
	if s == "" {
		r.fail()
	}
	return s
}

// members calls read with the name of each member of an object.
func (r *reader) members(read func(name string)) {
	r.enclosed('{', '}', func() {
		name := r.text()
		r.want(':')
		read(name)
	})
}

// items calls read for each item of a list.
func (r *reader) items(read func()) { r.enclosed('[', ']', read) }

func (r *reader) enclosed(open, end byte, read func()) {
	if r.depth++; r.depth > maxDepth {
		r.fail()
	}
	r.want(open)
	for !r.bad && !r.take(end) {
		read()
		if !r.take(',') {
			r.want(end)
			break
		}
	}
	r.depth--
}

func (r *reader) texts() (out []string) {
	r.items(func() { out = append(out, r.text()) })
	return out
}
