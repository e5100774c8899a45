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
	// KindResolution holds the target of a mutable reference, with the time of the answer.
	KindResolution = "resolution"
	// KindRender is for the results of renders, which plugin/host keeps.
	KindRender = "render"
	// KindModule is for the zips of CUE modules, which source/modules keeps.
	KindModule = "module"
)

const (
	suffix    = ".entry"
	magic     = "ropewalk cache 1 "
	maxKey    = 8 << 10
	maxKind   = 32
	maxHeader = 64 << 10 // more than the header of the longest key, quoted
)

// Entry is one file of a store, with its kind and key.
type Entry struct {
	Kind string `json:"kind"`
	// Key identifies the entry within its kind; "" if its header cannot be read.
	Key string `json:"key,omitempty"`
	// Size is the bytes on disk, with the header.
	Size int64 `json:"size"`
	// Used is the last use, to within a minute.
	Used time.Time `json:"used"`
	// Digest is sha256:<hex> of the content, as the header has it.
	Digest string `json:"digest,omitempty"`
	// File is the path below the directory of the store, with slashes.
	File string `json:"file"`
	// Bad describes a fault of the entry; "" if no fault is known.
	Bad string `json:"bad,omitempty"`
}

// check refuses invalid kinds and keys.
func check(ctx context.Context, kind, key string) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !isKind(kind):
		return errInvalidKind(kind)
	case len(key) > maxKey:
		return source.Refuse(ErrEntry, fmt.Sprintf("a key of %d bytes is too long for the cache: the limit is %d", len(key), maxKey))
	}
	return nil
}

func errInvalidKind(kind string) error {
	return source.Refuse(ErrEntry, fmt.Sprintf("invalid kind of cache entry %q: use lower-case letters", kind))
}

// isKind reports whether a name is valid for a kind, and so for a directory of this store.
func isKind(name string) bool {
	notLetter := func(r rune) bool { return r < 'a' || r > 'z' }
	if name == "" || name == tempDir || name == oldLock {
		return false
	}
	return len(name) <= maxKind && !strings.ContainsFunc(name, notLetter)
}

// isEntry reports whether the file of an entry has such a name. Other files in the directory are
// never touched.
func isEntry(name string) bool {
	stem, ok := strings.CutSuffix(name, suffix)
	raw, err := hex.DecodeString(stem)
	return ok && err == nil && len(raw) == sha256.Size
}

// fileOf returns the path of an entry below the directory of the store.
func fileOf(kind, key string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + key))
	return path.Join(kind, hex.EncodeToString(sum[:])+suffix)
}

// header returns the first line of an entry. There is one way to write it, so that readers
// compare bytes.
func header(kind, key string, data []byte) []byte {
	return fmt.Appendf(nil, magic+"sha256:%x %d %s %q\n", sha256.Sum256(data), len(data), kind, key)
}

// cutHeader returns what comes after the header of an entry; false unless header and content match
// kind and key to the last byte.
func cutHeader(raw []byte, kind, key string) ([]byte, bool) {
	i := bytes.IndexByte(raw, '\n') + 1
	return raw[i:], bytes.Equal(raw[:i], header(kind, key, raw[i:]))
}

// parseHeader reads the header of an entry.
func parseHeader(line string) (e Entry, err error) {
	fields, ok := strings.CutPrefix(line, magic)
	if !ok {
		return e, errors.New("its header is not of this version")
	}
	digest, fields, _ := strings.Cut(fields, " ")
	_, fields, _ = strings.Cut(fields, " ")
	kind, fields, _ := strings.Cut(fields, " ")
	key, err := strconv.Unquote(strings.TrimSuffix(fields, "\n"))
	if err != nil {
		return e, errors.New("its header cannot be parsed")
	}
	return Entry{Kind: kind, Key: key, Digest: digest}, nil
}

// inspect describes an entry by the content of its file, and says what is wrong with it. The
// content itself is read only if verify is true.
func inspect(r io.Reader, file string, verify bool) Entry {
	buffered := bufio.NewReaderSize(r, maxHeader)
	line, err := buffered.ReadSlice('\n')
	if err != nil {
		return Entry{Kind: path.Dir(file), File: file, Bad: "its header is truncated"}
	}

	// An entry must lie where its kind and key put it.
	head := string(line)
	e, err := parseHeader(head)
	switch {
	case err != nil:
		return Entry{Kind: path.Dir(file), File: file, Bad: err.Error()}
	case fileOf(e.Kind, e.Key) != file:
		return Entry{Kind: path.Dir(file), File: file, Bad: "its header is that of another entry"}
	}
	e.File = file
	if !verify {
		return e
	}

	// The header holds the digest of the content.
	data, err := io.ReadAll(buffered)
	switch {
	case err != nil:
		e.Bad = "it cannot be read"
	case head != string(header(e.Kind, e.Key, data)):
		e.Bad = "its content does not match its header"
	}
	return e
}
