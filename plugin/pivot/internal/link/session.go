// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
)

// session is a session of a child, on the parent.
type session struct {
	cluster    string
	number     int64
	connection net.Conn
	// ctx ends with the session; its cause is sent to the child.
	ctx      context.Context
	cancel   context.CancelCauseFunc
	messages chan *wire.FromParent
	parts    chan *wire.Part
	bulked   atomic.Bool

	mu sync.Mutex
	// answers are the channels of the calls that wait, by op_id.
	answers map[string]chan []byte
}

// end ends a session, and closes its connection if the child does not.
func (n *session) end(err error) {
	n.cancel(err)
	time.AfterFunc(endWithin, func() { _ = n.connection.Close() })
}

// deliverAnswer hands an answer to the call that waits for it. An answer that comes late is
// dropped.
func (n *session) deliverAnswer(id string, data []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c, ok := n.answers[id]; ok {
		delete(n.answers, id)
		c <- data // The channel has room for an answer.
	}
}

// awaits reports whether a call waits for an answer.
func (n *session) awaits(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.answers[id]
	return ok
}
