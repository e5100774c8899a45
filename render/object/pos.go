// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// Pos is a position in a file of the user, of a module or on the command line.
// Line and Column count from 1, columns in bytes; Line 0 means the
// file itself, and the zero Pos means nowhere.
type Pos struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// FileOf returns the name that positions have for a file of origin, which is a folder or a URL.
func FileOf(origin, name string) string {
	if scheme, after, ok := strings.Cut(origin, "://"); ok {
		return scheme + "://" + path.Join(after, name)
	}
	return path.Join(origin, name)
}

// IsValid reports whether p is a position.
func (p Pos) IsValid() bool { return p.File != "" }

// FirstValid returns a, or b where a is no position.
func FirstValid(a, b Pos) Pos {
	if a.IsValid() {
		return a
	}
	return b
}

// String writes p as file:line:column, the form that editors follow, in one line.
func (p Pos) String() string {
	file := printable.Line(p.File)
	if p.Line == 0 {
		return file
	}
	s := file + ":" + strconv.Itoa(p.Line)
	if p.Column > 0 {
		s += ":" + strconv.Itoa(p.Column)
	}
	return s
}

// Compare orders positions by file, line and column; nowhere comes last, so
// that errors a user can act on come first.
func (p Pos) Compare(q Pos) int {
	if p.IsValid() != q.IsValid() {
		if p.IsValid() {
			return -1
		}
		return 1
	}
	return cmp.Or(
		strings.Compare(p.File, q.File),
		cmp.Compare(p.Line, q.Line),
		cmp.Compare(p.Column, q.Column),
	)
}

// Step is one step of a [Path]: a field name, or an index of a list.
type Step struct {
	Name    string `json:"name,omitempty"`
	Index   int    `json:"index,omitempty"`
	IsIndex bool   `json:"isIndex,omitempty"`
}

// Path leads from the root of a document or an object to one of its parts.
type Path []Step

// Field returns the step to the field called name.
func Field(name string) Step { return Step{Name: name} }

// Index returns the step to item i of a list, counted from 0.
func Index(i int) Step { return Step{Index: i, IsIndex: true} }

// Fields returns the path through the fields called names.
func Fields(names ...string) Path {
	p := make(Path, len(names))
	for i, n := range names {
		p[i] = Field(n)
	}
	return p
}

// Append returns p followed by steps; it never shares memory with p.
func (p Path) Append(steps ...Step) Path {
	return append(append(make(Path, 0, len(p)+len(steps)), p...), steps...)
}

// String writes p as Kubernetes does in its errors: spec.ports[0].name, with
// field names that hold a dot or a bracket as metadata.annotations["a.b/c"].
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.IsIndex:
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		case s.Name == "" || strings.ContainsAny(s.Name, ".[]\" "):
			b.WriteString("[" + strconv.Quote(s.Name) + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.Name)
		}
	}
	return b.String()
}

// ParsePath reads what [Path.String] writes. Text that is not a path is read
// as one field name.
func ParsePath(text string) Path {
	p, ok := ReadPath(strings.TrimPrefix(text, "."))
	if !ok {
		return Path{Field(text)}
	}
	return p
}

// ReadPath reads what [Path.String] writes; ok is false where text is not a path.
func ReadPath(text string) (p Path, ok bool) {
	for rest := text; rest != ""; {
		step, tail, ok := readStep(rest, p == nil)
		if !ok {
			return nil, false
		}
		p, rest = append(p, step), tail
	}
	return p, true
}

// readStep reads one step: name, .name, [3] or ["name"].
func readStep(text string, first bool) (step Step, remaining string, ok bool) {
	if strings.HasPrefix(text, `["`) {
		quoted, err := strconv.QuotedPrefix(text[1:])
		if err != nil {
			return Step{}, "", false
		}
		name, err := strconv.Unquote(quoted)
		remaining, closed := strings.CutPrefix(text[1+len(quoted):], "]")
		return Field(name), remaining, err == nil && closed
	}
	if strings.HasPrefix(text, "[") {
		digits, remaining, closed := strings.Cut(text[1:], "]")
		i, err := strconv.ParseUint(digits, 10, 31)
		return Index(int(i)), remaining, err == nil && closed
	}
	text, dot := strings.CutPrefix(text, ".")
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	name := text[:end]
	return Field(name), text[end:], dot != first && name != "" && !strings.ContainsAny(name, `]"`)
}

// Within reports whether a path, as [Path.String] writes it, leads to the part at the path
// whole, or into it.
func Within(path, whole string) bool {
	suffix, below := strings.CutPrefix(path, whole)
	beginsPart := suffix == "" || suffix[0] == '.' || suffix[0] == '['
	return below && beginsPart
}
