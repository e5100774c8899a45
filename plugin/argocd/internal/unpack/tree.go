// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// maxLinks is how many symlinks one path may lead over.
const maxLinks = 40

// Tree is an archive that was read. It is a file system with symlinks, in which
// nothing leads out of its root, and safe for concurrent use.
type Tree struct {
	root  *node
	dir   string
	spool *os.File
	// writer is that of the spool while the archive is read.
	writer *spoolWriter
	// written is how much of the spool is in use.
	written   int64
	elsewhere int64
	// block is what is left of the memory that small files share.
	block []byte
	stats Stats
}

var (
	_ fs.ReadLinkFS = (*Tree)(nil)
	_ fs.ReadFileFS = (*Tree)(nil)
	_ fs.ReadDirFS  = (*Tree)(nil)
	_ fs.StatFS     = (*Tree)(nil)
)

// node is a file, a folder or a link.
type node struct {
	name   string
	mode   fs.FileMode
	size   int64
	target string
	// data is the content; where it is nil and spooled is set, that is in the spool
	// from offset on.
	data    []byte
	spooled bool
	offset  int64
	entries map[string]*node
}

func newTree(dir string) *Tree { return &Tree{root: newFolder("."), dir: dir} }

func newFolder(name string) *node {
	return &node{name: name, mode: fs.ModeDir | 0o755, entries: map[string]*node{}}
}

// Stats is what the archive came to.
func (t *Tree) Stats() Stats { return t.stats }

// Close gives back what does not lie in memory. Nothing is read after it.
func (t *Tree) Close() error {
	if t.spool == nil {
		return nil
	}
	return t.spool.Close()
}

// folder makes a folder with those above it, where they are not there yet.
func (t *Tree) folder(name string) error {
	_, err := t.within(name)
	return err
}

func (t *Tree) within(name string) (*node, error) {
	at := t.root
	for part := range strings.SplitSeq(name, "/") {
		next, ok := at.entries[part]
		if !ok {
			next = newFolder(part)
			at.entries[part] = next
		}
		if !next.mode.IsDir() {
			return nil, fmt.Errorf("%w: %q is or lies below a file that the archive holds too", ErrArchive, name)
		}
		at = next
	}
	return at, nil
}

// add adds a file or a link.
func (t *Tree) add(name string, n *node) error {
	at := t.root
	if dir := path.Dir(name); dir != "." {
		var err error
		if at, err = t.within(dir); err != nil {
			return err
		}
	}
	n.name = path.Base(name)
	if _, twice := at.entries[n.name]; twice {
		return fmt.Errorf("%w: it holds %q twice", ErrArchive, name)
	}
	at.entries[n.name] = n
	return nil
}

// believed is how many bytes an archive may claim of a file before they are there.
const believed = 64 << 10

// Files of up to smallFile bytes share blocks of memory, the largest of which has
// largestBlock: rounding up each by itself costs an eighth.
const (
	smallFile    = 8 << 10
	largestBlock = 64 << 10
)

// room is memory for a small file. A block is no larger than what is kept already,
// so that a small archive takes little.
func (t *Tree) room(size int64) []byte {
	if int64(len(t.block)) < size {
		t.block = make([]byte, min(largestBlock, max(smallFile, t.stats.Memory)))
	}
	out := t.block[:size:size]
	t.block = t.block[size:]
	return out
}

// keep reads the content of n into memory, and leaves no more garbage than half of
// it: a size is believed as far as twice of what came.
func (t *Tree) keep(n *node, r io.Reader) error {
	if n.size <= smallFile {
		n.data = t.room(n.size)
		_, err := io.ReadFull(r, n.data)
		t.stats.Memory += n.size
		return err
	}
	n.data = make([]byte, min(n.size, believed))
	for read := 0; ; {
		size, err := io.ReadFull(r, n.data[read:])
		if err != nil {
			return err
		}
		if read += size; int64(read) == n.size {
			t.stats.Memory += n.size
			return nil
		}
		more := make([]byte, min(n.size, 2*int64(read)))
		copy(more, n.data)
		n.data = more
	}
}

// spoolFile reads the content of n into the spool.
func (t *Tree) spoolFile(n *node, r io.Reader) error {
	if t.spool == nil {
		f, err := os.CreateTemp(t.dir, ".ropewalk-*")
		if err != nil {
			return fmt.Errorf("%w: %w", ErrRoom, err)
		}
		t.spool, t.writer = f, &spoolWriter{to: f, buf: make([]byte, 0, spoolBuffer)}
		// Nobody else needs its name, and nothing stays when the process is killed.
		if err := os.Remove(f.Name()); err != nil {
			return fmt.Errorf("%w: %w", ErrRoom, err)
		}
	}
	n.spooled, n.offset = true, t.written
	size, err := t.writer.ReadFrom(r)
	t.written += size
	t.stats.Spooled += size
	return err
}

// flush ends the tree and its spool; they are only read from after that.
func (t *Tree) flush() error {
	t.block = nil
	if t.writer == nil {
		return nil
	}
	err := t.writer.flush()
	t.writer = nil
	return err
}

// spoolBuffer is how much is written to the spool at once.
const spoolBuffer = 128 << 10

// spoolWriter gathers small files to large writes.
type spoolWriter struct {
	to  io.Writer
	buf []byte
}

// ReadFrom takes all of r. Errors of r come out as they are.
func (s *spoolWriter) ReadFrom(r io.Reader) (int64, error) {
	var size int64
	for {
		if len(s.buf) == cap(s.buf) {
			if err := s.flush(); err != nil {
				return size, err
			}
		}
		n, err := r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		size += int64(n)
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
	}
}

func (s *spoolWriter) flush() error {
	_, err := s.to.Write(s.buf)
	s.buf = s.buf[:0]
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRoom, err)
	}
	return nil
}

// direct is what lies at a valid name, which costs no memory; nil where nothing does
// or the way there leads over a link.
func (t *Tree) direct(name string) *node {
	if name == "." {
		return t.root
	}
	at := t.root
	for more := true; more && at != nil; {
		var part string
		part, name, more = strings.Cut(name, "/")
		at = at.entries[part] // A file and a link have none.
	}
	return at
}

// find is what lies at a name; follow says that a link at its end is followed.
func (t *Tree) find(op, name string, follow bool) (*node, error) {
	fail := func(err error) (*node, error) { return nil, &fs.PathError{Op: op, Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	if n := t.direct(name); n != nil && (n.mode&fs.ModeSymlink == 0 || !follow) {
		return n, nil
	}
	above := []*node{t.root}
	todo := strings.Split(name, "/")
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(above) == 1 {
				return fail(errOutside)
			}
			above = above[:len(above)-1]
			continue
		}
		at := above[len(above)-1]
		if !at.mode.IsDir() {
			return fail(fs.ErrNotExist)
		}
		next, ok := at.entries[part]
		switch {
		case !ok:
			return fail(fs.ErrNotExist)
		case next.mode&fs.ModeSymlink == 0 || len(todo) == 0 && !follow:
			above = append(above, next)
			continue
		case strings.HasPrefix(next.target, "/"):
			return fail(errOutside)
		}
		if links++; links > maxLinks {
			return fail(errLoop)
		}
		todo = append(strings.Split(next.target, "/"), todo...)
	}
	return above[len(above)-1], nil
}

// Open opens what lies at a name, behind links.
func (t *Tree) Open(name string) (fs.File, error) {
	n, err := t.find("open", name, true)
	if err != nil {
		return nil, err
	}
	info := fileInfo{node: n, name: path.Base(name)}
	if n.mode.IsDir() {
		return &openFolder{info: info, entries: n.list()}, nil
	}
	return &openFile{info: info, SectionReader: t.content(n)}, nil
}

// content reads a file.
func (t *Tree) content(n *node) *io.SectionReader {
	if n.spooled {
		return io.NewSectionReader(t.spool, n.offset, n.size)
	}
	return io.NewSectionReader(bytes.NewReader(n.data), 0, int64(len(n.data)))
}

// ReadFile is the content of a file. It belongs to the caller.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	n, err := t.find("open", name, true)
	if err != nil {
		return nil, err
	}
	if n.mode.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a directory")}
	}
	data := make([]byte, n.size)
	_, err = io.ReadFull(t.content(n), data)
	return data, err
}

// ReadDir lists a folder, sorted by name.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.find("open", name, true)
	if err != nil {
		return nil, err
	}
	if !n.mode.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	return n.list(), nil
}

// Stat describes what lies at a name, behind links.
func (t *Tree) Stat(name string) (fs.FileInfo, error) { return t.info("stat", name, true) }

// Lstat describes what lies at a name, which may be a link.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) { return t.info("lstat", name, false) }

func (t *Tree) info(op, name string, follow bool) (fs.FileInfo, error) {
	n, err := t.find(op, name, follow)
	if err != nil {
		return nil, err
	}
	return fileInfo{node: n, name: path.Base(name)}, nil
}

// ReadLink is the target of a link as it is written.
func (t *Tree) ReadLink(name string) (string, error) {
	n, err := t.find("readlink", name, false)
	if err != nil {
		return "", err
	}
	if n.mode&fs.ModeSymlink == 0 {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return n.target, nil
}

// list is the entries of a folder, sorted by name.
func (n *node) list() []fs.DirEntry {
	out := make([]fs.DirEntry, 0, len(n.entries))
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		out = append(out, fileInfo{node: n.entries[name], name: name})
	}
	return out
}

// fileInfo describes a node, and is an entry of its folder.
type fileInfo struct {
	node *node
	name string
}

// Name is the last element of the path by which it was asked for.
func (i fileInfo) Name() string { return i.name }

// Size is that of a file, or of the target of a link.
func (i fileInfo) Size() int64 { return i.node.size }

// Mode is its type with plain permissions.
func (i fileInfo) Mode() fs.FileMode { return i.node.mode }

// Type is the type alone.
func (i fileInfo) Type() fs.FileMode { return i.node.mode.Type() }

// ModTime is zero: nothing may depend on when a repository was checked out.
func (i fileInfo) ModTime() time.Time { return time.Time{} }

// IsDir reports whether it is a folder.
func (i fileInfo) IsDir() bool { return i.node.mode.IsDir() }

// Sys is nil.
func (i fileInfo) Sys() any { return nil }

// Info is the same.
func (i fileInfo) Info() (fs.FileInfo, error) { return i, nil }

// openFile is a file that is being read.
type openFile struct {
	*io.SectionReader
	info fileInfo
}

// Stat describes it.
func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close has nothing to give back.
func (f *openFile) Close() error { return nil }

// openFolder is a folder that is being read.
type openFolder struct {
	info    fileInfo
	entries []fs.DirEntry
}

// Stat describes it.
func (f *openFolder) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close has nothing to give back.
func (f *openFolder) Close() error { return nil }

// Read refuses: a folder has no bytes.
func (f *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.name, Err: errors.New("is a directory")}
}

// ReadDir is as that of fs.ReadDirFile.
func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		out := f.entries
		f.entries = nil
		return out, nil
	}
	if len(f.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.entries))
	out := f.entries[:n]
	f.entries = f.entries[n:]
	return out, nil
}
