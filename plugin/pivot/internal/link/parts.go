// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
)

// put hands a message to the writer of a session, unless the session or the caller ends before.
func put[M any](ctx, session context.Context, queue chan<- *M, m *M) error {
	select {
	case queue <- m:
		return nil
	case <-session.Done():
		return context.Cause(session)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write sends the messages of a queue until the session ends.
func write[M any](session context.Context, queue <-chan *M, send func(*M) error) error {
	for {
		select {
		case <-session.Done():
			return context.Cause(session)
		case m := <-queue:
			if err := send(m); err != nil {
				return err
			}
		}
	}
}

// read calls handle with each message, at the rate of the limit, until the session ends.
func read[M any](session context.Context, receive func() (*M, error), limit *rate.Limiter, handle func(*M) error) error {
	for {
		m, err := receive()
		if err == nil {
			err = limit.Wait(session)
		}
		if err == nil {
			err = handle(m)
		}
		if err != nil {
			return err
		}
	}
}

const (
	// inline bounds the bytes that are sent on Connect; larger payloads go in parts.
	inline = 16 << 10
	// partSize is small enough that other streams of the connection do not wait for a part.
	partSize = 64 << 10
)

// partsOf returns a payload cut into parts.
func partsOf(session int64, id string, data []byte) iter.Seq[*wire.Part] {
	return func(yield func(*wire.Part) bool) {
		for {
			n := min(partSize, len(data))
			last := n == len(data)
			if !yield(&wire.Part{Session: session, OpId: id, Data: data[:n], Last: last}) || last {
				return
			}
			data = data[n:]
		}
	}
}

// decode reads the JSON of a peer. A text of very many empty values would take a hundred times
// its size in memory.
func decode(data []byte, target any) error {
	if n := bytes.Count(data, []byte(",")); n > maxValues {
		return fmt.Errorf("it has %d commas: at most %d are read", n, maxValues)
	}
	return json.Unmarshal(data, target)
}

// joiner makes payloads of their parts.
type joiner struct {
	session int64
	// wanted reports whether a payload is kept; others are read and dropped.
	wanted func(id string) bool
	// deliver receives a complete payload.
	deliver func(id string, data []byte)

	id   string
	data []byte
}

// add takes the next part. A part of another payload than the one before begins a new payload.
func (j *joiner) add(p *wire.Part) error {
	if p.GetSession() != j.session {
		return status.Errorf(codes.FailedPrecondition, "a part of session %d was sent in session %d", p.GetSession(), j.session)
	}
	if p.GetOpId() != j.id || !j.wanted(j.id) {
		j.id, j.data = p.GetOpId(), nil
	}
	if !j.wanted(j.id) {
		return nil
	}
	if len(j.data)+len(p.GetData()) > maxPayload {
		return status.Errorf(codes.ResourceExhausted, "the payload of %q has more than %d bytes", j.id, maxPayload)
	}
	j.data = append(j.data, p.GetData()...)
	if p.GetLast() {
		j.deliver(j.id, j.data)
		j.id, j.data = "", nil
	}
	return nil
}
