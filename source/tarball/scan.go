// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package tarball

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"slices"

	"github.com/ropewalk/ropewalk/source"
)

// Sizes and marks of the parts of a zip, in APPNOTE.TXT 6.3.10, 4.3.7, 4.3.12
// and 4.3.16.
const (
	localSize   = 30
	centralSize = 46
	endSize     = 22
	localMark   = 0x04034b50
	centralMark = 0x02014b50
	endMark     = 0x06054b50
)

// part locates an entry of a zip.
type part struct {
	name       string
	offset     int64 // where its local header is
	compressed int64
}

// scan reads the table of contents of a zip, and refuses an ambiguous zip: parts that overlap,
// entries with two names, wrong counts, data before the first part or after the last.
func (t *taker) scan(r io.ReaderAt, size int64) error {
	contents, err := findTable(r, size)
	if err != nil {
		return err
	}
	if contents.count > t.Entries {
		return errLimit("the archive has more than %d entries", t.Entries)
	}

	// Parts may stand in another order than in the table.
	parts, err := readContents(io.NewSectionReader(r, contents.start, contents.end-contents.start), contents.count)
	if err != nil {
		return err
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.offset, b.offset) })

	// Each part must end before the next part, and the last part before the table.
	for i, p := range parts {
		next := contents.start
		if i+1 < len(parts) {
			next = parts[i+1].offset
		}
		end, err := p.readEnd(r)
		if err != nil {
			return err
		}
		if i == 0 && p.offset != 0 {
			return errFormat("the zip has data before its first entry")
		}
		if end > next {
			return errFormat("%q overlaps what comes after it", p.name)
		}
	}
	return nil
}

// table holds the bounds of the table of contents of a zip, and the number of entries that the zip
// claims.
type table struct {
	start, end int64
	count      int
}

// findTable finds the table of contents of a zip. It refuses a comment at the end of the zip,
// because readers of zips with comments disagree about where the end is.
func findTable(r io.ReaderAt, size int64) (table, error) {
	if size < endSize {
		return table{}, errFormat("the zip is too short to be one")
	}
	var trailer [endSize]byte
	if err := readAt(r, trailer[:], size-endSize); err != nil {
		return table{}, err
	}
	le := binary.LittleEndian
	if le.Uint32(trailer[:]) != endMark || le.Uint16(trailer[20:]) != 0 {
		return table{}, errFormat("the zip has no end, or a comment in it")
	}
	count := int(le.Uint16(trailer[10:]))
	start, end := int64(le.Uint32(trailer[16:])), size-endSize
	switch {
	case count == 0xffff || start == 0xffffffff:
		return table{}, source.Refuse(source.ErrLimit, "the zip is one for huge archives (zip64)")
	case le.Uint16(trailer[4:]) != 0 || le.Uint16(trailer[6:]) != 0 || int(le.Uint16(trailer[8:])) != count:
		return table{}, errFormat("the zip is one of several parts")
	case start > end || end-start != int64(le.Uint32(trailer[12:])):
		return table{}, errFormat("the table of contents of the zip is not where the zip says")
	case end-start < int64(count)*centralSize:
		return table{}, errFormat("the table of contents of the zip is too short")
	}
	return table{start: start, end: end, count: count}, nil
}

// readContents reads a table of contents.
func readContents(r io.Reader, count int) ([]part, error) {
	buffered := bufio.NewReader(r)
	parts := make([]part, 0, count)
	var h [centralSize]byte
	le := binary.LittleEndian
	for range count {
		if _, err := io.ReadFull(buffered, h[:]); err != nil {
			return nil, asTruncated(err)
		}
		if le.Uint32(h[:]) != centralMark {
			return nil, errFormat("the zip has fewer entries than it says")
		}
		name := make([]byte, le.Uint16(h[28:]))
		if _, err := io.ReadFull(buffered, name); err != nil {
			return nil, asTruncated(err)
		}
		if _, err := buffered.Discard(int(le.Uint16(h[30:])) + int(le.Uint16(h[32:]))); err != nil {
			return nil, asTruncated(err)
		}
		parts = append(parts, part{name: string(name), offset: int64(le.Uint32(h[42:])), compressed: int64(le.Uint32(h[20:]))})
	}
	if _, err := buffered.ReadByte(); err == nil {
		return nil, errFormat("the zip has more entries than it says")
	}
	return parts, nil
}

// readEnd returns where the data of an entry end. It reads the local header, which must agree
// with the table.
func (p part) readEnd(r io.ReaderAt) (int64, error) {
	var h [localSize]byte
	if err := readAt(r, h[:], p.offset); err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	n := int64(le.Uint16(h[26:]))
	if le.Uint32(h[:]) != localMark || n != int64(len(p.name)) {
		return 0, errFormat("%q is not where the zip says", p.name)
	}
	name := make([]byte, n)
	if err := readAt(r, name, p.offset+localSize); err != nil {
		return 0, err
	}
	if !bytes.Equal(name, []byte(p.name)) {
		return 0, errFormat("%q has another name where its data are", p.name)
	}
	return p.offset + localSize + n + int64(le.Uint16(h[28:])) + p.compressed, nil
}

// readAt fills p from a place of r. The error is ErrFormat where r is too short.
func readAt(r io.ReaderAt, p []byte, offset int64) error {
	if n, err := r.ReadAt(p, offset); n < len(p) {
		return asTruncated(err)
	}
	return nil
}
