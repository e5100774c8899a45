// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/semaphore"

	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
)

// receiver is the messages of a stream.
type receiver interface {
	Recv() (*wire.Part, error)
}

// readWithin reads from a stream until ctx ends, and for at most a time if one is given. The stream
// itself knows no deadline, and clients that stop sending would hold their slots until the deadline
// of the request. A read that ends later ends with the request, and its result is passed to late.
func readWithin[T any](ctx context.Context, s *Server, silence time.Duration, read func() (T, error), late func(T)) (T, error) {
	// The read cannot be ended, so it has a goroutine.
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var out result
		out.err = s.runCounted(ctx, func() (err error) {
			out.value, err = read()
			return err
		})
		done <- out
	}()

	// The first of result, deadline and silence counts.
	var silent <-chan time.Time
	if silence > 0 {
		timer := time.NewTimer(silence)
		defer timer.Stop()
		silent = timer.C
	}
	var err error
	select {
	case out := <-done:
		return out.value, out.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-silent:
		err = fmt.Errorf("%w within %s (--read-timeout)", errSilent, silence)
	}

	// What comes later is released.
	go func() {
		if out := <-done; out.err == nil {
			late(out.value)
		}
	}()
	var none T
	return none, err
}

// discard reads what is left of a stream after an error, within bounds: a repo-server
// that still sends when the response comes reports "error sending stream: EOF" instead of
// the error.
func (s *Server) discard(ctx context.Context, stream receiver) {
	ctx, cancel := context.WithTimeout(ctx, maxDiscard)
	defer cancel()
	_ = s.drain(ctx, stream)
}

// maxDiscard bounds the time for which the rest of a stream is read after an error: a repo-server
// sends a gigabyte in it.
const maxDiscard = 5 * time.Second

// readFirst returns the metadata of a stream, its first message. It may come as late as the
// request itself: the repo-server opens the stream before it packs the repository, which takes
// minutes if many are packed at once, and the request has no slot yet.
func (s *Server) readFirst(ctx context.Context, stream receiver) (*wire.Metadata, error) {
	first, err := readWithin(ctx, s, 0, stream.Recv, func(*wire.Part) {})
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: the stream is empty", errRequest)
	}
	return first.GetMetadata(), err
}

// chunks is the archive of a stream.
type chunks struct {
	from receiver
	rest []byte
}

// Read reads the archive, which is the chunks of the messages after the first.
func (c *chunks) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		part, err := c.from.Recv()
		if err != nil {
			return 0, err
		}
		if part.GetFile() == nil {
			return 0, fmt.Errorf("%w: expected chunks of the archive after the metadata", errRequest)
		}
		c.rest = part.GetFile().GetChunk()
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// drain reads a stream whose content is not needed: the repo-server takes a response in the middle
// of it for an error.
func (s *Server) drain(ctx context.Context, stream receiver) error {
	_, err := readWithin(ctx, s, s.opts.Read, func() (struct{}, error) {
		for {
			if _, err := stream.Recv(); err != nil {
				if errors.Is(err, io.EOF) {
					err = nil
				}
				return struct{}{}, err
			}
		}
	}, func(struct{}) {})
	return err
}

// messageCost is the memory for each byte of a message while it is read: for the buffer that
// receives it, which doubles as it grows, and for the decoded message.
const messageCost = 3

// intake bounds what the first messages of all requests take together while they are read.
// They hold the variables, which users write, and no request has a slot before its first
// message is read. The others have a slot, and are chunks of a size that the operator sets.
type intake struct {
	limit int64
	room  *semaphore.Weighted
}

// newIntake returns an intake of limit bytes; 0 is no limit.
func newIntake(limit int64) *intake {
	return &intake{limit: limit, room: semaphore.NewWeighted(limit)}
}

// admit waits until there is room for a message of that size. The caller calls release once the
// message is read. A message within Window needs no room: it is received before it is read.
func (i *intake) admit(ctx context.Context, size int64) (release func(), err error) {
	takes := size * messageCost
	switch {
	case i.limit == 0 || size <= Window:
		return func() {}, nil
	case takes > i.limit:
		return nil, connect.NewError(connect.CodeResourceExhausted, fmt.Errorf(
			"%w: the variables of the application have %d bytes, and %d are allowed: use a values file, or raise --memory-total",
			errLarge, size, i.limit/messageCost))
	}
	if err := i.room.Acquire(ctx, takes); err != nil {
		return nil, err
	}
	return func() { i.room.Release(takes) }, nil
}

// body is the body of a request, which may be closed while it is read.
type body struct {
	io.Closer
	from *bufio.Reader
	// admit admits the first message by its size; nil once it did.
	admit func(size int64) (release func(), err error)
	// release is called once the first message is read, of which rest bytes are left.
	release func()
	rest    int64
	// err is the error of a message that was not admitted.
	err error
}

// prefix counts the bytes that precede a message: flags and its size, see
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md.
const prefix = 5

// Read reads what follows, and waits before the first message until it is admitted.
func (b *body) Read(p []byte) (n int, err error) {
	if b.admit != nil {
		head, err := b.from.Peek(prefix)
		if err != nil {
			return 0, err
		}
		size := int64(binary.BigEndian.Uint32(head[1:]))
		b.rest = prefix + size
		b.release, b.err = b.admit(size)
		b.admit = nil
	}
	if b.err != nil {
		// A repo-server that still sends does not read the error.
		_, _ = io.Copy(io.Discard, b.from)
		return 0, b.err
	}
	n, err = b.from.Read(p)
	b.rest -= int64(n)
	if b.release != nil && (b.rest <= 0 || err != nil) {
		b.release()
		b.release = nil
	}
	return n, err
}
