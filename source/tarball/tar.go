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

// Tar reads a tar into b, up to the end of r. Errors are ErrFormat for a tar that is malformed or
// incomplete, source.ErrPath, ErrNotRegular and ErrLimit for its entries, and the errors of r and
// ctx unchanged.
func Tar(ctx context.Context, r io.Reader, b *source.Builder, opts Options) error {
	in := &stream{ctx: ctx, r: r}
	return in.fault(untar(in, in, b, opts))
}

// Gzip reads a compressed tar as [Tar] does, also one of several gzip members.
func Gzip(ctx context.Context, r io.Reader, b *source.Builder, opts Options) error {
	compressed := &stream{ctx: ctx, r: r}
	z, err := gzip.NewReader(compressed)
	if err != nil {
		return compressed.fault(asFormatError("gzip", asTruncated(err)))
	}
	defer func() { _ = z.Close() }()
	content := &stream{ctx: ctx, r: z}
	return compressed.fault(untar(compressed, content, b, opts))
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
	// compressed is the stream below, nil for a tar that is not compressed; total limits the length
	// of the stream, 0 for no limit.
	compressed *stream
	total      int64
}

// Read reads until the limit is reached.
func (s *stream) Read(p []byte) (int, error) {
	if s.err != nil {
		s.ended = true
		return 0, s.err
	}
	s.err = s.ctx.Err()
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	s.n += int64(n)
	switch {
	case s.total > 0 && s.n > s.total:
		s.err = errLimit("the archive holds more than %d bytes", s.total)
		return 0, s.err
	case s.compressed != nil && s.n > free && s.n/maxRatio > s.compressed.n:
		s.err = errLimit("the archive grows more than %d times when it is decompressed", maxRatio)
		return 0, s.err
	}
	s.err = err
	if n > 0 {
		return n, nil // the end comes alone, so that it is seen who asked for it
	}
	s.ended = err != nil
	return 0, err
}

// fault returns the error of the stream below as the cause of err, or err where the stream has no
// error.
func (s *stream) fault(err error) error {
	if err != nil && s.err != nil && !errors.Is(s.err, io.EOF) {
		return s.err
	}
	return err
}

// untar reads a tar from tarStream, which is compressed itself or its decompressed content.
func untar(compressed, tarStream *stream, b *source.Builder, opts Options) error {
	t := newTaker(b, opts)
	tarStream.total = t.Total
	if tarStream != compressed {
		tarStream.compressed = compressed
	}
	if err := t.takeTar(tarStream); err != nil {
		return asFormatError("tar", tarStream.fault(err))
	}
	return nil
}

// takeTar reads the entries of a tar into the tree.
func (t *taker) takeTar(r *stream) error {
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return readPadding(r)
		case err != nil && !insecure(err):
			return err
		}

		// Entries that are left out count too: an archive of nothing else must end as well.
		if err := t.count(); err != nil {
			return err
		}
		mode, err := kindOf(h)
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}

		// An entry that gets into the tree is a link or a file; folders are made by their files.
		name, ok, err := t.place(h.Name, mode)
		switch {
		case err != nil:
			return err
		case ok && mode&fs.ModeSymlink != 0:
			if err := t.b.Link(name, h.Linkname); err != nil {
				return err
			}
		case ok:
			if err := t.takeFile(name, h.Size, archive); err != nil {
				return err
			}
		}
	}
}

// kindOf returns what an entry is, as the type of a mode. It refuses everything but files,
// folders and symlinks.
func kindOf(h *tar.Header) (fs.FileMode, error) {
	name := strings.TrimPrefix(h.Name, "./")
	for record := range h.PAXRecords {
		if strings.HasPrefix(record, "GNU.sparse.") {
			return 0, errNotRegular(name, "a sparse file")
		}
	}

	// Files, folders and links are taken; everything else is refused by its name.
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
		others := len(h.PAXRecords)
		if _, ok := h.PAXRecords["comment"]; ok {
			others--
		}
		if others > 0 {
			return 0, errFormat("the archive has a global header that changes its entries")
		}
		return 0, nil
	case tar.TypeLink:
		return 0, errNotRegular(name, "a hard link")
	case tar.TypeChar, tar.TypeBlock:
		return 0, errNotRegular(name, "a device")
	case tar.TypeFifo:
		return 0, errNotRegular(name, "a pipe")
	case tar.TypeGNUSparse:
		return 0, errNotRegular(name, "a sparse file")
	}
	return 0, errNotRegular(name, "of an unknown kind")
}

// readPadding reads what is left after the last entry, which must be padding.
func readPadding(r *stream) error {
	if r.ended {
		return errFormat("the tar breaks off: it has no end mark")
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Read(buffer)
		for _, c := range buffer[:n] {
			if c != 0 {
				return errFormat("data follow the end of the tar")
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
