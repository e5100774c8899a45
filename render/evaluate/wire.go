// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A pool and its workers speak in frames over the standard streams of the
// worker: a kind (1 byte), a length (4 bytes, big-endian) and as many bytes.
//
//	pool to worker   hello, then any number of (tree*, evaluate | trace)
//	worker to pool   ready, then one reply for each evaluate or trace
//
// Both ends are the same program, so that the frames carry no schema and no
// version: only the greeting tells a worker from a program that is none.

// frameKind is what a frame holds.
type frameKind byte

const (
	frameHello frameKind = 1 + iota
	frameTree
	frameEvaluate
	frameTrace
	frameReady
	frameReply
)

// greeting is the content of a ready frame.
const greeting = "ropewalk evaluate worker"

// Bounds of a frame. A tree holds at most 64 MiB (see source.Limits), and an
// input at most a part of that.
const (
	frameHead      = 5
	maxRequestSize = 96 << 20
	maxReplySize   = 96 << 20
)

// frame is one message. Its payload is text, so that the strings which are
// decoded from it share its memory instead of being copied.
type frame struct {
	kind    frameKind
	payload string
}

// writeFrame sends one frame. The payload of e begins after room for the head.
func writeFrame(w io.Writer, kind frameKind, e *encoder, limit int) error {
	size := len(e.buf) - frameHead
	if size > limit {
		return &sizeError{size: int64(size), limit: int64(limit)}
	}
	e.buf[0] = byte(kind)
	binary.BigEndian.PutUint32(e.buf[1:frameHead], uint32(size)) //nolint:gosec // size is at most limit
	_, err := w.Write(e.buf)
	return err
}

// sizeError is a frame that is larger than its bound.
type sizeError struct{ size, limit int64 }

// Error is one line.
func (e *sizeError) Error() string {
	return fmt.Sprintf("message of %d bytes is over the limit of %d", e.size, e.limit)
}

// readFrame reads one frame of at most limit bytes. The error is io.EOF only
// where the stream ends between two frames.
func readFrame(r *bufio.Reader, limit int) (frame, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	size := int64(binary.BigEndian.Uint32(head[1:]))
	if size > int64(limit) {
		return frame{}, &sizeError{size: size, limit: int64(limit)}
	}
	var b strings.Builder
	// A head may lie: memory grows only as the bytes arrive.
	b.Grow(int(min(size, 1<<20)))
	if _, err := io.CopyN(&b, r, size); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	return frame{kind: frameKind(head[0]), payload: b.String()}, nil
}
