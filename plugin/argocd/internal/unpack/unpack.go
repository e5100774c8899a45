// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Defaults of [Limits].
const (
	DefaultCompressed = 256 << 20
	DefaultUnpacked   = 1 << 30
	DefaultFile       = 64 << 20
	DefaultMemory     = 64 << 20
	DefaultElsewhere  = 256 << 10
	DefaultEntries    = 100_000
	DefaultDepth      = 64
)

// maxRatio is how many bytes one compressed byte may become once an archive has
// given freeBytes. Text of repositories comes to twenty.
const (
	maxRatio  = 200
	freeBytes = 16 << 20
)

// maxTarget is how long the target of a symlink may be.
const maxTarget = 4096

// Limits bound an archive. Where one is zero, it is its default.
type Limits struct {
	// Compressed is how many bytes the archive may have.
	Compressed int64
	// Unpacked is how many bytes the tar may have.
	Unpacked int64
	// File is how many bytes one file may have that is kept.
	File int64
	// Memory is how many bytes of files are kept in memory, those of the
	// application first, and Elsewhere how many of files outside of its folder.
	// What is more goes into a file in Dir.
	Memory, Elsewhere int64
	// Entries is how many entries of any kind there may be.
	Entries int
	// Depth is how many folders deep an entry may lie.
	Depth int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Compressed: cmp.Or(l.Compressed, DefaultCompressed), Unpacked: cmp.Or(l.Unpacked, DefaultUnpacked),
		File: cmp.Or(l.File, DefaultFile), Memory: cmp.Or(l.Memory, DefaultMemory),
		Elsewhere: cmp.Or(l.Elsewhere, DefaultElsewhere),
		Entries:   cmp.Or(l.Entries, DefaultEntries), Depth: cmp.Or(l.Depth, DefaultDepth),
	}
}

// Options say how an archive is read.
type Options struct {
	// Checksum is the SHA-256 of the compressed archive, in hex.
	Checksum string
	// App is the folder of the application; "." is the root.
	App string
	// Dir is where the file is made that holds what does not stay in memory; the
	// system's own place for such files where "".
	Dir    string
	Limits Limits
}

// Stats say what an archive came to.
type Stats struct {
	Compressed, Unpacked int64
	// Memory and Spooled are the bytes of files that are in memory, and in a file.
	Memory, Spooled int64
	Entries         int
}

// Read reads an archive up to its end. The caller closes the tree. Errors are
// ErrLimit, ErrArchive, ErrChecksum, those of ctx and those of r as they are.
func Read(ctx context.Context, r io.Reader, opts Options) (*Tree, error) {
	u := &unpacking{
		opts: opts, limits: opts.Limits.withDefaults(), tree: newTree(opts.Dir),
		compressed: counted{ctx: ctx, from: r, hash: sha256.New()},
	}
	u.compressed.limit = u.limits.Compressed
	err := u.all()
	if u.compressed.err != nil {
		// The gzip reader says of any fault below it that the archive is damaged.
		err = u.compressed.err
	}
	if err == nil && !u.compressed.is(opts.Checksum) {
		err = errOther()
	}
	if err != nil {
		_ = u.tree.Close()
		return nil, err
	}
	u.tree.stats.Compressed, u.tree.stats.Entries = u.compressed.n, u.entries
	return u.tree, nil
}

// Check reads an archive up to its end and takes nothing of it, where what is in it
// is known already. Errors are ErrLimit, ErrChecksum, those of ctx and those of r.
func Check(ctx context.Context, r io.Reader, opts Options) (Stats, error) {
	c := counted{ctx: ctx, from: r, hash: sha256.New(), limit: opts.Limits.withDefaults().Compressed}
	_, err := io.Copy(io.Discard, &c)
	if c.err != nil {
		err = c.err
	}
	if err == nil && !c.is(opts.Checksum) {
		err = errOther()
	}
	return Stats{Compressed: c.n}, err
}

// is reports whether what was read has a checksum.
func (c *counted) is(checksum string) bool {
	return strings.EqualFold(hex.EncodeToString(c.hash.Sum(nil)), checksum)
}

func errOther() error {
	return fmt.Errorf("%w: the archive is not the one that was announced: it was cut short or altered on its way", ErrChecksum)
}

// unpacking is one archive that is being read.
type unpacking struct {
	opts       Options
	limits     Limits
	tree       *Tree
	compressed counted
	entries    int
	// content is the size of all files that were taken.
	content int64
}

func (u *unpacking) all() error {
	unzipped, err := gzip.NewReader(&u.compressed)
	if err != nil {
		return fmt.Errorf("%w: no gzip: %s", ErrArchive, err.Error())
	}
	plain := &bounded{u: u, from: unzipped}
	err = u.tar(tar.NewReader(plain))
	if err == nil {
		// What follows the last entry is part of the checksum.
		_, err = io.Copy(io.Discard, plain)
	}
	if err == nil {
		err = u.tree.flush()
	}
	u.tree.stats.Unpacked = plain.n
	switch {
	case plain.err != nil:
		return plain.err
	case err == nil || errors.Is(err, ErrLimit) || errors.Is(err, ErrArchive) || errors.Is(err, ErrRoom):
		return err
	}
	return fmt.Errorf("%w: %s", ErrArchive, err.Error())
}

func (u *unpacking) tar(r *tar.Reader) error {
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if u.entries++; u.entries > u.limits.Entries {
			return fmt.Errorf("%w: more than %d entries", ErrLimit, u.limits.Entries)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue // git archive says the commit in one.
		}
		if err := u.entry(h, r); err != nil {
			return err
		}
	}
}

// entry takes one entry into the tree.
func (u *unpacking) entry(h *tar.Header, r io.Reader) error {
	name, err := u.name(h)
	if err != nil {
		return err
	}
	if name == "." {
		return nil
	}
	inGit := strings.HasPrefix(name, ".git/")
	switch h.Typeflag {
	case tar.TypeDir:
		return u.tree.folder(name)
	case tar.TypeSymlink:
		if h.Linkname == "" || len(h.Linkname) > maxTarget {
			return fmt.Errorf("%w: the target of the link %q has %d bytes", ErrArchive, name, len(h.Linkname))
		}
		if inGit {
			return nil
		}
		return u.tree.add(name, &node{mode: fs.ModeSymlink | 0o777, target: h.Linkname, size: int64(len(h.Linkname))})
	case tar.TypeReg:
		// A pack of .git may be larger than any file of a tree: what is not kept counts
		// against the archive as a whole only.
		if inGit {
			return nil
		}
		if h.Size > u.limits.File {
			return fmt.Errorf("%w: %q has %d bytes, and a file may have %d", ErrLimit, name, h.Size, u.limits.File)
		}
		return u.file(name, h, r)
	}
	return fmt.Errorf("%w: %q is no regular file, folder or symlink", ErrArchive, name)
}

// file keeps the content of a file.
func (u *unpacking) file(name string, h *tar.Header, r io.Reader) error {
	// A sparse file is larger than what the tar has of it.
	if u.content += h.Size; u.content > u.limits.Unpacked {
		return fmt.Errorf("%w: the files of the archive have more than %d bytes", ErrLimit, u.limits.Unpacked)
	}
	n := &node{mode: 0o644, size: h.Size}
	if h.Mode&0o111 != 0 {
		n.mode = 0o755
	}
	// A name that cannot be is refused before its content costs anything.
	if err := u.tree.add(name, n); err != nil {
		return err
	}
	mine := u.opts.App == "." || strings.HasPrefix(name, u.opts.App+"/")
	kept := u.tree.stats.Memory + h.Size
	if kept <= u.limits.Memory && (mine || u.tree.elsewhere+h.Size <= u.limits.Elsewhere) {
		if !mine {
			u.tree.elsewhere += h.Size
		}
		return u.tree.keep(n, r)
	}
	return u.tree.spoolFile(n, r)
}

// name is the path of an entry in the tree.
func (u *unpacking) name(h *tar.Header) (string, error) {
	name := h.Name
	if h.Typeflag == tar.TypeDir {
		if name = strings.TrimSuffix(name, "/"); name == "." || name == "" {
			return ".", nil
		}
	}
	name = strings.TrimPrefix(name, "./")
	if !fs.ValidPath(name) || name == "." || strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("%w: the name %q is no clean path in a repository", ErrArchive, h.Name)
	}
	if depth := strings.Count(name, "/"); depth > u.limits.Depth {
		return "", fmt.Errorf("%w: %q lies %d folders deep, and %d are allowed", ErrLimit, name, depth, u.limits.Depth)
	}
	return name, nil
}

// counted is the compressed stream.
type counted struct {
	ctx   context.Context //nolint:containedctx // it lives as long as one call of Read
	from  io.Reader
	hash  hash.Hash
	limit int64
	n     int64
	// err is what ended the stream, other than its end.
	err error
}

func (c *counted) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.err = c.ctx.Err(); c.err != nil {
		return 0, c.err
	}
	n, err := c.from.Read(p)
	_, _ = c.hash.Write(p[:n]) // A hash never fails.
	if c.n += int64(n); c.n > c.limit {
		err = fmt.Errorf("%w: the archive has more than %d bytes", ErrLimit, c.limit)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// bounded is the tar.
type bounded struct {
	u    *unpacking
	from io.Reader
	n    int64
	err  error
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.from.Read(p)
	b.n += int64(n)
	switch {
	case b.n > b.u.limits.Unpacked:
		b.err = fmt.Errorf("%w: the archive unpacks to more than %d bytes", ErrLimit, b.u.limits.Unpacked)
	case b.n > freeBytes && b.n > maxRatio*b.u.compressed.n:
		b.err = fmt.Errorf("%w: the archive unpacks to more than %d times its size", ErrLimit, maxRatio)
	}
	return n, cmp.Or(b.err, err)
}
