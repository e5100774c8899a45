// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// authority issues certificates.
type authority struct {
	t    testing.TB
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{t: t, pool: x509.NewCertPool()}
	c := a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "parent"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.key, a.cert = c.PrivateKey.(*ecdsa.PrivateKey), c.Leaf
	a.pool.AddCert(a.cert)
	return a
}

// sign signs a certificate for a new key; by that key where there is no authority yet.
func (a *authority) sign(template *x509.Certificate) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore = time.Now().Add(-time.Minute)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	by, signer := a.cert, a.key
	if by == nil {
		by, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by, &key.PublicKey, signer)
	require.NoError(a.t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// agent is the certificate of the agent of a cluster.
func (a *authority) agent(cluster string, lives time.Duration) tls.Certificate {
	return a.sign(&x509.Certificate{
		URIs: []*url.URL{{Scheme: "ropewalk", Host: "parent", Path: "/" + cluster}}, NotAfter: time.Now().Add(lives),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *authority) server() *tls.Config {
	c := a.sign(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return &tls.Config{Certificates: []tls.Certificate{c}, ClientCAs: a.pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13}
}

func (a *authority) client(c tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c}, RootCAs: a.pool, MinVersion: tls.VersionTLS13}
}

// parent is a server, which can be stopped and started again at the same address, and what it
// has seen.
type parent struct {
	*authority
	t       testing.TB
	options ServerOptions
	address string
	*Server
	stop func()

	mu sync.Mutex
	// seen are the events, as "cluster: event".
	seen     []string
	sessions map[string]int64
	blocked  map[string]bool
	// lines are those of the log.
	lines []string
	// refuse is the error of the event AgentReady.
	refuse error
	// hold, where set, is waited for in each event Heartbeat.
	hold chan struct{}
}

func newParent(t testing.TB, change func(*ServerOptions)) *parent {
	t.Helper()
	p := &parent{authority: newAuthority(t), t: t, address: "127.0.0.1:0", sessions: map[string]int64{}, blocked: map[string]bool{}}
	p.options = ServerOptions{
		TLS: p.server(), Authorize: p.authorize, Heartbeat: 50 * time.Millisecond, Lost: 10 * time.Second, Patience: 10 * time.Second,
		Log: funcr.New(func(_, line string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.lines = append(p.lines, line)
		}, funcr.Options{}),
		Session: func(_ context.Context, cluster string) (int64, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.sessions[cluster]++
			return p.sessions[cluster], nil
		},
		Events: Events{
			AgentReady: func(_ context.Context, cluster string, m *wire.AgentReady) error {
				p.note(cluster, "ready "+m.GetAgentVersion())
				p.mu.Lock()
				defer p.mu.Unlock()
				return p.refuse
			},
			Heartbeat: func(_ context.Context, cluster string, m *wire.Heartbeat) {
				p.note(cluster, "heartbeat "+cmp.Or(m.GetState(), m.GetAgentState().String()))
				p.mu.Lock()
				hold := p.hold
				p.mu.Unlock()
				if hold != nil {
					<-hold
				}
			},
			ClusterHealth: func(_ context.Context, cluster string, m *wire.ClusterHealth) {
				p.note(cluster, fmt.Sprintf("health %d/%d", m.GetNodesReady(), m.GetNodes()))
			},
			BootstrapComplete: func(_ context.Context, cluster string, m *wire.BootstrapComplete) {
				p.note(cluster, "bootstrap "+m.GetId()+m.GetError())
			},
			PivotComplete: func(_ context.Context, cluster string, m *wire.PivotComplete) {
				p.note(cluster, "pivot "+m.GetPivotId())
			},
			Lost: func(cluster string, since time.Time) {
				p.note(cluster, "lost")
				if time.Since(since) < p.options.Lost {
					p.note(cluster, "lost too early")
				}
			},
		},
	}
	if change != nil {
		change(&p.options)
	}
	p.start()
	t.Cleanup(func() { p.stop() })
	return p
}

// start begins a new process.
func (p *parent) start() {
	p.t.Helper()
	s, err := NewServer(p.options)
	require.NoError(p.t, err)
	p.Server = s
	l, err := listen(p.address)
	require.NoError(p.t, err)
	p.address = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(p.t, <-ended)
	})
}

// listen listens again at an address, which a client may have for a moment as its own, while it
// dials in vain.
func listen(address string) (l net.Listener, err error) {
	for range 100 {
		if l, err = net.Listen("tcp", address); err == nil {
			return l, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, err
}

func (p *parent) authorize(_ context.Context, c tls.ConnectionState) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	peer, err := enrol.PeerOf(c)
	if p.blocked[peer.PublicKey] {
		return "", errors.New("the key is on the block list")
	}
	return peer.Cluster, err
}

// sum is that of the public key of a certificate.
func sum(t testing.TB, c tls.Certificate) string {
	t.Helper()
	out, err := enrol.PublicKeySum(c.Leaf.PublicKey)
	require.NoError(t, err)
	return out
}

func (p *parent) note(cluster, event string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, cluster+": "+event)
}

func (p *parent) holds(until chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = until
}

func (p *parent) refuses(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = err
}

// count is how often an event was seen.
func (p *parent) count(event string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.seen {
		if e == event {
			n++
		}
	}
	return n
}

// logs waits for a line of the log.
func (p *parent) logs(parts ...string) (line string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		i := slices.IndexFunc(p.lines, func(line string) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
		})
		if i >= 0 {
			line = p.lines[i]
		}
		return i >= 0
	}, 20*time.Second, time.Millisecond, "%q is not logged", parts)
	return line
}

// sees waits for an event.
func (p *parent) sees(event string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return p.count(event) > 0 }, 20*time.Second, time.Millisecond, "%q is not seen", event)
}

// agent is a client, and what is asked of it.
type agent struct {
	*Client
	stop func()

	mu       sync.Mutex
	requests []state.Request
	done     []string
	// pivot answers.
	pivot func(ctx context.Context, r state.Request) state.Response
}

func (a *agent) Pivot(ctx context.Context, r state.Request) state.Response {
	a.mu.Lock()
	a.requests = append(a.requests, r)
	pivot := a.pivot
	a.mu.Unlock()
	if pivot == nil {
		return state.Response{Message: string(r.Op)}
	}
	return pivot(ctx, r)
}

// carries sets how requests of pivots are carried out.
func (a *agent) carries(out func(ctx context.Context, r state.Request) state.Response) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pivot = out
}

func (a *agent) note(event string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = append(a.done, event)
}

func (a *agent) Bootstrap(_ context.Context, m *wire.Bootstrap) {
	a.note("bootstrap " + m.GetId())
	a.BootstrapComplete(&wire.BootstrapComplete{Id: m.GetId()})
}

func (a *agent) Reconcile(context.Context) { a.note("reconcile") }

func (a *agent) Status(context.Context) *wire.ClusterHealth {
	a.note("status")
	return &wire.ClusterHealth{NodesReady: 2, Nodes: 3}
}

// did waits until something was asked of the agent.
func (a *agent) did(t testing.TB, event string) {
	t.Helper()
	require.Eventually(t, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return slices.Contains(a.done, event)
	}, 20*time.Second, time.Millisecond, "%q is not asked for", event)
}

// handled is how many requests of pivots were carried out.
func (a *agent) handled() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.requests)
}

// clientOptions are those of a client that comes back at once.
func (p *parent) clientOptions(address string, c tls.Certificate) ClientOptions {
	return ClientOptions{
		Parent: func(context.Context) (Parent, error) { return Parent{Address: address, TLS: p.client(c)}, nil },
		Ready:  func(context.Context) (*wire.AgentReady, error) { return &wire.AgentReady{AgentVersion: "v1"}, nil },
		State:  func() wire.AgentState { return wire.AgentState_AGENT_STATE_WAITING }, Backoff: time.Millisecond, MaxBackoff: 20 * time.Millisecond,
	}
}

// join starts a client of a cluster, by way of an address.
func (p *parent) join(address string, c tls.Certificate, changes ...func(*ClientOptions)) *agent {
	p.t.Helper()
	a := &agent{}
	o := p.clientOptions(address, c)
	o.Handler = a
	for _, change := range changes {
		change(&o)
	}
	var err error
	a.Client, err = NewClient(o)
	require.NoError(p.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	a.stop = sync.OnceFunc(func() {
		cancel()
		require.ErrorIs(p.t, <-ended, context.Canceled)
	})
	p.t.Cleanup(a.stop)
	return a
}

// connected waits until a cluster has a session.
func (p *parent) connected(cluster string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return p.Connected(cluster) }, 30*time.Second, time.Millisecond)
}
