// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package unpack reads the archive that a repo-server streams to a plugin, a
// gzip-compressed tar of a repository, into a file system.
//
// # Invariants
//
// Neither the archive nor the tar in it is ever held completely: files are kept in memory
// up to a limit, and the others follow one another in one file without a name. There is
// no tree before the end of the stream was seen and the checksum of all its compressed
// bytes is right.
//
// Names are relative and clean, each occurs once, and none lies below a file. Entries
// other than regular files, folders and symbolic links are refused. Size (compressed,
// unpacked, of a file), entries, depth and the ratio of the compression are bounded, and
// a size that an archive claims takes no memory beyond the limit. The content of .git is
// left out.
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
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/internal/printable"
)

// What callers may match with errors.Is.
var (
	// ErrLimit is an archive over a limit.
	ErrLimit = errors.New("over the limit")
	// ErrArchive says that something is no archive, is damaged, or has entries that no repository
	// has.
	ErrArchive = errors.New("bad archive")
	// ErrChecksum is another archive than the sender announced.
	ErrChecksum = errors.New("wrong checksum")
	// ErrRoom is an error of the disk.
	ErrRoom = errors.New("no room for the archive")
)

// Defaults of [Limits].
const (
	DefaultCompressed = 256 << 20
	DefaultUnpacked   = 1 << 30
	DefaultFile       = 64 << 20
	DefaultMemory     = 64 << 20
	DefaultEntries    = 100_000
	DefaultDepth      = 64
)

// maxRatio limits the bytes that one compressed byte becomes, once an archive has given freeBytes.
// Text of repositories comes to twenty.
const (
	maxRatio  = 200
	freeBytes = 16 << 20
)

// maxTarget limits the target of a symlink, maxName a name, and maxNames all names together, in
// bytes: they stay in memory. The names of 100,000 files come to 10 MiB.
const (
	maxTarget = 4096
	maxName   = 4096
	maxNames  = 16 << 20
)

// Limits bound an archive. One that is zero has its default.
type Limits struct {
	// Compressed limits the bytes of the archive.
	Compressed int64
	// Unpacked limits the bytes of the tar.
	Unpacked int64
	// File limits the bytes of a file that is kept.
	File int64
	// Memory limits the bytes of files that are kept in memory. Further files go into a file in
	// Dir.
	Memory int64
	// Entries limits the entries of all kinds together.
	Entries int
	// Depth limits the folders above an entry.
	Depth int
}

// withDefaults returns the limits with defaults for zero values.
func (l Limits) withDefaults() Limits {
	return Limits{
		Compressed: cmp.Or(l.Compressed, DefaultCompressed), Unpacked: cmp.Or(l.Unpacked, DefaultUnpacked),
		File: cmp.Or(l.File, DefaultFile), Memory: cmp.Or(l.Memory, DefaultMemory),
		Entries: cmp.Or(l.Entries, DefaultEntries), Depth: cmp.Or(l.Depth, DefaultDepth),
	}
}

// Options configure [Read].
type Options struct {
	// Checksum is the SHA-256 of the compressed archive, in hex.
	Checksum string
	// Dir is the folder for the file with what does not stay in memory; the folder of the system if
	// "".
	Dir    string
	Limits Limits
}

// Stats are the sizes of an archive that was read.
type Stats struct {
	Compressed, Unpacked int64
	// Memory and Spooled are the bytes of files that are in memory, and in a file.
	Memory, Spooled int64
	Entries         int
}

// Read reads an archive up to its end. The caller closes the tree. Errors are ErrLimit, ErrArchive,
// ErrChecksum, and the errors of ctx and r as they are.
func Read(ctx context.Context, r io.Reader, opts Options) (*Tree, error) {
	u := &unpacking{
		opts: opts, dirs: map[string]bool{}, limits: opts.Limits.withDefaults(), spool: spool{dir: opts.Dir},
		content:    memfs.Content{Files: map[string][]byte{}, Sections: map[string]*io.SectionReader{}, Links: map[string]string{}},
		compressed: counted{ctx: ctx, from: r, hash: sha256.New()},
	}

	// The whole archive is read before its checksum is known.
	u.compressed.limit = u.limits.Compressed
	err := u.readAll()
	if u.compressed.err != nil {
		// The gzip reader says of any fault below it that the archive is damaged.
		err = u.compressed.err
	}
	if err == nil && !strings.EqualFold(hex.EncodeToString(u.compressed.hash.Sum(nil)), opts.Checksum) {
		err = fmt.Errorf("%w: the archive was truncated or altered in transit", ErrChecksum)
	}

	// On an error nothing is left, not even on disk.
	var tree *memfs.FS
	if err == nil {
		tree, err = u.content.FS()
		if err != nil {
			err = fmt.Errorf("%w: %s", ErrArchive, err.Error())
		}
	}
	if err != nil {
		_ = u.spool.close()
		return nil, err
	}
	u.stats.Compressed = u.compressed.n
	u.stats.Entries = u.entries
	u.stats.Spooled = u.spool.size
	return &Tree{FS: tree, stats: u.stats, spool: u.spool.file}, nil
}

// unpacking is one archive that is being read.
type unpacking struct {
	opts       Options
	limits     Limits
	compressed counted
	content    memfs.Content
	spool      spool
	stats      Stats
	// entries counts the entries of the archive, and names the bytes of their names; dirs are
	// folders, also without an entry.
	entries, names int
	dirs           map[string]bool
	// size counts the bytes of all files.
	size int64
}

// readAll reads the archive, and what follows it.
func (u *unpacking) readAll() error {
	unzipped, err := gzip.NewReader(&u.compressed)
	if err != nil {
		return fmt.Errorf("%w: not gzip: %s", ErrArchive, err.Error())
	}
	plain := &bounded{u: u, from: unzipped}
	err = u.readTar(tar.NewReader(plain))
	if err == nil {
		// What follows the last entry is part of the checksum.
		_, err = io.Copy(io.Discard, plain)
	}
	if err == nil {
		err = u.spool.flush()
	}
	u.stats.Unpacked = plain.n
	switch {
	case plain.err != nil:
		return plain.err
	case err == nil, errors.Is(err, ErrLimit), errors.Is(err, ErrArchive), errors.Is(err, ErrRoom):
		return err
	}
	return fmt.Errorf("%w: %s", ErrArchive, err.Error())
}

// readTar reads the entries of the archive.
func (u *unpacking) readTar(r *tar.Reader) error {
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		u.entries++
		if u.entries > u.limits.Entries {
			return fmt.Errorf("%w: more than %d entries (no flag raises this limit)", ErrLimit, u.limits.Entries)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue // git archive has the commit in a header.
		}
		if err := u.addEntry(h, r); err != nil {
			return err
		}
	}
}

// countName counts a name with its target, and the folders above it.
func (u *unpacking) countName(name, target string) error {
	u.names += len(name) + len(target)
	if u.names > maxNames {
		return fmt.Errorf("%w: the names of the archive have more than %d bytes (no flag raises this limit)", ErrLimit, maxNames)
	}
	for dir := path.Dir(name); dir != "." && !u.dirs[dir]; dir = path.Dir(dir) {
		u.dirs[dir] = true
		if len(u.dirs) > u.limits.Entries {
			return fmt.Errorf("%w: more than %d folders (no flag raises this limit)", ErrLimit, u.limits.Entries)
		}
	}
	return nil
}

// addEntry adds one entry to the tree.
func (u *unpacking) addEntry(h *tar.Header, r io.Reader) error {
	// The name is checked and counted whatever the entry is.
	name, err := u.name(h)
	if err != nil {
		return err
	}
	if name == "." {
		return nil
	}
	inGit := strings.HasPrefix(name, ".git/")
	if err := u.countName(name, h.Linkname); err != nil {
		return err
	}

	// Of .git nothing is kept but its folders.
	switch h.Typeflag {
	case tar.TypeDir:
		u.dirs[name] = true
		u.content.Dirs = append(u.content.Dirs, name)
		return nil
	case tar.TypeSymlink:
		if h.Linkname == "" || len(h.Linkname) > maxTarget {
			return fmt.Errorf("%w: the target of the symbolic link %q has %d bytes, expected 1 to %d", ErrArchive, name, len(h.Linkname), maxTarget)
		}
		if inGit {
			return nil
		}
		if err := u.refuseTwice(name); err != nil {
			return err
		}
		u.content.Links[name] = h.Linkname
		return nil
	case tar.TypeReg:
		// A pack of .git may be larger than any file of a tree: what is not kept counts
		// against the archive as a whole only.
		if inGit {
			return nil
		}
		if h.Size > u.limits.File {
			return fmt.Errorf("%w: %q has %d bytes, and a file may have %d (no flag raises this limit)", ErrLimit, name, h.Size, u.limits.File)
		}
		return u.keepFile(name, h, r)
	}
	return fmt.Errorf("%w: %q is not a regular file, folder or symbolic link", ErrArchive, name)
}

// keepFile keeps the content of a file.
func (u *unpacking) keepFile(name string, h *tar.Header, r io.Reader) error {
	// A sparse file is larger than what the tar has of it.
	u.size += h.Size
	if u.size > u.limits.Unpacked {
		return fmt.Errorf("%w: the files of the archive have more than %d bytes (no flag raises this limit)", ErrLimit, u.limits.Unpacked)
	}
	err := u.refuseTwice(name)
	if err != nil {
		return err
	}
	if u.stats.Memory+h.Size > u.limits.Memory {
		u.content.Sections[name], err = u.spool.add(r)
		return err
	}
	u.content.Files[name], err = keep(r, h.Size)
	u.stats.Memory += h.Size
	return err
}

// refuseTwice refuses a name that the archive holds already, before its content costs anything.
// The name of a folder is refused at the end.
func (u *unpacking) refuseTwice(name string) error {
	_, file := u.content.Files[name]
	_, section := u.content.Sections[name]
	_, link := u.content.Links[name]
	if file || section || link {
		return fmt.Errorf("%w: it holds %q twice", ErrArchive, name)
	}
	return nil
}

// name returns the path of an entry in the tree.
func (u *unpacking) name(h *tar.Header) (string, error) {
	name := h.Name
	if h.Typeflag == tar.TypeDir {
		name = strings.TrimSuffix(name, "/")
		if name == "." || name == "" {
			return ".", nil
		}
	}
	name = strings.TrimPrefix(name, "./")
	if len(name) > maxName {
		return "", fmt.Errorf("%w: the name %q… has %d bytes, and %d are allowed", ErrArchive, printable.Cut(name, 64, ""), len(name), maxName)
	}
	if !fs.ValidPath(name) || name == "." || strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("%w: the name %q is not a clean relative path", ErrArchive, h.Name)
	}
	if depth := strings.Count(name, "/"); depth > u.limits.Depth {
		return "", fmt.Errorf("%w: %q lies %d folders deep, and %d are allowed (no flag raises this limit)",
			ErrLimit, name, depth, u.limits.Depth)
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
	// err ended the stream; nil at its regular end.
	err error
}

// Read reads what was sent, counts it, and adds it to the checksum.
func (c *counted) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	c.err = c.ctx.Err()
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.from.Read(p)
	_, _ = c.hash.Write(p[:n]) // A hash never fails.
	c.n += int64(n)
	if c.n > c.limit {
		err = fmt.Errorf("%w: the archive has more than %d bytes: raise --archive", ErrLimit, c.limit)
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

// Read reads what was unpacked, within the limits of size and of compression.
func (b *bounded) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.from.Read(p)
	b.n += int64(n)
	switch {
	case b.n > b.u.limits.Unpacked:
		b.err = fmt.Errorf("%w: the archive unpacks to more than %d bytes (no flag raises this limit)", ErrLimit, b.u.limits.Unpacked)
	case b.n > freeBytes && b.n > maxRatio*b.u.compressed.n:
		b.err = fmt.Errorf("%w: the archive unpacks to more than %d times its size (no flag raises this limit)", ErrLimit, maxRatio)
	}
	return n, cmp.Or(b.err, err)
}
