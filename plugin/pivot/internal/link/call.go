// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// Link returns the link that carries requests of a pivot to a child, one at a time, across its
// sessions.
//
// A request that was not sent, because the child is away, is refused as Unavailable: it is known
// that it was not carried out. An error means that the request was sent and not answered.
func (s *Server) Link(cluster string) state.Link { return s.child(cluster) }

// errUnanswered ends a call that has waited as long as ServerOptions.Answer.
var errUnanswered = errors.New("no answer in time")

// Call implements [state.Link].
func (c *child) Call(ctx context.Context, r state.Request) (state.Response, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return state.Response{}, err
	}
	if len(data) > maxPayload {
		const format = "%s of cluster %q: the request has %d bytes: at most %d are sent"
		return refused(state.Failed, format, r.Op, c.cluster, len(data), maxPayload), nil
	}

	// One call at a time.
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.Answer, errUnanswered)
	defer cancel()
	select {
	case c.calling <- struct{}{}:
		defer func() { <-c.calling }()
	case <-ctx.Done():
		return refused(state.Unavailable, "%s of cluster %q: another request is under way", r.Op, c.cluster), nil
	}

	// Send the request in each session under the same ID, until it is answered.
	id := rand.Text()
	sent := false
	for {
		n, err := c.await(ctx)
		if err != nil && !sent {
			return refused(state.Unavailable, "%s of cluster %q: %s", r.Op, c.cluster, err), nil
		}
		if err != nil {
			return state.Response{}, fmt.Errorf("%s of cluster %q was sent, and not answered: %w", r.Op, c.cluster, err)
		}
		sent = true
		answer, err := n.ask(ctx, id, data)
		if err != nil {
			continue // In the next session, if there is time.
		}
		var out state.Response
		if err := decode(answer, &out); err != nil {
			return state.Response{}, fmt.Errorf("the answer of cluster %q to %s is not a response: %w", c.cluster, r.Op, err)
		}
		return out, nil
	}
}

// refused returns the response for a request that is not carried out.
func refused(why state.Refusal, format string, args ...any) state.Response {
	return state.Response{Refused: why, Message: fmt.Sprintf(format, args...)}
}

// await returns the session, once there is one.
func (c *child) await(ctx context.Context) (*session, error) {
	patience := time.NewTimer(c.options.Patience)
	defer patience.Stop()
	for {
		n, changed := c.look()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if n != nil {
			return n, nil
		}
		select {
		case <-changed:
		case <-patience.C:
			return nil, fmt.Errorf("%w for %s", ErrAway, c.options.Patience)
		case <-ctx.Done():
		}
	}
}

// ask sends a request in a session, and waits for the answer until the session ends.
func (n *session) ask(ctx context.Context, id string, request []byte) ([]byte, error) {
	answer := make(chan []byte, 1)
	n.mu.Lock()
	n.answers[id] = answer
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		delete(n.answers, id)
		n.mu.Unlock()
	}()
	if err := n.request(ctx, id, request); err != nil {
		return nil, err
	}
	select {
	case data := <-answer:
		return data, nil
	case <-n.ctx.Done():
		return nil, context.Cause(n.ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// request sends a short request on Connect, and a longer one in parts on Bulk.
func (n *session) request(ctx context.Context, id string, request []byte) error {
	if len(request) <= inline {
		pivot := &wire.Pivot{OpId: id, Request: request}
		return put(ctx, n.ctx, n.messages, &wire.FromParent{Message: &wire.FromParent_Pivot{Pivot: pivot}})
	}
	for p := range partsOf(n.number, id, request) {
		if err := put(ctx, n.ctx, n.parts, p); err != nil {
			return err
		}
	}
	return nil
}
