// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package tarball

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/ropewalk/ropewalk/source"
)

// Tar reads a tar into b, up to the end of r. Errors are ErrFormat for what is
// no whole tar, source.ErrPath, ErrNotRegular and ErrLimit for what is in it,
// and those of r and ctx as they are.
func Tar(ctx context.Context, r io.Reader, b *source.Builder, opts Options) error {
	in := &stream{ctx: ctx, r: r}
	return in.fault(untar(in, in, b, opts))
}

// Gzip is [Tar] for a tar that is compressed, also as several gzip members one
// after the other.
func Gzip(ctx context.Context, r io.Reader, b *source.Builder, opts Options) error {
	in := &stream{ctx: ctx, r: r}
	z, err := gzip.NewReader(in)
	if err != nil {
		return in.fault(unreadable("gzip", cut(err)))
	}
	defer func() { _ = z.Close() }()
	out := &stream{ctx: ctx, r: z}
	return in.fault(untar(in, out, b, opts))
}

// stream is bytes on their way. It counts them, ends with the context, and
// tells its own faults from those that readers above find in the bytes.
type stream struct {
	ctx context.Context //nolint:containedctx // a reader has no other way to learn of it
	r   io.Reader
	n   int64
	err error
	// ended says that a reader above was told of the end.
	ended bool
	// in is the compressed stream, nil where there is none; total is how long the
	// stream may be, 0 for any.
	in    *stream
	total int64
}

// Read reads, until there is too much.
func (s *stream) Read(p []byte) (int, error) {
	if s.err != nil {
		s.ended = true
		return 0, s.err
	}
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	s.n += int64(n)
	switch {
	case s.total > 0 && s.n > s.total:
		s.err = limit("the archive holds more than %d bytes", s.total)
		return 0, s.err
	case s.in != nil && s.n > free && s.n/maxRatio > s.in.n:
		s.err = limit("the archive grows more than %d times when it is decompressed", maxRatio)
		return 0, s.err
	}
	s.err = err
	if n > 0 {
		return n, nil // the end comes alone, so that it is seen who asked for it
	}
	s.ended = err != nil
	return 0, err
}

// fault is err, or what the stream below suffered, which then is its cause.
func (s *stream) fault(err error) error {
	if err != nil && s.err != nil && !errors.Is(s.err, io.EOF) {
		return s.err
	}
	return err
}

// untar reads a tar from out, which is in or what becomes of it.
func untar(in, out *stream, b *source.Builder, opts Options) error {
	t := newTaker(b, opts)
	out.total = t.Total
	if out != in {
		out.in = in
	}
	if err := t.tar(out); err != nil {
		return unreadable("tar", out.fault(err))
	}
	return nil
}

// tar takes what a tar holds.
func (t *taker) tar(r *stream) error {
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return ending(r)
		case err != nil && !insecure(err):
			return err
		}
		if err := t.count(); err != nil {
			return err
		}
		mode, err := kind(h)
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		name, ok, err := t.place(h.Name, mode)
		switch {
		case err != nil:
			return err
		case ok && mode&fs.ModeSymlink != 0:
			if err := t.b.Link(name, h.Linkname); err != nil {
				return err
			}
		case ok:
			if err := t.file(name, h.Size, archive); err != nil {
				return err
			}
		}
	}
}

// kind is what an entry is, as the type of a mode. It refuses what is neither a
// file, a folder nor a symlink.
func kind(h *tar.Header) (fs.FileMode, error) {
	name := strings.TrimPrefix(h.Name, "./")
	for record := range h.PAXRecords {
		if strings.HasPrefix(record, "GNU.sparse.") {
			return 0, notRegular(name, "a sparse file")
		}
	}
	switch h.Typeflag {
	case tar.TypeReg:
		return 0, nil
	case tar.TypeDir:
		return fs.ModeDir, nil
	case tar.TypeSymlink:
		return fs.ModeSymlink, nil
	case tar.TypeXGlobalHeader:
		// git archive writes the commit as a comment; anything else would change
		// the entries that follow, for some readers.
		if _, ok := h.PAXRecords["comment"]; len(h.PAXRecords) > 1 || len(h.PAXRecords) == 1 && !ok {
			return 0, format("the archive has a global header that changes its entries")
		}
		return 0, nil
	case tar.TypeLink:
		return 0, notRegular(name, "a hard link")
	case tar.TypeChar, tar.TypeBlock:
		return 0, notRegular(name, "a device")
	case tar.TypeFifo:
		return 0, notRegular(name, "a pipe")
	case tar.TypeGNUSparse:
		return 0, notRegular(name, "a sparse file")
	}
	return 0, notRegular(name, "of an unknown kind")
}

// ending reads what is left after the last entry, which is padding.
func ending(r *stream) error {
	if r.ended {
		return format("the tar breaks off: it has no end mark")
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Read(buffer)
		for _, c := range buffer[:n] {
			if c != 0 {
				return format("data follow the end of the tar")
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
