// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"connectrpc.com/connect"
	"golang.org/x/sync/semaphore"
)

// messageCost is how many bytes a message takes for each of its own while it is read: the
// buffer that it is received in, which doubles as it grows, and what it is decoded to.
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

// admit waits until there is room for a message of that size; its caller calls release once
// the message is read. A message within Window needs none: it is received before it is read.
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

// body is that of a request, which may be closed while it is read.
type body struct {
	io.Closer
	from *bufio.Reader
	// admit admits the first message by its size; nil once it did.
	admit func(size int64) (release func(), err error)
	// release is called once the first message is read, of which rest bytes are left.
	release func()
	rest    int64
	// err is that of a message that was not admitted.
	err error
}

// prefix is how many bytes precede a message: flags and its size, see
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
	if b.rest -= int64(n); b.release != nil && (b.rest <= 0 || err != nil) {
		b.release()
		b.release = nil
	}
	return n, err
}
