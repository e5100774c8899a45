// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/ropewalk/ropewalk/source"
)

// Kinds of entries. A kind is a lower-case word; others may be added.
const (
	// KindTree is the canonical tar of a tree, by scope and digest.
	KindTree = "tree"
	// KindPointer is the tree that an immutable reference leads to.
	KindPointer = "pointer"
	// KindResolution is where a mutable reference led, and when.
	KindResolution = "resolution"
	// KindRender is for the results of renders, which plugin/host keeps.
	KindRender = "render"
	// KindModule is for the zips of CUE modules, which source/modules keeps.
	KindModule = "module"
)

const (
	suffix   = ".entry"
	magic    = "ropewalk cache 1 "
	maxKey   = 8 << 10
	maxKind  = 32
	maxFirst = 64 << 10 // more than the header of the longest key, quoted
)

// Entry is what a store holds under a kind and a key.
type Entry struct {
	Kind string
	// Key is what the entry was put under; "" where its header is not legible.
	Key string
	// Size is the bytes on disk, with the header.
	Size int64
	// Used is the last use, to within a minute.
	Used time.Time
	// Digest is sha256:<hex> of the content, as the header says.
	Digest string
	// File is the path below the directory of the store, with slashes.
	File string
	// Bad says what is wrong with the entry; "" where nothing is known to be.
	Bad string
}

// check refuses kinds and keys that have no place in a store.
func check(ctx context.Context, kind, key string) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !isKind(kind):
		return source.Refuse(ErrEntry, fmt.Sprintf("%q is no kind of entry: use lower-case letters", kind))
	case len(key) > maxKey:
		return source.Refuse(ErrEntry, fmt.Sprintf("a key of %d bytes is too long for the cache: the limit is %d", len(key), maxKey))
	}
	return nil
}

// isKind reports whether a name is that of a kind, and so of a folder of ours.
func isKind(name string) bool {
	notLetter := func(r rune) bool { return r < 'a' || r > 'z' }
	return name != "" && len(name) <= maxKind && name != tempDir && name != lockFile && !strings.ContainsFunc(name, notLetter)
}

// isEntry reports whether a name is that of the file of an entry. Whatever
// else lies in the directory is not ours and never touched.
func isEntry(name string) bool {
	stem, ok := strings.CutSuffix(name, suffix)
	raw, err := hex.DecodeString(stem)
	return ok && err == nil && len(raw) == sha256.Size
}

// fileOf is the path of an entry below the directory of the store.
func fileOf(kind, key string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + key))
	return path.Join(kind, hex.EncodeToString(sum[:])+suffix)
}

// header is the first line of an entry. There is one way to write it, so that
// readers compare bytes.
func header(kind, key string, size int64, sum []byte) []byte {
	return fmt.Appendf(nil, magic+"sha256:%x %d %s %q\n", sum, size, kind, key)
}

// content is what comes after the header of an entry, and false where header
// and content are not those of kind and key to the last byte.
func content(raw []byte, kind, key string) ([]byte, bool) {
	i := bytes.IndexByte(raw, '\n') + 1
	data := raw[i:]
	sum := sha256.Sum256(data)
	return data, bytes.Equal(raw[:i], header(kind, key, int64(len(data)), sum[:]))
}

// first reads the header of an entry.
func first(r *bufio.Reader) (line []byte, e Entry, err error) {
	line, err = r.ReadSlice('\n')
	if err != nil {
		return nil, e, errors.New("its header is cut short")
	}
	rest, ok := strings.CutPrefix(string(line), magic)
	if !ok {
		return nil, e, errors.New("it has no header of this version")
	}
	digest, rest, _ := strings.Cut(rest, " ")
	_, rest, _ = strings.Cut(rest, " ")
	kind, rest, _ := strings.Cut(rest, " ")
	key, err := strconv.Unquote(strings.TrimSuffix(rest, "\n"))
	if err != nil {
		return nil, e, errors.New("its header is not legible")
	}
	return line, Entry{Kind: kind, Key: key, Digest: digest}, nil
}

// inspect reads an entry from its file and says what it is, and what is wrong
// with it; the content is read only where whole is asked for.
func inspect(r io.Reader, file string, whole bool) Entry {
	buffered := bufio.NewReaderSize(r, maxFirst)
	line, e, err := first(buffered)
	e.File = file
	switch {
	case err != nil:
		return Entry{Kind: path.Dir(file), File: file, Bad: err.Error()}
	case fileOf(e.Kind, e.Key) != file:
		return Entry{Kind: path.Dir(file), File: file, Bad: "its header is that of another entry"}
	case !whole:
		return e
	}
	// The header is kept: the buffer that it lies in is used for the content.
	line = bytes.Clone(line)
	sum, size, err := digest(buffered)
	switch {
	case err != nil:
		e.Bad = "it cannot be read"
	case !bytes.Equal(line, header(e.Kind, e.Key, size, sum.Sum(nil))):
		e.Bad = "its content is not what its header says"
	}
	return e
}

func digest(r io.Reader) (hash.Hash, int64, error) {
	sum := sha256.New()
	size, err := io.Copy(sum, r)
	return sum, size, err
}
