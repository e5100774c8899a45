// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/klauspost/compress/gzip"
)

// Defaults of [Options].
const (
	DefaultSize   = 256 << 20
	DefaultMemory = 4 << 20
)

// maxEntries is how many entries an archive may have, as those that are unpacked.
const maxEntries = 100_000

// ErrLimit says that an archive would be over a limit.
var ErrLimit = errors.New("over the limit")

// Options say how an archive is made.
type Options struct {
	// Dir is where the file is made that holds what does not stay in memory; the
	// system's own place for such files where "".
	Dir string
	// Size is how many bytes the archive may have; DefaultSize where zero.
	Size int64
	// Memory is how many bytes of it stay in memory; DefaultMemory where zero.
	Memory int
}

// Entry is one that an archive is to have.
type Entry struct {
	// Name is the path in the file system.
	Name string
	Mode fs.FileMode
	// Empty leaves the content of a file out.
	Empty bool
}

// All are the entries of a file system, but for the content of .git.
func All(ctx context.Context, files fs.FS) ([]Entry, error) {
	var out []Entry
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err = cmp.Or(err, ctx.Err()); err != nil || name == "." {
			return err
		}
		if len(out) == maxEntries {
			return fmt.Errorf("%w: more than %d files and folders", ErrLimit, maxEntries)
		}
		if name == ".git" && d.IsDir() {
			return fs.SkipDir
		}
		mode := d.Type()
		if mode.IsRegular() {
			info, err := d.Info()
			if err != nil {
				return err
			}
			mode = info.Mode()
		}
		out = append(out, Entry{Name: name, Mode: mode})
		return nil
	})
	return out, err
}

// Archive is one that was made. Its owner closes it.
type Archive struct {
	// Checksum is the SHA-256 of its bytes, in hex.
	Checksum string
	// Size is how many bytes it has.
	Size int64
	body *spool
}

// Reader reads it from its beginning. There is one at a time.
func (a *Archive) Reader() io.Reader { return a.body.reader() }

// Close gives back what does not lie in memory.
func (a *Archive) Close() error { return a.body.Close() }

// Make makes the archive of entries, which are sorted by name and each of which
// stands once. Errors are ErrLimit, that of ctx, and those of the file systems.
func Make(ctx context.Context, files fs.FS, entries []Entry, opts Options) (*Archive, error) {
	body := &spool{dir: opts.Dir, limit: cmp.Or(opts.Size, DefaultSize), memory: cmp.Or(opts.Memory, DefaultMemory)}
	sum := sha256.New()
	if err := write(ctx, io.MultiWriter(body, sum), files, entries); err != nil {
		return nil, errors.Join(err, body.Close())
	}
	return &Archive{Checksum: hex.EncodeToString(sum.Sum(nil)), Size: body.size, body: body}, nil
}

func write(ctx context.Context, to io.Writer, files fs.FS, entries []Entry) error {
	// It goes to the next container, once.
	zipped, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return err
	}
	w := tar.NewWriter(zipped)
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := add(w, files, e); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return zipped.Close()
}

// add writes one entry.
func add(w *tar.Writer, files fs.FS, e Entry) error {
	h := &tar.Header{Name: e.Name, Typeflag: tar.TypeReg, Mode: 0o644, ModTime: time.Unix(0, 0)}
	switch {
	case e.Mode.IsDir():
		h.Name, h.Typeflag, h.Mode = e.Name+"/", tar.TypeDir, 0o755
		return w.WriteHeader(h)
	case e.Mode.Type() == fs.ModeSymlink:
		to, err := fs.ReadLink(files, e.Name)
		if err != nil {
			return err
		}
		h.Typeflag, h.Mode, h.Linkname = tar.TypeSymlink, 0o777, to
		return w.WriteHeader(h)
	case !e.Mode.IsRegular():
		return nil
	}
	if e.Mode&0o111 != 0 {
		h.Mode = 0o755
	}
	if e.Empty {
		return w.WriteHeader(h)
	}
	return content(w, h, files, e.Name)
}

// content writes a file with what is in it.
func content(w *tar.Writer, h *tar.Header, files fs.FS, name string) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q changed while it was read", name)
	}
	h.Size = info.Size()
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(f, h.Size))
	if err == nil && n < h.Size {
		err = fmt.Errorf("%q changed while it was read", name)
	}
	return err
}

// spool is bytes in memory, and beyond that in a file.
type spool struct {
	dir    string
	limit  int64
	memory int
	size   int64
	first  bytes.Buffer
	file   *os.File
}

// Write adds to it.
func (s *spool) Write(p []byte) (int, error) {
	if s.size += int64(len(p)); s.size > s.limit {
		return 0, fmt.Errorf("%w: the archive has more than %d bytes", ErrLimit, s.limit)
	}
	if s.file == nil && s.first.Len()+len(p) <= s.memory {
		return s.first.Write(p)
	}
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, ".ropewalk-*")
		if err != nil {
			return 0, err
		}
		s.file = f
		// Nobody else needs its name, and nothing stays when the process is killed.
		if err := os.Remove(f.Name()); err != nil {
			return 0, err
		}
	}
	return s.file.Write(p)
}

func (s *spool) reader() io.Reader {
	first := bytes.NewReader(s.first.Bytes())
	if s.file == nil {
		return first
	}
	return io.MultiReader(first, io.NewSectionReader(s.file, 0, s.size-int64(s.first.Len())))
}

// Close removes it.
func (s *spool) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
