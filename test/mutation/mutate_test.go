// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
)

// mutation is one mistake in one file.
type mutation struct {
	kind, file, what string
	// renamed is the new name of the file, "" where it stays.
	renamed string
	data    []byte
	// key is the one that was dropped, for kind drop only.
	key string
}

func (m mutation) String() string { return m.kind + " " + m.file + " " + m.what }

// line is a line of block YAML that begins with a key.
var line = regexp.MustCompile(`^( *)(?:- )?([A-Za-z_][\w.-]*):( .*)?$`)

// mutations are all mistakes that can be made in a file.
func mutations(file string, data []byte) []mutation {
	var out []mutation
	add := func(kind, what string, data []byte) {
		out = append(out, mutation{kind: kind, file: file, what: what, data: data})
	}
	lines := strings.SplitAfter(string(data), "\n")
	for i, l := range lines {
		m := line.FindStringSubmatch(strings.TrimSuffix(l, "\n"))
		if m == nil {
			continue
		}
		indent, key := m[1], m[2]
		at := fmt.Sprintf("%s, line %d", key, i+1)
		replace := func(with ...string) []byte {
			var b strings.Builder
			b.WriteString(strings.Join(lines[:i], ""))
			b.WriteString(strings.Join(with, ""))
			return []byte(b.String())
		}
		end := blockEnd(lines, i, len(indent))
		block, rest := strings.Join(lines[i:end], ""), strings.Join(lines[end:], "")
		tail := strings.Join(lines[i+1:], "")
		// One way each, another one for each key: all of them would only repeat.
		wrong := misspellings(key)
		with := wrong[i%len(wrong)]
		add("misspell", at+" as "+with, replace(strings.Replace(l, key+":", with+":", 1), tail))
		out = append(out, mutation{kind: "drop", file: file, what: at, data: replace(rest), key: key})
		add("double", at, replace(block, block, rest))
		if !strings.Contains(l, "- ") {
			add("move", at+", two columns to the right", replace(shift(block, "  "), rest))
			if len(indent) >= 2 {
				add("move", at+", two columns to the left", replace(unshift(block), rest))
			}
		}
		if value := strings.TrimSpace(m[3]); value != "" && value != "|" {
			add("value", at+" misspelt", replace(strings.Replace(l, value, value[:len(value)-1], 1), tail))
		}
		// In the middle of a line: at its end, what is left is a file that may be meant.
		cut := len(strings.Join(lines[:i], "")) + len(l)/2
		add("cut", fmt.Sprintf("at byte %d", cut), data[:cut])
	}
	return append(out, wholeFile(file, data)...)
}

// wholeFile are mistakes that are not about one key.
func wholeFile(file string, data []byte) []mutation {
	out := []mutation{
		{kind: "encoding", what: "UTF-16LE with a mark", data: utf16Bytes(data, false)},
		{kind: "encoding", what: "UTF-16BE with a mark", data: utf16Bytes(data, true)},
		{kind: "encoding", what: "UTF-16LE", data: utf16Bytes(data, false)[2:]},
		{kind: "encoding", what: "UTF-8 with a mark", data: append([]byte("\xef\xbb\xbf"), data...)},
		{kind: "encoding", what: "Latin-1", data: bytes.Replace(data, []byte("name: "), []byte("name: \xfc"), 1)},
		{kind: "encoding", what: "CRLF", data: bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))},
		{kind: "encoding", what: "CR", data: bytes.ReplaceAll(data, []byte("\n"), []byte("\r"))},
		{kind: "encoding", what: "no-break spaces", data: bytes.ReplaceAll(data, []byte("  "), []byte("\u00a0\u00a0"))},
		{kind: "encoding", what: "tabs", data: bytes.ReplaceAll(data, []byte("  "), []byte("\t"))},
		{kind: "encoding", what: "a zero byte", data: append(append([]byte{}, data...), 0)},
		{kind: "encoding", what: "a zero-width space before the first key", data: append([]byte("\u200b"), data...)},
		{kind: "cut", what: "to nothing", data: nil},
		{kind: "conflict", what: "markers of Git", data: []byte("<<<<<<< ours\n" + string(data) + "=======\n" + string(data) + ">>>>>>> theirs\n")},
	}
	base := strings.TrimSuffix(file, ".yaml")
	for _, name := range []string{base + ".YAML", base + ".YML", base + ".Yml", base + ".yamll", base + ".ymal"} {
		out = append(out, mutation{kind: "rename", what: "to " + name, data: data, renamed: name})
	}
	for i := range out {
		out[i].file = file
	}
	return out
}

// blockEnd is the line after the value of the key in line i.
func blockEnd(lines []string, i, indent int) int {
	for j := i + 1; j < len(lines); j++ {
		text := strings.TrimLeft(lines[j], " ")
		deeper := len(lines[j])-len(text) > indent
		if strings.TrimSpace(text) != "" && !deeper {
			return j
		}
	}
	return len(lines)
}

// misspellings are wrong forms of a key, as fingers make them.
func misspellings(key string) []string {
	out := []string{key[:len(key)-1], key + "s", strings.ToUpper(key[:1]) + key[1:], strings.ToUpper(key)}
	if n := len(key) / 2; n > 0 && key[n-1] != key[n] {
		out = append(out, key[:n-1]+key[n:n+1]+key[n-1:n]+key[n+1:])
	}
	var wrong []string
	for _, w := range out {
		if w != "" && w != key {
			wrong = append(wrong, w)
		}
	}
	return wrong
}

func shift(block, by string) string {
	return by + strings.TrimSuffix(strings.ReplaceAll(block, "\n", "\n"+by), by)
}

func unshift(block string) string {
	return strings.TrimPrefix(strings.ReplaceAll("\n"+block, "\n  ", "\n"), "\n")
}

func utf16Bytes(data []byte, big bool) []byte {
	var out []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + string(data))) {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return out
}
