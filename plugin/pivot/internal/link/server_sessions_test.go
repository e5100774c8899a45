// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// dial is a connection of a client that keeps to nothing.
func (p *parent) dial(c tls.Certificate) *grpc.ClientConn {
	p.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+p.address, grpc.WithTransportCredentials(credentials.NewTLS(p.client(c))))
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// raw is a connection without any stream.
func (p *parent) raw(c tls.Certificate) net.Conn {
	p.t.Helper()
	config := p.client(c)
	config.NextProtos = []string{"h2"}
	conn, err := tls.Dial("tcp", p.address, config)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, http2.ClientPreface)
	require.NoError(p.t, err)
	require.NoError(p.t, http2.NewFramer(conn, conn).WriteSettings())
	return conn
}

func begin(t testing.TB, conn *grpc.ClientConn, method string) grpc.ClientStream {
	t.Helper()
	s, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/"+serviceName+"/"+method)
	require.NoError(t, err)
	return s
}

func ready() *wire.FromChild {
	return &wire.FromChild{Message: &wire.FromChild_AgentReady{AgentReady: &wire.AgentReady{Protocol: 1, AgentVersion: "raw"}}}
}

func heartbeat(state string) *wire.FromChild {
	return &wire.FromChild{Message: &wire.FromChild_Heartbeat{Heartbeat: &wire.Heartbeat{State: state}}}
}

// session begins one.
func (p *parent) session(conn *grpc.ClientConn) (*clientConnect, int64) {
	p.t.Helper()
	s := &clientConnect{ClientStream: begin(p.t, conn, connectName)}
	require.NoError(p.t, s.Send(ready()))
	m, err := s.Recv()
	require.NoError(p.t, err)
	require.Equal(p.t, int64(50), m.GetWelcome().GetHeartbeatMs())
	return s, m.GetWelcome().GetSession()
}

// ends reads until a stream ends.
func ends(t testing.TB, s grpc.ClientStream) error {
	t.Helper()
	for {
		if err := s.RecvMsg(&wire.FromParent{}); err != nil {
			return err
		}
	}
}

func TestAnOlderSessionIsFenced(t *testing.T) {
	p := newParent(t, nil)
	c := p.agent("blue", time.Hour)
	first, n := p.session(p.dial(c))
	require.Equal(t, int64(1), n)
	require.NoError(t, first.Send(heartbeat("first")))
	p.sees("blue: heartbeat first")
	second, n := p.session(p.dial(c))
	require.Equal(t, int64(2), n)
	err := ends(t, first)
	require.Equal(t, codes.Aborted, status.Code(err))
	require.ErrorContains(t, err, "session 2 of the cluster has begun, so that 1 is over")
	_ = first.Send(heartbeat("late")) // It goes nowhere.
	require.NoError(t, second.Send(heartbeat("second")))
	p.sees("blue: heartbeat second")
	require.Equal(t, 0, p.count("blue: heartbeat late"))
	p.logs("a session has ended", `"cluster"="blue" "session"=1`, "session 2 of the cluster has begun")
}

// TestANumberThatIsNotTheNewest comes to a parent that was slow to begin the session.
func TestANumberThatIsNotTheNewest(t *testing.T) {
	numbers := make(chan int64, 2)
	p := newParent(t, func(o *ServerOptions) {
		o.Session = func(context.Context, string) (int64, error) { return <-numbers, nil }
	})
	c := p.agent("blue", time.Hour)
	numbers <- 7
	newest, _ := p.session(p.dial(c))
	for _, n := range []int64{6, 7} {
		numbers <- n
		late := begin(t, p.dial(c), connectName)
		require.NoError(t, late.SendMsg(ready()))
		require.Equal(t, codes.Aborted, status.Code(ends(t, late)))
	}
	require.NoError(t, newest.Send(heartbeat("newest")))
	p.sees("blue: heartbeat newest")
}

// TestTwoClientsWithOneCertificate cannot both be served. They take turns, ever more slowly.
func TestTwoClientsWithOneCertificate(t *testing.T) {
	t.Parallel()
	p := newParent(t, nil)
	c := p.agent("blue", time.Hour)
	slowly := func(o *ClientOptions) { o.Backoff, o.MaxBackoff = 100*time.Millisecond, time.Minute }
	a, b := p.join(p.address, c, slowly), p.join(p.address, c, slowly)
	require.Never(t, func() bool { return p.sessionsOf()["blue"] > 30 }, 3*time.Second, 10*time.Millisecond, "they wait longer and longer")
	require.Greater(t, p.sessionsOf()["blue"], int64(1))
	a.stop()
	p.connected("blue")
	out, err := p.Link("blue").Call(t.Context(), state.Request{Op: state.Hello})
	require.NoError(t, err)
	require.Equal(t, "Hello", out.Message)
	require.Equal(t, 0, a.handled())
	require.Equal(t, 1, b.handled())
}

// TestAStolenKeyIsCutAtOnce blocks the key of an agent that is connected, and of one that only
// has a connection.
func TestAStolenKeyIsCutAtOnce(t *testing.T) {
	p := newParent(t, nil)
	stolen, other := p.agent("blue", time.Hour), p.agent("blue", time.Hour)
	s, _ := p.session(p.dial(stolen))
	idle := p.raw(stolen)
	// The settings of HTTP/2 come after the handshake, by which the server knows the key.
	_, err := io.ReadFull(idle, make([]byte, 9))
	require.NoError(t, err)
	p.mu.Lock()
	p.blocked[sum(t, stolen)] = true
	p.mu.Unlock()
	p.Drop(sum(t, other))
	p.connected("blue")

	begun := time.Now()
	p.Drop(sum(t, stolen))
	require.Error(t, ends(t, s))
	require.NoError(t, idle.SetReadDeadline(begun.Add(time.Second)))
	_, err = io.Copy(io.Discard, idle)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "a connection without a session is cut, too")
	require.Less(t, time.Since(begun), time.Second)
	require.False(t, p.Connected("blue"))
	again := begin(t, p.dial(stolen), connectName)
	require.NoError(t, again.SendMsg(ready()))
	err = ends(t, again)
	require.Equal(t, codes.PermissionDenied, status.Code(err))
	require.ErrorContains(t, err, "the key is on the block list")
	p.session(p.dial(other))
	require.Equal(t, int64(2), p.sessionsOf()["blue"], "no number is given to a key that is blocked")
	p.logs(`"cluster"="blue" "session"=1`, sum(t, stolen), "the key is blocked")
	p.logs(sum(t, stolen), "the key is on the block list")
}

func TestASessionEndsWithItsCertificate(t *testing.T) {
	t.Parallel()
	p := newParent(t, nil)
	s, _ := p.session(p.dial(p.agent("blue", 3*time.Second)))
	err := ends(t, s)
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	require.ErrorContains(t, err, "expired")
	require.False(t, p.Connected("blue"))
}

// TestARenewedCertificateIsUsed has sessions with certificates that expire, of which the client
// gets a new one each time.
func TestARenewedCertificateIsUsed(t *testing.T) {
	t.Parallel()
	p := newParent(t, nil)
	p.join(p.address, tls.Certificate{}, func(o *ClientOptions) {
		o.Parent = func(context.Context) (Parent, error) {
			return Parent{Address: p.address, TLS: p.client(p.agent("blue", 2*time.Second))}, nil
		}
	})
	require.Eventually(t, func() bool { return p.count("blue: ready v1") >= 3 }, 20*time.Second, 10*time.Millisecond)
}

// TestCertificatesOfTheEnrolment has those that agents get, and the authority changes.
func TestCertificatesOfTheEnrolment(t *testing.T) {
	authority, err := enrol.NewAuthority(time.Now())
	require.NoError(t, err)
	endpoint := enrol.NewEndpoint(authority, []string{"127.0.0.1"}, time.Now)
	p := newParent(t, func(o *ServerOptions) { o.TLS = endpoint.TLS(tls.RequireAndVerifyClientCert, "h2") })
	key, err := enrol.NewKey()
	require.NoError(t, err)
	credentials := func() *enrol.Credentials {
		c, err := authority.Issue(&key.PublicKey, enrol.Identity{Parent: "parent", Cluster: "blue"}, time.Now())
		require.NoError(t, err)
		return &enrol.Credentials{Key: key, Certificate: c, Trust: authority.Trust()}
	}
	var agent atomic.Pointer[enrol.Credentials]
	agent.Store(credentials())
	between := newProxy(t, p.address)
	p.join(between.address, tls.Certificate{}, func(o *ClientOptions) {
		o.Parent = func(context.Context) (Parent, error) {
			return Parent{Address: between.address, TLS: agent.Load().TLS(time.Now)}, nil
		}
	})
	p.sees("blue: ready v1") // a session that is cut before has begun without it, and is not counted
	for n, change := range []func(){
		func() { require.NoError(t, authority.AddNext(time.Now())) },
		func() { agent.Store(credentials()) },
		func() { require.NoError(t, authority.Promote(time.Now())) },
		func() { agent.Store(credentials()) },
		authority.DropPrevious,
	} {
		change()
		endpoint.Use(authority)
		between.cut()
		require.Eventually(t, func() bool { return p.count("blue: ready v1") >= n+2 }, 20*time.Second, time.Millisecond, "change %d", n)
	}
}

// TestCertificatesThatAreNotAccepted are of another authority, expired, of another parent, and
// none.
func TestCertificatesThatAreNotAccepted(t *testing.T) {
	p := newParent(t, nil)
	foreign := newAuthority(t)
	foreign.pool = p.pool
	for name, config := range map[string]*tls.Config{
		"of another authority": foreign.client(foreign.agent("blue", time.Hour)),
		"expired":              p.client(p.agent("blue", -time.Second)),
		"none":                 {RootCAs: p.pool, MinVersion: tls.VersionTLS13},
		"of a parent":          p.client(p.server().Certificates[0]),
	} {
		conn, err := grpc.NewClient("passthrough:///"+p.address, grpc.WithTransportCredentials(credentials.NewTLS(config)))
		require.NoError(t, err)
		s, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/"+serviceName+"/"+connectName)
		if err == nil {
			_ = s.SendMsg(ready())
			err = ends(t, s)
		}
		require.Equal(t, codes.Unavailable, status.Code(err), name)
		_ = conn.Close()
	}
	p.logs("a connection is refused", "127.0.0.1:", "certificate signed by unknown authority")
	p.logs("a connection is refused", "certificate has expired")
	p.logs("a connection is refused", "didn't provide a certificate")
	p.logs("a connection is refused", "incompatible key usage")
	a := p.join(p.address, foreign.agent("blue", time.Hour))
	require.Eventually(t, func() bool { return a.lastError() != nil }, 10*time.Second, time.Millisecond)
	require.Empty(t, p.sessionsOf())
	b := p.join(p.address, p.agent("blue", time.Hour), func(o *ClientOptions) {
		o.Parent = func(context.Context) (Parent, error) {
			c := p.client(p.agent("blue", time.Hour))
			c.RootCAs = newAuthority(t).pool
			return Parent{Address: p.address, TLS: c}, nil
		}
	})
	require.Eventually(t, func() bool { return b.lastError() != nil }, 10*time.Second, time.Millisecond)
	require.ErrorContains(t, b.lastError(), "certificate signed by unknown authority", "a parent is verified, too")
}

// lastError is why there is no session.
func (a *agent) lastError() error {
	a.Client.mu.Lock()
	defer a.Client.mu.Unlock()
	return a.silence.Err
}

// TestAServerThatVerifiesNothingIsNotServed has a TLS that takes any certificate.
func TestAServerThatVerifiesNothingIsNotServed(t *testing.T) {
	p := newParent(t, func(o *ServerOptions) { o.TLS.ClientAuth = tls.RequireAnyClientCert })
	a := p.join(p.address, newAuthority(t).agent("blue", time.Hour))
	require.Eventually(t, func() bool { return a.lastError() != nil }, 10*time.Second, time.Millisecond)
	require.Empty(t, p.sessionsOf())
	p.logs("a connection is refused", "set ClientAuth to RequireAndVerifyClientCert")
}

// TestMessagesOfAnotherCluster are sent by an agent with a certificate of its own.
func TestMessagesOfAnotherCluster(t *testing.T) {
	p := newParent(t, nil)
	a := p.join(p.address, p.agent("blue", time.Hour))
	p.connected("blue")
	entered, leave := make(chan struct{}), make(chan struct{})
	a.carries(func(context.Context, state.Request) state.Response {
		close(entered)
		<-leave
		return state.Response{Message: "blue"}
	})
	answers := make(chan state.Response, 1)
	go func() {
		out, _ := p.Link("blue").Call(t.Context(), state.Request{Op: state.Verify})
		answers <- out
	}()
	<-entered
	blue := p.child("blue").current()
	blue.mu.Lock()
	var id string
	for id = range blue.answers {
	}
	blue.mu.Unlock()

	conn := p.dial(p.agent("green", time.Hour))
	s, n := p.session(conn)
	forged := []byte(`{"message":"green"}`)
	require.NoError(t, s.Send(&wire.FromChild{Message: &wire.FromChild_Reply{Reply: &wire.Reply{OpId: id, Response: forged}}}))
	bulk := &clientBulk{ClientStream: begin(t, conn, bulkName)}
	require.NoError(t, bulk.Send(&wire.Part{Session: n}))
	require.NoError(t, bulk.Send(&wire.Part{Session: n, OpId: id, Data: forged, Last: true}))
	require.NoError(t, s.Send(heartbeat("after")))
	p.sees("green: heartbeat after")
	require.Equal(t, 0, p.count("blue: heartbeat after"))
	close(leave)
	require.Equal(t, "blue", (<-answers).Message)

	// A part of the session of another cluster, which has the same number, or another one.
	other := begin(t, p.dial(p.agent("green", time.Hour)), bulkName)
	require.NoError(t, other.SendMsg(&wire.Part{Session: blue.number}))
	require.Equal(t, codes.FailedPrecondition, status.Code(ends(t, other)))
	require.NoError(t, bulk.Send(&wire.Part{Session: n + 1, OpId: id, Data: forged}))
	require.Equal(t, codes.FailedPrecondition, status.Code(ends(t, bulk)))
	require.Equal(t, codes.FailedPrecondition, status.Code(ends(t, s)), "its session ends with it")
	require.True(t, p.Connected("blue"))
}

func TestAParentThatRefusesAnAgent(t *testing.T) {
	p := newParent(t, nil)
	p.refuses(errors.New("cluster_uid is that of another cluster"))
	s := begin(t, p.dial(p.agent("blue", time.Hour)), connectName)
	require.NoError(t, s.SendMsg(ready()))
	err := ends(t, s)
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	require.ErrorContains(t, err, "cluster_uid is that of another cluster")

	p = newParent(t, func(o *ServerOptions) {
		o.Session = func(context.Context, string) (int64, error) { return 0, errors.New("the API server is away") }
	})
	s = begin(t, p.dial(p.agent("blue", time.Hour)), connectName)
	require.NoError(t, s.SendMsg(ready()))
	require.Equal(t, codes.Unavailable, status.Code(ends(t, s)))
	conn, err := net.Dial("tcp", p.address)
	require.NoError(t, err)
	_ = conn.Close() // As the health check of a load balancer does.
}
