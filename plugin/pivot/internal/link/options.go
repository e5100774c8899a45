// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/go-logr/logr"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
)

// Events are called with the reports of children. The cluster comes from the certificate. The
// messages are as the child made them: at most 16 KiB, and not to be trusted. The events of a
// cluster are called one after the other, and its next message is read once they return. Nil events
// are skipped.
type Events struct {
	// AgentReady begins a session; its error ends it, and is sent to the child.
	AgentReady        func(ctx context.Context, cluster string, m *wire.AgentReady) error
	Heartbeat         func(ctx context.Context, cluster string, m *wire.Heartbeat)
	ClusterHealth     func(ctx context.Context, cluster string, m *wire.ClusterHealth)
	BootstrapComplete func(ctx context.Context, cluster string, m *wire.BootstrapComplete)
	PivotComplete     func(ctx context.Context, cluster string, m *wire.PivotComplete)
	// Lost is called once nothing was received since a time, for as long as ServerOptions.Lost. It
	// is not called again until the child is back.
	Lost func(cluster string, since time.Time)
}

// ServerOptions configure a Server. Options that state a default may be zero.
type ServerOptions struct {
	// TLS has to verify the certificate of the client.
	TLS *tls.Config
	// Authorize returns the cluster of a connection, whose certificate TLS has verified: see
	// enrol.PeerOf. It is called at the begin of each session; its error is sent to the child.
	Authorize func(ctx context.Context, peer tls.ConnectionState) (cluster string, err error)
	// Session returns the number of a new session of a cluster: higher than all before, also the
	// numbers that a Server which has ended has used.
	Session func(ctx context.Context, cluster string) (int64, error)
	// Pins returns the pins of the parent's current authorities: a child that has others renews its
	// certificate. It may be nil.
	Pins   func() []string
	Events Events
	// Heartbeat is the interval between two heartbeats of a child, 15 s by default.
	Heartbeat time.Duration
	// Lost is the time without a message until a child is lost, 60 s by default.
	Lost time.Duration
	// Patience bounds how long a call waits for a session, 90 s by default.
	Patience time.Duration
	// Answer bounds how long a call waits for its answer in all, 15 min by default.
	Answer time.Duration
	// Connections bounds the open connections, 4,096 by default. Others wait.
	Connections int
	// Log receives connections that are refused, and sessions that end.
	Log logr.Logger
}

// Limits for the work that a peer causes at the other end. A peer that sends more than messageRate
// is read no faster, so that flow control holds it up.
const (
	maxMessage      = 1 << 20  // bytes of any message
	maxLevel        = 16 << 10 // bytes of a message of a child, but for replies
	maxPayload      = 16 << 20 // bytes of a request, or of an answer, in all its parts
	maxValues       = 1 << 18  // in the JSON of a request, or of an answer
	maxHeaders      = 8 << 10
	maxStreams      = 4    // of a connection
	maxPerKey       = 4    // connections
	maxPending      = 2048 // connections without a certificate
	maxPendingEach  = 1024 // of them, of one address
	messageRate     = 200
	messageBurst    = 400
	sessionRate     = 1 // of a cluster, in a second
	sessionBurst    = 60
	linesRate       = 10 // of the log, in a second
	linesBurst      = 100
	admittedAtOnce  = 64 // children whose session is being begun
	handshakeWithin = 20 * time.Second
	readyWithin     = 10 * time.Second
	sendWithin      = time.Second     // of a message, but for requests of pivots, to a child that may not read
	endWithin       = time.Second     // until the connection of a session that has ended is cut
	stopWithin      = 5 * time.Second // of a server
	keepaliveEvery  = 30 * time.Second
	keepaliveWithin = 10 * time.Second
)

// Names in the protocol.
const (
	serviceName = "ropewalk.pivot.v1.Link"
	connectName = "Connect"
	bulkName    = "Bulk"
)
