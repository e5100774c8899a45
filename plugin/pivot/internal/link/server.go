// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/netutil"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

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

// ErrAway says that the child has no session.
var ErrAway = errors.New("not connected")

// Server is the end of the parent. Children of all clusters share it.
type Server struct {
	options     ServerOptions
	connections *connections
	admitting   chan struct{}
	lines       *rate.Limiter

	mu       sync.Mutex
	children map[string]*child
}

// NewServer returns a server.
func NewServer(o ServerOptions) (*Server, error) {
	wire.Register()
	if o.TLS == nil || o.Authorize == nil || o.Session == nil {
		return nil, errors.New("a server of the link needs TLS, Authorize and Session")
	}
	if o.Pins == nil {
		o.Pins = func() []string { return nil }
	}
	o.Heartbeat = cmp.Or(o.Heartbeat, 15*time.Second)
	o.Lost = cmp.Or(o.Lost, time.Minute)
	o.Patience = cmp.Or(o.Patience, 90*time.Second)
	o.Answer = cmp.Or(o.Answer, 15*time.Minute)
	o.Connections = cmp.Or(o.Connections, 4096)
	return &Server{
		options: o, connections: newConnections(),
		admitting: make(chan struct{}, admittedAtOnce), lines: rate.NewLimiter(linesRate, linesBurst), children: map[string]*child{},
	}, nil
}

// Serve serves children until ctx ends, and then ends their sessions. It is called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := grpc.NewServer(s.grpc()...)
	defer server.Stop()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName, HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{
			{StreamName: connectName, Handler: func(_ any, stream grpc.ServerStream) error { return s.connect(stream) }, ServerStreams: true, ClientStreams: true},
			{StreamName: bulkName, Handler: func(_ any, stream grpc.ServerStream) error { return s.serveBulk(stream) }, ServerStreams: true, ClientStreams: true},
		},
	}, s)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		for _, c := range s.all() {
			c.cut(status.Error(codes.Unavailable, "the parent is being stopped"))
		}
		hurry := time.AfterFunc(stopWithin, server.Stop)
		defer hurry.Stop()
		server.GracefulStop()
	})
	err := server.Serve(s.connections.listen(netutil.LimitListener(l, s.options.Connections)))
	if !stop() {
		<-ended
		return nil
	}
	return fmt.Errorf("link: %w", err)
}

// Names in the protocol.
const (
	serviceName = "ropewalk.pivot.v1.Link"
	connectName = "Connect"
	bulkName    = "Bulk"
)

// grpc returns the options of gRPC. Buffers are small, because most connections are idle.
func (s *Server) grpc() []grpc.ServerOption {
	const buffer = 4 << 10
	return []grpc.ServerOption{
		grpc.Creds(guard{credentials.NewTLS(s.options.TLS), s.logRefused}),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage), grpc.MaxHeaderListSize(maxHeaders), grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(handshakeWithin),
		grpc.ReadBufferSize(buffer), grpc.WriteBufferSize(buffer),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: time.Minute, Time: keepaliveEvery, Timeout: keepaliveWithin}),
		// A client that keeps to its 30 s is not cut for a ping that comes early.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveEvery / 3, PermitWithoutStream: true}),
	}
}

// logRefused logs a connection that failed. Load balancers that only check whether the port is
// open are not logged.
func (s *Server) logRefused(peer net.Addr, err error) {
	if !errors.Is(err, io.EOF) && s.lines.Allow() {
		s.options.Log.Info("a connection is refused", "peer", peer.String(), "error", err.Error())
	}
}

// logEnd logs the end of a session, or why there is none.
func (s *Server) logEnd(c *connection, err error) {
	if !s.lines.Allow() {
		return
	}
	log := s.options.Log.WithValues("peer", c.RemoteAddr().String(), "key", c.key)
	if n := c.session.Load(); n != nil {
		log = log.WithValues("cluster", n.child.cluster, "session", n.number)
	}
	log.Info("a session has ended", "reason", err.Error())
}

// child returns what the server knows of a cluster. It makes an entry if there is none, because a
// call may wait for the first session.
func (s *Server) child(cluster string) *child {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.children[cluster]
	if c == nil {
		c = &child{server: s, cluster: cluster, calling: make(chan struct{}, 1), sessions: rate.NewLimiter(sessionRate, sessionBurst), changed: make(chan struct{})}
		s.children[cluster] = c
	}
	return c
}

func (s *Server) all() []*child {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*child, 0, len(s.children))
	for _, c := range s.children {
		out = append(out, c)
	}
	return out
}

// Connected reports whether a child has a session.
func (s *Server) Connected(cluster string) bool { return s.child(cluster).current() != nil }

// Drop closes the connections of a public key at once. The key is given as enrol.PublicKeySum
// returns it. Authorize has to refuse it from then on.
func (s *Server) Drop(publicKeySum string) { s.connections.drop(publicKeySum) }

// Bootstrap sends what a cluster begins with. It returns ErrAway if the child has no session. The
// answer is the event BootstrapComplete.
func (s *Server) Bootstrap(ctx context.Context, cluster string, m *wire.Bootstrap) error {
	return s.child(cluster).send(ctx, &wire.FromParent{Message: &wire.FromParent_Bootstrap{Bootstrap: m}})
}

// Reconcile asks a child to reconcile its PivotCluster and its certificate. It returns ErrAway if
// the child has no session.
func (s *Server) Reconcile(ctx context.Context, cluster string) error {
	return s.child(cluster).send(ctx, &wire.FromParent{Message: &wire.FromParent_Reconcile{Reconcile: &wire.Reconcile{Pins: s.options.Pins()}}})
}

// StatusRequest asks a child for ClusterHealth. It returns ErrAway if the child has no session.
func (s *Server) StatusRequest(ctx context.Context, cluster string) error {
	return s.child(cluster).send(ctx, &wire.FromParent{Message: &wire.FromParent_StatusRequest{StatusRequest: &wire.StatusRequest{}}})
}
