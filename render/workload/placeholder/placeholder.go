// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package placeholder

import (
	"slices"
	"strings"
	"unicode"
)

// Part is a piece of a text: literal text, or a reference if Ref has steps.
type Part struct {
	// Literal is text without the escapes of Score.
	Literal string
	// Ref is a reference split at its dots (\. is a dot inside of a step), such
	// as [resources db host]; nil for literal text. ${} has one empty step.
	Ref []string
	// Offset is the offset of the part in the text, in bytes.
	Offset int
}

// IsRef reports whether p is a reference.
func (p Part) IsRef() bool { return p.Ref != nil }

// String writes p in the grammar of placeholders, so that [Parse] reads the same
// part again: ${resources.db.host}, or literal text with its dollars escaped.
func (p Part) String() string {
	if p.Ref == nil {
		return escape(p.Literal)
	}
	var b strings.Builder
	b.WriteString("${")
	for i, step := range p.Ref {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(strings.ReplaceAll(step, ".", `\.`))
	}
	b.WriteByte('}')
	return b.String()
}

// escape doubles the dollars of literal text. Dollars inside of braces behind a dollar stay: the
// first dollar escapes the braces with their content.
func escape(text string) string {
	var b strings.Builder
	for {
		dollar := strings.IndexByte(text, '$')
		if dollar < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:dollar] + "$")
		end := dollar + 1
		if strings.HasPrefix(text[end:], "{") {
			end += strings.IndexByte(text[end:], '}') + 1
		}
		b.WriteString(text[dollar:end])
		text = text[end:]
	}
}

// HasRef reports whether text holds a reference.
func HasRef(text string) bool {
	s := scanner{text: text}
	for s.next() {
		if s.content >= 0 {
			return true
		}
	}
	return false
}

// Find returns the first placeholder in text that begins with a root of Score, or "". Shells and
// other configurations write ${HOME} too.
func Find(text string) string {
	if !strings.Contains(text, "${") {
		return ""
	}
	for _, p := range Parse(text) {
		root := p.IsRef() && slices.Contains([]string{"resources", "metadata", "secrets"}, p.Ref[0])
		if root && len(p.Ref) > 1 {
			return p.String()
		}
	}
	found, _ := Missed(text)
	return found
}

// Missed returns the first text that is not a placeholder and was probably meant to be a
// placeholder, with its offset: ${resources.db.host without the closing brace, $resources.db.host,
// $(resources.db.host). It returns "" if there is none. Escaped dollars do not count.
func Missed(text string) (string, int) {
	s := scanner{text: text}
	for s.next() {
		if found, offset := findMissed(text[s.last:s.start]); found != "" {
			return found, s.last + offset
		}
	}
	found, offset := findMissed(text[s.end:])
	return found, s.end + offset
}

// findMissed does the work of Missed on a text without references and escapes.
func findMissed(text string) (string, int) {
	for pos := 0; ; pos++ {
		dollar := strings.IndexByte(text[pos:], '$')
		if dollar < 0 {
			return "", 0
		}
		pos += dollar
		after := strings.TrimLeft(text[pos+1:], "{( ")
		// The metadata of other formats is not meant, unless it stands in braces.
		metadata := strings.HasPrefix(after, "metadata.") && text[pos+1] == '{'
		if strings.HasPrefix(after, "resources.") || metadata {
			// The reference ends at the first character that no reference may hold.
			end := strings.IndexFunc(after, func(r rune) bool {
				return !strings.ContainsRune("._-", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
			})
			if end < 0 {
				end = len(after)
			}
			// The character that closes it belongs to it.
			opens := text[len(text)-len(after)-1:]
			if end < len(after) && slices.Contains([]string{"()", "{}"}, opens[:1]+after[end:end+1]) {
				end++
			}
			return text[pos : len(text)-len(after)+end], pos
		}
	}
}

// Parse splits text into literal text and references, in order. Adjacent literals are one part
// and never empty, so the empty text has no parts. Every text is valid: text that is not a
// placeholder is literal text.
func Parse(text string) []Part {
	s := scanner{text: text}
	var (
		parts []Part
		plain literal
	)
	for s.next() {
		plain.add(text[s.last:s.start], s.last)
		if s.content < 0 {
			plain.add(text[s.start+1:s.end], s.start)
			continue
		}
		parts = plain.flush(parts)
		parts = append(parts, Part{Ref: split(text[s.content : s.end-1]), Offset: s.start})
	}
	plain.add(text[s.end:], s.end)
	return plain.flush(parts)
}

// literal joins adjacent literal text. A single run is not copied.
type literal struct {
	text   string
	joined []byte
	offset int
}

func (l *literal) add(text string, offset int) {
	switch {
	case text == "":
	case l.text == "":
		l.text, l.offset = text, offset
	default:
		if l.joined == nil {
			l.joined = append(l.joined, l.text...)
		}
		l.joined = append(l.joined, text...)
	}
}

// flush appends the joined text to parts.
func (l *literal) flush(parts []Part) []Part {
	if l.text == "" {
		return parts
	}
	text := l.text
	if l.joined != nil {
		text = string(l.joined)
	}
	parts = append(parts, Part{Literal: text, Offset: l.offset})
	*l = literal{}
	return parts
}

// scanner finds references and escapes from left to right.
type scanner struct {
	text string
	// start and end are the bounds of the match, last is the end of the previous match.
	last, start, end int
	// content is the offset of the content of a reference, or -1 for an escape: its
	// first dollar falls away and the rest is literal.
	content int
	// open is set if no brace closes in the rest of the text, so that it is not
	// searched again.
	open bool
}

// next finds the next reference or escape, and reports whether it found one.
func (s *scanner) next() bool {
	s.last = s.end
	for pos := s.end; ; pos++ {
		dollar := strings.IndexByte(s.text[pos:], '$')
		if dollar < 0 || pos+dollar+1 == len(s.text) {
			return false
		}
		pos += dollar
		s.start = pos
		switch s.text[pos+1] {
		case '{':
			if end := s.closing(pos + 2); end > 0 {
				s.content, s.end = pos+2, end
				return true
			}
		case '$':
			s.content, s.end = -1, pos+2
			if pos+2 < len(s.text) && s.text[pos+2] == '{' {
				s.end = max(s.end, s.closing(pos+3))
			}
			return true
		}
	}
}

// closing returns the offset behind the next closing brace, or 0 without a brace.
func (s *scanner) closing(pos int) int {
	if s.open {
		return 0
	}
	i := strings.IndexByte(s.text[pos:], '}')
	if i < 0 {
		s.open = true
		return 0
	}
	return pos + i + 1
}

// split cuts the content of a reference at its dots. A backslash escapes a dot
// and nothing else.
func split(content string) []string {
	steps := make([]string, 0, strings.Count(content, ".")+1)
	begin := 0
	for i := 0; i < len(content); i++ {
		if content[i] == '.' && (i == 0 || content[i-1] != '\\') {
			steps = append(steps, unescape(content[begin:i]))
			begin = i + 1
		}
	}
	return append(steps, unescape(content[begin:]))
}

func unescape(step string) string { return strings.ReplaceAll(step, `\.`, ".") }
