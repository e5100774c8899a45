// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package tarball

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/ropewalk/ropewalk/source"
)

// Zip reads a zip of that size into b. It returns the same errors as [Tar].
func Zip(ctx context.Context, r io.ReaderAt, size int64, b *source.Builder, opts Options) error {
	in := &section{ctx: ctx, r: r}
	opts.Symlinks = false
	return in.fault(newTaker(b, opts).takeZip(in, size))
}

// section is a stream at random.
type section struct {
	ctx context.Context //nolint:containedctx // a reader has no other way to learn of it
	r   io.ReaderAt
	err error
}

// ReadAt reads, until the context ends.
func (s *section) ReadAt(p []byte, off int64) (int, error) {
	if err := s.ctx.Err(); err != nil {
		s.err = err
		return 0, err
	}
	n, err := s.r.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (s *section) fault(err error) error {
	if err != nil && s.err != nil {
		return s.err
	}
	return err
}

// takeZip reads the entries of a zip into the tree.
func (t *taker) takeZip(r io.ReaderAt, size int64) error {
	if err := t.scan(r, size); err != nil {
		return asFormatError("zip", err)
	}
	z, err := zip.NewReader(r, size)
	if err != nil && !insecure(err) {
		return asFormatError("zip", err)
	}
	for _, f := range z.File {
		if err := t.takeEntry(f); err != nil {
			return asFormatError("zip", err)
		}
	}
	return nil
}

// takeEntry reads an entry of a zip into the tree.
func (t *taker) takeEntry(f *zip.File) error {
	mode := f.Mode().Type()
	if mode&^(fs.ModeDir|fs.ModeSymlink) != 0 {
		return errNotRegular(f.Name, "a device, a pipe or a socket")
	}
	name, ok, err := t.place(f.Name, mode)
	if err != nil || !ok {
		return err
	}

	// What cannot be read, or is too large, is refused before it is opened.
	if f.Flags&1 != 0 {
		return errFormat("%q is encrypted", name)
	}
	if f.UncompressedSize64 > 1<<62 {
		return source.Refuse(source.ErrLimit, fmt.Sprintf("%q is larger than anything", name))
	}
	if err := t.b.Room(name, int64(f.UncompressedSize64)); err != nil { //nolint:gosec // bounded above
		return err
	}

	// The size is a claim of the zip until the file is read to its end.
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	defer func() { _ = r.Close() }()
	if err := t.takeFile(name, int64(f.UncompressedSize64), r); err != nil { //nolint:gosec // bounded above
		return err
	}
	// The end brings the checksum, and tells whether the size was a lie. file has
	// put the content into the tree by then, and the tree is given up.
	n, err := r.Read(make([]byte, 1))
	broken := err != nil && !errors.Is(err, io.EOF)
	if n > 0 || broken {
		return errFormat("%q is not what the zip says of it (size or checksum)", name)
	}
	return nil
}
