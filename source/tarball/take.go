// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package tarball

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// DefaultEntries limits the entries of an archive.
const DefaultEntries = 100_000

// A compression may make this much of a byte, once there is as much as free.
const (
	maxRatio = 250
	free     = 16 << 20
)

// Options say what of an archive becomes the tree. The zero value takes
// everything and refuses symlinks.
type Options struct {
	// Keep reports which files are taken, by their path; nil takes all. What is left
	// out is checked too.
	Keep func(name string) bool
	// Entries limits the entries of all kinds together; DefaultEntries where zero.
	Entries int
	// Total limits the bytes of a tar, decompressed, with what is left out of the tree; 16 times
	// the bytes of the limits of the tree where zero.
	Total int64
	// Symlinks takes the symlinks of a tar, as links for the reader of the tree. They are
	// refused otherwise, and always in a zip.
	Symlinks bool
	// Strip takes the first folder off each path, and leaves out files outside of folders.
	Strip bool
}

// taker puts the entries of an archive into a tree.
type taker struct {
	Options
	b       *source.Builder
	entries int
}

func newTaker(b *source.Builder, opts Options) *taker {
	opts.Entries = cmp.Or(opts.Entries, DefaultEntries)
	opts.Total = cmp.Or(opts.Total, 16*b.Limits.WithDefaults().Bytes)
	return &taker{Options: opts, b: b}
}

// count counts an entry.
func (t *taker) count() error {
	t.entries++
	if t.entries > t.Entries {
		return errLimit("the archive has more than %d entries", t.Entries)
	}
	return nil
}

// place returns the path of an entry in the tree; false where the entry is left out. Both a
// and ./a are written for the same file.
func (t *taker) place(raw string, mode fs.FileMode) (name string, ok bool, err error) {
	name = strings.TrimPrefix(raw, "./")
	if mode.IsDir() {
		name = strings.TrimSuffix(name, "/")
		if name == "" || name == "." {
			return "", false, nil
		}
	}
	if err := source.CheckPath(name); err != nil {
		return "", false, err
	}
	if t.Strip && !mode.IsDir() {
		inside := false
		_, name, inside = strings.Cut(name, "/")
		if !inside {
			return "", false, nil
		}
	}
	switch {
	case mode.IsDir():
		return "", false, nil
	case mode&fs.ModeSymlink != 0 && !t.Symlinks:
		return "", false, errNotRegular(name, "a symlink")
	}
	return name, t.Keep == nil || t.Keep(name), nil
}

// takeFile reads a file into the tree. The archive claims its size.
func (t *taker) takeFile(name string, size int64, r io.Reader) error {
	// Memory comes with the bytes, not with the claim.
	const believed = 1 << 20
	if err := t.b.Room(name, size); err != nil {
		return err
	}
	data := make([]byte, min(size, believed))
	if _, err := io.ReadFull(r, data); err != nil {
		return fmt.Errorf("%q: %w", name, asTruncated(err))
	}
	for int64(len(data)) < size {
		// Twice as much each time, and exactly the rest at the end.
		n := len(data)
		data = append(make([]byte, 0, min(size, int64(2*n))), data...)
		data = data[:cap(data)]
		if _, err := io.ReadFull(r, data[n:]); err != nil {
			return fmt.Errorf("%q: %w", name, asTruncated(err))
		}
	}
	return t.b.Add(name, data)
}

// asTruncated returns err for a file of which not even the first byte came as io.ErrUnexpectedEOF.
func asTruncated(err error) error {
	if err == io.EOF { //nolint:errorlint // io.ReadFull gives it bare
		return io.ErrUnexpectedEOF
	}
	return err
}
