// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// The kinds of objects.
const (
	kindCommit = "commit"
	kindTree   = "tree"
	kindBlob   = "blob"
	kindTag    = "tag"
)

// The modes of entries of a tree. Files have others too, for their
// permissions, which do not count.
const (
	modeTree    = "40000"
	modeSymlink = "120000"
	modeGitlink = "160000"
)

// The largest objects that are not files, in bytes.
const (
	maxTree   = 32 << 20
	maxCommit = 1 << 20
	maxLink   = 4096
)

// remote is one repository on a server. It is made for one call of the
// fetcher, and is not safe for concurrent use.
type remote interface {
	// refs lists references: each pattern is a full name or ends with a star.
	refs(ctx context.Context, patterns []string) ([]advert, error)
	// open gets objects, commits or tags, with all the trees of their commits and
	// as few blobs as the server is able to send.
	open(ctx context.Context, ids []string) (objects, error)
	// close gives everything back.
	close()
}

// objects is where the objects of a repository are read from. What it gives is
// always what the id says: its hash has been compared.
type objects interface {
	// read is the kind and content of an object. fits sees kind and size before
	// the content is read, and can refuse it.
	read(id string, fits fits) ([]byte, error)
	// need makes blobs readable that may not be here, in one request.
	need(ctx context.Context, ids []string) error
}

// fits judges an object by kind and size.
type fits func(kind string, size int64) error

// only fits objects of one kind up to a size.
func only(want string, most int64) fits {
	return func(kind string, size int64) error {
		switch {
		case kind != want:
			return source.Refuse(source.ErrDigest, fmt.Sprintf("a %s stands where a %s should be", kind, want))
		case size > most:
			return source.Refuse(source.ErrLimit, fmt.Sprintf("a %s is larger than %d bytes", kind, most))
		}
		return nil
	}
}

// lacking is the error for an object that a server should have sent.
func lacking(id string) error {
	return source.Refuse(source.ErrDigest, fmt.Sprintf("the server did not send object %s, or sent something else in its place", id))
}

// entry is one of a tree.
type entry struct {
	mode, name, id string
}

func (e entry) isFile() bool { return strings.HasPrefix(e.mode, "100") }

// readTree is the entries of a tree; gitformat-tree is in git-mktree(1) and
// Documentation/user-manual: mode, space, name, NUL, hash.
func readTree(from objects, id string) ([]entry, error) {
	data, err := from.read(id, only(kindTree, maxTree))
	if err != nil {
		return nil, err
	}
	var out []entry
	for size := len(id) / 2; len(data) > 0; {
		mode, rest, ok := bytes.Cut(data, []byte{' '})
		name, rest, zero := bytes.Cut(rest, []byte{0})
		if !ok || !zero || len(rest) < size || len(name) == 0 {
			return nil, source.Refuse(source.ErrDigest, fmt.Sprintf("tree %s cannot be read", id))
		}
		e := entry{mode: strings.TrimLeft(string(mode), "0"), name: string(name), id: hex.EncodeToString(rest[:size])}
		if strings.Contains(e.name, "/") || e.name == "." || e.name == ".." {
			return nil, source.Refuse(source.ErrPath, fmt.Sprintf("tree %s has an entry %q", id, e.name))
		}
		out, data = append(out, e), rest[size:]
	}
	return out, nil
}

// readCommit is the text of a commit, with the tree that it names.
func readCommit(from objects, id string) (text []byte, tree string, err error) {
	if text, err = from.read(id, only(kindCommit, maxCommit)); err != nil {
		return nil, "", err
	}
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	tree, ok := strings.CutPrefix(string(line), "tree ")
	if !ok || !isHash(tree) || len(tree) != len(id) {
		return nil, "", source.Refuse(source.ErrDigest, fmt.Sprintf("commit %s names no tree", id))
	}
	return text, tree, nil
}
