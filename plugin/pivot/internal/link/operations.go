// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"encoding/json"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

const (
	// maxOperations bounds the operations that wait or are under way: a parent has one, and another
	// for each of its processes that has ended meanwhile.
	maxOperations = 8
	// remembered is the number of answers that are kept.
	remembered = 8
)

// handlePivot begins to carry a request out, or to send its answer again. It does not wait.
func (c *Client) handlePivot(ctx context.Context, id string, request []byte) {
	o := &c.operations
	o.mu.Lock()
	defer o.mu.Unlock()
	if op := o.byID[id]; op != nil {
		if op.answer != nil {
			go c.reply(id, op.answer)
		}
		return // An answer that is still missing is sent in the session of its time.
	}
	if len(o.byID)-len(o.done) >= maxOperations {
		go c.reply(id, marshal(refused(state.Unavailable, "%d requests are under way", maxOperations)))
		return
	}
	o.byID[id] = &operation{}
	go c.carryOut(ctx, id, request)
}

// carryOut calls the handler, once the requests before have been carried out.
func (c *Client) carryOut(ctx context.Context, id string, request []byte) {
	o := &c.operations
	select {
	case o.slot <- struct{}{}:
		defer func() { <-o.slot }()
	case <-ctx.Done():
		return
	}
	answer := marshal(c.answer(ctx, request))
	if ctx.Err() != nil {
		return // The answer may be about the end of ctx, and the process ends.
	}
	if len(answer) > maxPayload {
		answer = marshal(refused(state.Failed, "the answer has %d bytes: at most %d are sent", len(answer), maxPayload))
	}

	// Remember the answer, and forget the oldest.
	o.mu.Lock()
	o.byID[id].answer = answer
	o.done = append(o.done, id)
	if len(o.done) > remembered {
		delete(o.byID, o.done[0])
		o.done = o.done[1:]
	}
	o.mu.Unlock()
	c.reply(id, answer)
}

// answer calls the handler. It answers a panic with a refusal.
func (c *Client) answer(ctx context.Context, request []byte) (out state.Response) {
	var r state.Request
	if err := decode(request, &r); err != nil {
		return refused(state.Failed, "the request cannot be read: %s", err)
	}
	problem := c.survive("carrying out a request of the parent", func() { out = c.options.Handler.Pivot(ctx, r) })
	if problem != nil {
		return refused(state.Failed, "the request ended in a panic: see the log of the agent")
	}
	return out
}

// marshal returns the JSON of a response.
func marshal(r state.Response) []byte {
	data, err := json.Marshal(r)
	if err != nil {
		data, _ = json.Marshal(refused(state.Failed, "the answer cannot be written: %s", err)) // It has only strings.
	}
	return data
}

// reply sends an answer in the current session. An answer that cannot be sent is dropped: if there
// is no session, or it ends, the parent sends the request again.
func (c *Client) reply(id string, answer []byte) {
	n := c.session()
	if n == nil {
		return
	}
	if len(answer) <= inline {
		reply := &wire.Reply{OpId: id, Response: answer}
		_ = put(n.ctx, n.ctx, n.messages, &wire.FromChild{Message: &wire.FromChild_Reply{Reply: reply}})
		return
	}
	n.replying.Lock() // Parts of another answer must not come between.
	defer n.replying.Unlock()
	for p := range partsOf(n.number, id, answer) {
		if put(n.ctx, n.ctx, n.parts, p) != nil {
			return
		}
	}
}
