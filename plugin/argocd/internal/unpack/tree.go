// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ropewalk/ropewalk/internal/memfs"
)

// Tree is an archive that was read. Symbolic links are listed and not followed: see
// source/rootfs. It is safe for concurrent use.
type Tree struct {
	*memfs.FS
	stats Stats
	spool *os.File
}

// Stats returns what the archive came to.
func (t *Tree) Stats() Stats { return t.stats }

// Close closes the file of what is not in memory. Nothing can be read after it.
func (t *Tree) Close() error {
	if t.spool == nil {
		return nil
	}
	return t.spool.Close()
}

// keep reads the content of a file into memory, of which Limits.Memory has room for it.
func keep(r io.Reader, size int64) ([]byte, error) {
	data := make([]byte, size)
	_, err := io.ReadFull(r, data)
	return data, err
}

// spool is one file for all contents that do not stay in memory, one behind the other.
type spool struct {
	dir    string
	file   *os.File
	writer *bufio.Writer
	size   int64
}

// spoolBuffer is the size of a write to the file.
const spoolBuffer = 128 << 10

// add appends the content of a file.
func (s *spool) add(r io.Reader) (*io.SectionReader, error) {
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, ".ropewalk-*")
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRoom, err)
		}
		s.file = f
		s.writer = bufio.NewWriterSize(spoolWriter{f}, spoolBuffer)
		// Without a name, nothing of it is left when the process is killed.
		if err := os.Remove(f.Name()); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRoom, err)
		}
	}
	n, err := s.writer.ReadFrom(r)
	section := io.NewSectionReader(s.file, s.size, n)
	s.size += n
	return section, err
}

// flush writes what is in the buffer.
func (s *spool) flush() error {
	if s.file == nil {
		return nil
	}
	return s.writer.Flush()
}

// close closes the file, if it was opened.
func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// spoolWriter tells errors of the disk from errors of the archive.
type spoolWriter struct{ to io.Writer }

// Write writes to the file. An error is ErrRoom.
func (w spoolWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil && !errors.Is(err, ErrRoom) {
		err = fmt.Errorf("%w: %w", ErrRoom, err)
	}
	return n, err
}
