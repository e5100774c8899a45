// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ChunkSize bounds the bytes of a chunk, far below the limit of a Secret or a message of gRPC.
const ChunkSize = 256 << 10

// Chunk is a part of an encoded snapshot.
type Chunk struct {
	Index int `json:"index"`
	// Sum is the SHA-256 of Data, in hex.
	Sum  string `json:"sum"`
	Data []byte `json:"data"`
}

// ErrCorrupt means that a chunk, or an object, does not match its digest.
var ErrCorrupt = errors.New("corrupt")

// Encode cuts entries into chunks, and calls f with each; the data is valid until f returns.
func Encode(entries []Entry, f func(Chunk) error) error {
	c := cutter{f: f, data: make([]byte, 0, ChunkSize)}
	out := json.NewEncoder(&c)
	out.SetEscapeHTML(false)
	for i := range entries {
		if err := out.Encode(&entries[i]); err != nil {
			return err
		}
	}
	return c.flush()
}

// cutter writes chunks.
type cutter struct {
	f     func(Chunk) error
	index int
	data  []byte
}

// Write implements [io.Writer].
func (c *cutter) Write(p []byte) (n int, err error) {
	for n < len(p) {
		part := p[n:min(len(p), n+ChunkSize-len(c.data))]
		c.data = append(c.data, part...)
		n += len(part)
		if len(c.data) == ChunkSize {
			if err := c.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// flush calls f with the chunk, and begins the next one.
func (c *cutter) flush() error {
	if len(c.data) == 0 {
		return nil
	}
	err := c.f(Chunk{Index: c.index, Sum: Sum(c.data), Data: c.data})
	c.index++
	c.data = c.data[:0]
	return err
}

// Check returns ErrCorrupt for a chunk whose data does not have its sum.
func (c Chunk) Check() error {
	if Sum(c.Data) != c.Sum {
		return fmt.Errorf("chunk %d of %d bytes: %w: its SHA-256 is not the one that was sent with it", c.Index, len(c.Data), ErrCorrupt)
	}
	return nil
}

// Decode reads the chunks of Encode. Next returns them in their order, and io.EOF after the last.
// Entries that do not match the digest of the snapshot are ErrCorrupt. Other errors of next are
// returned as they are.
func Decode(next func() (Chunk, error), digest string) ([]Entry, error) {
	chunks := &joiner{next: next}
	in := json.NewDecoder(chunks)
	var entries []Entry
	for {
		var e Entry
		err := in.Decode(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if chunks.err != nil {
			return nil, chunks.err
		}
		if err != nil {
			return nil, fmt.Errorf("snapshot: entry %d: %w: %w", len(entries), ErrCorrupt, err)
		}
		if Sum(e.Object) != e.Digest {
			return nil, fmt.Errorf("snapshot: %s: %w: it is not what its digest says", e.Ref, ErrCorrupt)
		}
		entries = append(entries, e)
	}
	if got := Digest(entries); got != digest {
		return nil, fmt.Errorf("snapshot: %w: its digest is %q, expected %q", ErrCorrupt, got, digest)
	}
	return entries, nil
}

// joiner reads chunks as one stream.
type joiner struct {
	next func() (Chunk, error)
	left bytes.Reader
	// err is an error of next except io.EOF, or the error about a corrupt chunk.
	err error
}

// Read implements [io.Reader].
func (j *joiner) Read(p []byte) (int, error) {
	for j.left.Len() == 0 {
		c, err := j.next()
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		if err == nil {
			err = c.Check()
		}
		if err != nil {
			j.err = err
			return 0, err
		}
		j.left.Reset(c.Data)
	}
	return j.left.Read(p)
}
