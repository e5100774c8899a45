// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// Bounds of an excerpt, in bytes: a larger file is not read, and a longer line is shown
// around the column only.
const (
	excerptFile = 16 << 20
	excerptLine = 160
)

// excerpt returns the line at pos with a caret under the column, or "" if there is nothing to show.
// The lines are not indented and end in a newline. Secrets in them, and values whose names sound like
// secrets, are shown as stars.
func excerpt(read func(name string) *shownFile, pos object.Pos, secrets *object.Secrets) string {
	if pos.Line < 1 || pos.Column < 1 {
		return ""
	}

	// A line that does not exist, or that is not text, has no excerpt.
	line, above, ok := read(pos.File).line(pos.Line)
	if !ok || bytes.IndexByte(line, 0) >= 0 || pos.Column > len(line)+1 {
		return ""
	}

	// Hide secrets before the line is cut.
	mask := secrets.Mask
	if path.Ext(pos.File) == ".cue" {
		mask = secrets.MaskCUE
	}
	text := mask(string(line), string(above))
	if strings.TrimSpace(text) == "" {
		return ""
	}

	// Show a long line around the column only.
	start, end := around(text, pos.Column-1)
	before := printable.Text(text[start : pos.Column-1])
	after := printable.Text(text[pos.Column-1 : end])
	if start > 0 {
		before = "…" + before
	}
	if end < len(text) {
		after += "…"
	}

	// Put the caret under its column, whatever the width of a tab is.
	var pad strings.Builder
	for _, r := range before {
		if r == '\t' {
			pad.WriteByte('\t')
		} else {
			pad.WriteByte(' ')
		}
	}
	return before + after + "\n" + pad.String() + "^\n"
}

// around returns the range of a line that is shown: all of it, or the part around the byte at offset.
func around(text string, offset int) (start, end int) {
	if len(text) <= excerptLine {
		return 0, len(text)
	}
	start = min(max(0, offset-excerptLine/2), len(text)-excerptLine)
	for end = start + excerptLine; end < len(text) && end > offset && !utf8.RuneStart(text[end]); end-- {
	}
	for ; start < offset && !utf8.RuneStart(text[start]); start++ {
	}
	return start, end
}

// holdsSecret reports whether a file may be, or hold, the manifest of a Secret: in YAML,
// JSON or CUE, in a line of its own or not. Each of its lines may be one then, and a
// message ends up in logs.
func holdsSecret(data []byte) bool {
	return regexp.MustCompile(`kind[\\"']*\s*:\s*(?:[!&]\S*\s+)*[\\"']*Secret\b`).Match(data)
}

// shownFile is a file that excerpts are made of. Its lines are indexed once: a file may have
// tens of thousands of mistakes.
type shownFile struct {
	data []byte
	// ends are the offsets where the lines end: LF, CRLF or CR.
	ends []int
}

// newShownFile indexes data. A file that may hold the manifest of a Secret is empty then, so that
// nothing of it is shown.
func newShownFile(data []byte) *shownFile {
	if holdsSecret(data) {
		return &shownFile{}
	}
	f := &shownFile{data: data}
	for i, c := range data {
		endsCRLF := c == '\n' && i > 0 && data[i-1] == '\r'
		if (c == '\n' || c == '\r') && !endsCRLF {
			f.ends = append(f.ends, i)
		}
	}
	return f
}

// line returns line n, counted from 1, without its end, and the text above it, at most 16 KiB. The
// result ok is false if the file has no such line.
func (f *shownFile) line(n int) (line, above []byte, ok bool) {
	const far = 16 << 10
	start, end := 0, len(f.data)
	if n-1 > len(f.ends) {
		return nil, nil, false
	}
	if n > 1 {
		start = f.ends[n-2] + 1
		if f.data[start-1] == '\r' && start < len(f.data) && f.data[start] == '\n' {
			start++
		}
	}
	if n-1 < len(f.ends) {
		end = f.ends[n-1]
	}
	return f.data[start:end], f.data[max(0, start-far):start], start < len(f.data)
}

// fileReader reads files for excerpts, each once, beginning with texts that
// were read before.
func fileReader(texts map[string][]byte) func(name string) *shownFile {
	files := map[string]*shownFile{}
	return func(name string) *shownFile {
		file, ok := files[name]
		if !ok {
			data, ok := texts[name]
			if !ok {
				data = readText(name)
			}
			file = newShownFile(data)
			files[name] = file
		}
		return file
	}
}

// readText returns the text of a regular file, or of a file of an embedded module. It returns nil for
// anything else, and does not open it: a mistake may be positioned in a pipe that never ends.
func readText(name string) []byte {
	if rest, ok := strings.CutPrefix(name, "embedded:"); ok {
		return readEmbedded(rest)
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > excerptFile {
		return nil
	}
	data, err := os.ReadFile(name) //nolint:gosec // The user or a module of the user named it.
	if err != nil {
		return nil
	}
	return data
}

func readEmbedded(name string) []byte {
	module, file, _ := strings.Cut(name, "/")
	tree, ok := cue.Module(module)
	if !ok {
		return nil
	}
	data, err := fs.ReadFile(tree, file)
	if err != nil {
		return nil
	}
	return data
}
