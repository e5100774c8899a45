// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// A pool and its workers exchange frames over the standard streams of the
// worker: a length (4 bytes, big-endian) and as many bytes of CBOR.
//
//	pool to worker   hello, then any number of messages
//	worker to pool   the greeting, then one reply for each call
//
// Both ends are of one build, so that the frames carry no version. The greeting tells a
// worker from another program, and from a worker of another release.

// greeting is the first frame that a worker sends, with its release after it.
const greeting = "ropewalk evaluate worker"

// maxFrame bounds a frame. A tree holds at most 64 MiB (see source.Limits), and an
// input at most a part of that.
const maxFrame = 96 << 20

// codec writes and reads messages. The encoding is deterministic, so that equal
// requests have equal bytes.
type codec struct {
	enc cbor.EncMode
	dec cbor.DecMode
	max int64 // bytes of a frame
}

func newCodec() (codec, error) {
	enc, err := encMode()
	if err != nil {
		return codec{}, err
	}
	dec, err := cbor.DecOptions{
		IntDec:         cbor.IntDecConvertSignedOrFail,
		DefaultMapType: reflect.TypeFor[map[string]any](),
		// What users wrote need not be UTF-8.
		UTF8: cbor.UTF8DecodeInvalid,
		// The size of a frame bounds all of these.
		MaxNestedLevels: math.MaxUint16, MaxArrayElements: math.MaxInt32, MaxMapPairs: math.MaxInt32,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
	}.DecMode()
	return codec{enc: enc, dec: dec, max: maxFrame}, err
}

func encMode() (cbor.EncMode, error) { return cbor.CoreDetEncOptions().EncMode() }

// Sum returns the SHA-256 and the size of the encoding of v, which is a request or a part of a
// request, as it is sent to workers. Equal values have equal sums. Trees are not part of the
// encoding, only their digests.
func Sum(v any) (sum [sha256.Size]byte, size int64, err error) {
	enc, err := encMode()
	if err != nil {
		return sum, 0, err
	}
	data, err := enc.Marshal(v)
	return sha256.Sum256(data), int64(len(data)), err
}

// marshal returns v as a frame.
func (c codec) marshal(v any) ([]byte, error) {
	data, err := c.enc.Marshal(v)
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > c.max {
		return nil, &sizeError{size: int64(len(data)), limit: c.max}
	}
	frame := make([]byte, 4, 4+len(data))
	binary.BigEndian.PutUint32(frame, uint32(len(data))) //nolint:gosec // at most maxFrame
	return append(frame, data...), nil
}

// send writes v as one frame.
func (c codec) send(w io.Writer, v any) error {
	frame, err := c.marshal(v)
	if err == nil {
		_, err = w.Write(frame)
	}
	return err
}

// receive reads one frame of at most limit bytes into v.
func (c codec) receive(r *bufio.Reader, limit int64, v any) error {
	data, err := readFrame(r, limit)
	if err != nil {
		return err
	}
	return c.dec.Unmarshal(data, v)
}

// sizeError reports a frame over its bound.
type sizeError struct{ size, limit int64 }

// Error returns a text of one line.
func (e *sizeError) Error() string {
	return fmt.Sprintf("message of %d bytes exceeds the limit of %d", e.size, e.limit)
}

// readFrame reads the content of one frame. The error is io.EOF only if the stream ends between two
// frames.
func readFrame(r *bufio.Reader, limit int64) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(head[:]))
	if size > limit {
		return nil, &sizeError{size: size, limit: limit}
	}
	// The length may be wrong: memory grows only as the bytes arrive.
	data, err := io.ReadAll(io.LimitReader(r, size))
	if err == nil && int64(len(data)) < size {
		err = io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return data, err
}
