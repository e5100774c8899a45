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

// Events are called with what children report. The cluster is that of the certificate, and
// the messages are as the child made them: at most 16 KiB, and not to be trusted. Those of one
// cluster are called one after the other, and its next message is read once they return. Nil
// ones are skipped.
type Events struct {
	// AgentReady begins a session; its error ends it, and is sent to the child.
	AgentReady        func(ctx context.Context, cluster string, m *wire.AgentReady) error
	Heartbeat         func(ctx context.Context, cluster string, m *wire.Heartbeat)
	ClusterHealth     func(ctx context.Context, cluster string, m *wire.ClusterHealth)
	BootstrapComplete func(ctx context.Context, cluster string, m *wire.BootstrapComplete)
	PivotComplete     func(ctx context.Context, cluster string, m *wire.PivotComplete)
	// Lost: nothing was received since the given time, for as long as ServerOptions.Lost. It is
	// called once, until the child is there again.
	Lost func(cluster string, since time.Time)
}

// ServerOptions are those of a Server. The zero value is good for those that state a default.
type ServerOptions struct {
	// TLS has to verify the certificate of the client.
	TLS *tls.Config
	// Authorize is the cluster of a connection, whose certificate TLS has verified: see
	// enrol.PeerOf. It is called at the begin of each session; its error is sent to the child.
	Authorize func(ctx context.Context, peer tls.ConnectionState) (cluster string, err error)
	// Session is the number of a new session of a cluster: higher than all before, also than
	// those of a Server that has ended.
	Session func(ctx context.Context, cluster string) (int64, error)
	// Pins are those of the authorities of the parent now: a child that has others renews its
	// certificate. It may be nil.
	Pins   func() []string
	Events Events
	// Heartbeat is the interval between two heartbeats of a child, 15 s.
	Heartbeat time.Duration
	// Lost is how long nothing is received until a child is lost, 60 s.
	Lost time.Duration
	// Patience is how long a call waits for a session, 90 s.
	Patience time.Duration
	// Answer is how long a call waits for its answer in all, 15 min.
	Answer time.Duration
	// Connections is how many there are at most, 4,096. Others wait.
	Connections int
	// Log takes connections that are refused, and sessions that end.
	Log logr.Logger
}

// Limits of what a peer can make the other end do. A peer that sends more than messageRate is
// read no faster, so that flow control holds it up.
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
