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

// part is where an entry of a zip lies.
type part struct {
	name       string
	at         int64 // where its local header is
	compressed int64
}

// scan reads the table of contents of a zip, and refuses a zip that has more
// than one meaning: parts that overlap, entries with two names, counts that are
// not so, anything before the first part or after the last.
func (t *taker) scan(r io.ReaderAt, size int64) error {
	from, to, count, err := table(r, size)
	if err != nil {
		return err
	}
	if count > t.Entries {
		return limit("the archive has more than %d entries", t.Entries)
	}
	parts, err := contents(io.NewSectionReader(r, from, to-from), count)
	if err != nil {
		return err
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.at, b.at) })
	for i, p := range parts {
		next := from
		if i+1 < len(parts) {
			next = parts[i+1].at
		}
		end, err := p.end(r)
		if err != nil {
			return err
		}
		if i == 0 && p.at != 0 {
			return format("the zip has data before its first entry")
		}
		if end > next {
			return format("%q overlaps what comes after it", p.name)
		}
	}
	return nil
}

// table finds the table of contents of a zip: where it begins and ends, and how
// many entries it says to have. A comment at the end of the zip is not read for:
// readers differ in what they take for the end then.
func table(r io.ReaderAt, size int64) (from, to int64, count int, err error) {
	if size < endSize {
		return 0, 0, 0, format("the zip is too short to be one")
	}
	var end [endSize]byte
	if err := readAt(r, end[:], size-endSize); err != nil {
		return 0, 0, 0, err
	}
	le := binary.LittleEndian
	if le.Uint32(end[:]) != endMark || le.Uint16(end[20:]) != 0 {
		return 0, 0, 0, format("the zip has no end, or a comment in it")
	}
	count = int(le.Uint16(end[10:]))
	from, to = int64(le.Uint32(end[16:])), size-endSize
	switch {
	case count == 0xffff || from == 0xffffffff:
		return 0, 0, 0, source.Refuse(source.ErrLimit, "the zip is one for huge archives (zip64)")
	case le.Uint16(end[4:]) != 0 || le.Uint16(end[6:]) != 0 || int(le.Uint16(end[8:])) != count:
		return 0, 0, 0, format("the zip is one of several parts")
	case from > to || to-from != int64(le.Uint32(end[12:])):
		return 0, 0, 0, format("the table of contents of the zip is not where the zip says")
	case to-from < int64(count)*centralSize:
		return 0, 0, 0, format("the table of contents of the zip is too short")
	}
	return from, to, count, nil
}

// contents reads a table of contents.
func contents(r io.Reader, count int) ([]part, error) {
	buffered := bufio.NewReader(r)
	parts := make([]part, 0, count)
	var h [centralSize]byte
	le := binary.LittleEndian
	for range count {
		if _, err := io.ReadFull(buffered, h[:]); err != nil {
			return nil, cut(err)
		}
		if le.Uint32(h[:]) != centralMark {
			return nil, format("the zip has fewer entries than it says")
		}
		name := make([]byte, le.Uint16(h[28:]))
		if _, err := io.ReadFull(buffered, name); err != nil {
			return nil, cut(err)
		}
		if _, err := buffered.Discard(int(le.Uint16(h[30:])) + int(le.Uint16(h[32:]))); err != nil {
			return nil, cut(err)
		}
		parts = append(parts, part{name: string(name), at: int64(le.Uint32(h[42:])), compressed: int64(le.Uint32(h[20:]))})
	}
	if _, err := buffered.ReadByte(); err == nil {
		return nil, format("the zip has more entries than it says")
	}
	return parts, nil
}

// end is where the data of an entry end. It reads the local header.
func (p part) end(r io.ReaderAt) (int64, error) {
	var h [localSize]byte
	if err := readAt(r, h[:], p.at); err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	n := int64(le.Uint16(h[26:]))
	if le.Uint32(h[:]) != localMark || n != int64(len(p.name)) {
		return 0, format("%q is not where the zip says", p.name)
	}
	name := make([]byte, n)
	if err := readAt(r, name, p.at+localSize); err != nil {
		return 0, err
	}
	if !bytes.Equal(name, []byte(p.name)) {
		return 0, format("%q has another name where its data are", p.name)
	}
	return p.at + localSize + n + int64(le.Uint16(h[28:])) + p.compressed, nil
}

// readAt fills p.
func readAt(r io.ReaderAt, p []byte, at int64) error {
	if n, err := r.ReadAt(p, at); n < len(p) {
		return cut(err)
	}
	return nil
}
