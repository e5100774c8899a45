// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
)

// receiver is the messages of a stream.
type receiver interface {
	Recv() (*wire.Part, error)
}

// within reads from a stream until ctx ends, and for a time at most where one is given: the
// stream itself knows no deadline, and clients that stop sending would hold their slots
// until that of the request. A read that ends later ends with the request, and its result
// goes to late.
func within[T any](ctx context.Context, s *Server, most time.Duration, read func() (T, error), late func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var out result
		out.err = s.work(ctx, func() (err error) {
			out.value, err = read()
			return err
		})
		done <- out
	}()
	var silent <-chan time.Time
	if most > 0 {
		timer := time.NewTimer(most)
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
		err = fmt.Errorf("%w within %s (--read-timeout)", errSilent, most)
	}
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

// maxDiscard is how long the rest of a stream is read after an error: a repo-server sends
// a gigabyte in it.
const maxDiscard = 5 * time.Second

// first is the metadata of a stream, its first message. It may come as late as the request
// itself: the repo-server opens the stream before it packs the repository, which takes
// minutes where many are packed at once, and the request has no slot yet.
func (s *Server) first(ctx context.Context, stream receiver) (*wire.Metadata, error) {
	first, err := within(ctx, s, 0, stream.Recv, func(*wire.Part) {})
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

// drain reads a stream whose content is not needed: the repo-server takes a response in
// the middle of it for an error.
func (s *Server) drain(ctx context.Context, stream receiver) error {
	_, err := within(ctx, s, s.opts.Read, func() (struct{}, error) {
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
