// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os/exec"
	"strconv"
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
	modeFile    = "100644"
	modeTree    = "40000"
	modeSymlink = "120000"
	modeGitlink = "160000"
)

// The largest objects that are not files, in bytes.
const (
	maxTree   = 32 << 20
	maxCommit = 1 << 20
)

// remote is one repository on a server. It is made for one call of the
// fetcher, and is not safe for concurrent use.
type remote interface {
	// listRefs lists references: each pattern is a full name or ends with a star.
	listRefs(ctx context.Context, patterns []string) ([]advert, error)
	// open fetches a commit, with all its trees and as few blobs as the server is
	// able to send, and the tag that leads to it where signed needs that.
	open(ctx context.Context, c chosen, signed bool) (objects, error)
	// close releases everything.
	close()
}

// objects reads the objects of a repository. The content always belongs to the id: its hash has
// been compared.
type objects interface {
	// read returns the content of an object of one kind and up to a size. It is refused
	// before it is read: ErrDigest for another kind, ErrLimit for another size.
	read(id, kind string, most int64) ([]byte, error)
}

// partial is objects of which blobs are fetched before they are read.
type partial interface {
	objects
	// fetchBlobs fetches blobs, in one request.
	fetchBlobs(ctx context.Context, ids []string) error
}

// checkFits refuses an object of another kind, or one that is too large.
func checkFits(kind string, size int64, want string, most int64) error {
	switch {
	case kind != want:
		return source.Refuse(source.ErrDigest, fmt.Sprintf("found a %s where a %s is expected", kind, want))
	case size > most:
		return source.OverLimit("a %s is larger than %d bytes", kind, most)
	}
	return nil
}

// errLacking returns the error for an object that a server should have sent.
func errLacking(id string) error {
	return source.Refuse(source.ErrDigest, fmt.Sprintf("object %s is missing from what the server sent, or damaged", id))
}

// entry is one of a tree.
type entry struct {
	mode, name, id string
}

func (e entry) isFile() bool { return strings.HasPrefix(e.mode, "100") }

// readTree returns the entries of a tree; gitformat-tree is in git-mktree(1) and
// Documentation/user-manual: mode, space, name, NUL, hash.
func readTree(stored objects, id string) ([]entry, error) {
	data, err := stored.read(id, kindTree, maxTree)
	if err != nil {
		return nil, err
	}
	var out []entry
	for size := len(id) / 2; len(data) > 0; {
		mode, remaining, ok := bytes.Cut(data, []byte{' '})
		name, remaining, zero := bytes.Cut(remaining, []byte{0})
		isWhole := ok && zero && len(remaining) >= size
		if !isWhole || len(name) == 0 {
			return nil, source.Refuse(source.ErrDigest, fmt.Sprintf("tree %s cannot be read", id))
		}
		e := entry{mode: strings.TrimLeft(string(mode), "0"), name: string(name), id: hex.EncodeToString(remaining[:size])}
		// What is hidden is in no module, but must not be a folder of Git all the same.
		isBadHidden := e.name[0] == '.' && source.CheckPath(e.name) != nil
		if strings.Contains(e.name, "/") || isBadHidden {
			return nil, source.Refuse(source.ErrPath, fmt.Sprintf("tree %s has an entry %q", id, e.name))
		}
		out = append(out, e)
		data = remaining[size:]
	}
	return out, nil
}

// readCommit returns the text of a commit, and the tree that it names.
func readCommit(stored objects, id string) (text []byte, tree string, err error) {
	text, err = stored.read(id, kindCommit, maxCommit)
	if err != nil {
		return nil, "", err
	}
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	tree, ok := strings.CutPrefix(string(line), "tree ")
	if !ok || !isHash(tree) || len(tree) != len(id) {
		return nil, "", source.Refuse(source.ErrDigest, fmt.Sprintf("commit %s names no tree", id))
	}
	return text, tree, nil
}

// batch is a running git cat-file --batch.
type batch struct {
	// ended is the reason for which the process was ended, if it was.
	ended func() error
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	done  bool
}

var _ objects = (*batch)(nil)

// newBatch starts git cat-file in a folder and an environment, which lead to the
// repository; the environment must not allow a protocol.
func newBatch(ctx context.Context, binary, dir string, env []string) (*batch, error) {
	cmd := exec.CommandContext(ctx, binary, "cat-file", "--batch") //nolint:gosec // the binary is an option of the caller
	cmd.Dir, cmd.Env = dir, env
	isolate(cmd)
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%q cannot be run: %w", binary, err)
	}
	return &batch{ended: ctx.Err, cmd: cmd, in: input, out: bufio.NewReaderSize(out, 32<<10)}, nil
}

// read reads one object. After an error the process must not be used again.
func (b *batch) read(id, kind string, most int64) ([]byte, error) {
	if _, err := io.WriteString(b.in, id+"\n"); err != nil {
		return nil, b.errLost(id)
	}
	line, err := b.out.ReadString('\n')
	if err != nil {
		return nil, b.errLost(id)
	}
	fields := strings.Fields(line)
	if len(fields) != 3 || fields[0] != id {
		return nil, b.errLost(id)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return nil, b.errLost(id)
	}
	if err := checkFits(fields[1], size, kind, most); err != nil {
		return nil, err
	}
	data := make([]byte, size+1) // a line end follows
	if _, err := io.ReadFull(b.out, data); err != nil {
		return nil, b.errLost(id)
	}
	return data[:size:size], nil
}

// errLost returns the error for an object that cannot be read.
func (b *batch) errLost(id string) error {
	if err := b.ended(); err != nil {
		return err
	}
	return errLacking(id)
}

// stop ends the process.
func (b *batch) stop() {
	if b.done {
		return
	}
	b.done = true
	_ = b.in.Close()
	_ = b.cmd.Cancel() // it may have ended
	_ = b.cmd.Wait()   // how it ended does not count any more
}
