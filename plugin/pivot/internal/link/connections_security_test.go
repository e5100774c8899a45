// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bytes"
	"crypto/fips140"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
)

// attempt is what a peer does that the link refuses.
type attempt struct {
	do   func(*parent) error
	code codes.Code
	// says is in the line of the log.
	says []string
}

// attempts are those of peers with a certificate of this authority.
func attempts() map[string]attempt {
	first := func(m *wire.FromChild) func(*parent) error {
		return func(p *parent) error {
			s := begin(p.t, p.dial(p.agent("blue", time.Hour)), connectName)
			require.NoError(p.t, s.SendMsg(m))
			return ends(p.t, s)
		}
	}
	then := func(m *wire.FromChild) func(*parent) error {
		return func(p *parent) error {
			s, _ := p.session(p.dial(p.agent("blue", time.Hour)))
			_ = s.Send(m) // It may end before all is sent.
			return ends(p.t, s)
		}
	}
	part := func(number func(*parent) int64) func(*parent) error {
		return func(p *parent) error {
			s := begin(p.t, p.dial(p.agent("green", time.Hour)), bulkName)
			require.NoError(p.t, s.SendMsg(&wire.Part{Session: number(p)}))
			return ends(p.t, s)
		}
	}
	old := ready()
	old.GetAgentReady().Protocol = 0
	return map[string]attempt{
		"a certificate whose key is blocked": {func(p *parent) error {
			c := p.agent("blue", time.Hour)
			p.mu.Lock()
			p.blocked[sum(p.t, c)] = true
			p.mu.Unlock()
			s := begin(p.t, p.dial(c), connectName)
			require.NoError(p.t, s.SendMsg(ready()))
			return ends(p.t, s)
		}, codes.PermissionDenied, []string{"the key is on the block list"}},
		"an agent whose key is blocked while it is connected": {func(p *parent) error {
			c := p.agent("blue", time.Hour)
			s, _ := p.session(p.dial(c))
			p.Drop(sum(p.t, c))
			return ends(p.t, s)
		}, codes.Unavailable, []string{`"cluster"="blue"`, "the key is blocked"}},
		"a session that another one of the same certificate has replaced": {func(p *parent) error {
			c := p.agent("blue", time.Hour)
			s, _ := p.session(p.dial(c))
			p.session(p.dial(c))
			return ends(p.t, s)
		}, codes.Aborted, []string{`"cluster"="blue"`, "session 2 of the cluster has begun"}},
		"a certificate that expires in a session": {func(p *parent) error {
			s, _ := p.session(p.dial(p.agent("blue", 2*time.Second)))
			return ends(p.t, s)
		}, codes.Unauthenticated, []string{`"cluster"="blue"`, "expired"}},
		"AgentReady that the parent refuses": {func(p *parent) error {
			p.refuses(errors.New("cluster_uid is that of another cluster"))
			return first(ready())(p)
		}, codes.FailedPrecondition, []string{"cluster_uid is that of another cluster"}},
		"a heartbeat before AgentReady":        {first(heartbeat("early")), codes.InvalidArgument, nil},
		"AgentReady of no protocol":            {first(old), codes.InvalidArgument, nil},
		"an empty message":                     {first(&wire.FromChild{}), codes.InvalidArgument, nil},
		"a message of 10 MiB":                  {then(heartbeat(strings.Repeat("x", 10<<20))), codes.ResourceExhausted, []string{`"cluster"="blue"`}},
		"a heartbeat of more than a level":     {then(heartbeat(strings.Repeat("x", maxLevel+1))), codes.InvalidArgument, []string{`"cluster"="blue"`}},
		"an answer in parts without a session": {part(func(*parent) int64 { return 1 }), codes.FailedPrecondition, nil},
		"an answer in parts for the session of another cluster": {part(func(p *parent) int64 {
			_, n := p.session(p.dial(p.agent("blue", time.Hour)))
			return n
		}), codes.FailedPrecondition, nil},
		"two sessions in one connection": {func(p *parent) error {
			conn := p.dial(p.agent("blue", time.Hour))
			p.session(conn)
			s := begin(p.t, conn, connectName)
			require.NoError(p.t, s.SendMsg(ready()))
			return ends(p.t, s)
		}, codes.ResourceExhausted, nil},
		"a method that is not there": {func(p *parent) error {
			return ends(p.t, begin(p.t, p.dial(p.agent("blue", time.Hour)), "Reconcile"))
		}, codes.Unimplemented, nil},
	}
}

// TestAttemptsOnTheLink is the table of what the link refuses of agents: each with its code, and
// a line of the log where a cluster has lost its session, or was refused one.
func TestAttemptsOnTheLink(t *testing.T) {
	for name, a := range attempts() {
		t.Run(name, func(t *testing.T) {
			p := newParent(t, nil)
			err := a.do(p)
			require.Equal(t, a.code, status.Code(err), "%v", err)
			line := "(none: the answer is " + status.Convert(err).Message() + ")"
			if a.says != nil {
				line = p.logs(a.says...)
			}
			p.row(name, a.code.String(), line)
		})
	}
}

// row is one of the table that make security prints.
func (p *parent) row(name, result, line string) {
	p.t.Helper()
	if len(line) > 300 {
		line = line[:300] + "..."
	}
	p.t.Logf("| link | %s | %s | %s |", name, result, strings.ReplaceAll(line, "\n", " "))
}

// TestHandshakesOfTheLink has the certificates of the enrolment's tests, and no policy.
func TestHandshakesOfTheLink(t *testing.T) {
	const folder = "../enrol/testdata/"
	read := func(name string) []byte {
		text, err := os.ReadFile(folder + name)
		require.NoError(t, err)
		return text
	}
	authority, err := enrol.DecodeAuthority(map[string][]byte{"tls.crt": read("ca.crt"), "tls.key": read("ca.key")})
	require.NoError(t, err)
	endpoint := enrol.NewEndpoint(authority, []string{"127.0.0.1"}, time.Now)
	p := newParent(t, func(o *ServerOptions) { o.TLS = endpoint.TLS(tls.RequireAndVerifyClientCert, "h2") })
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(authority.Trust().PEM()))
	key, err := enrol.NewKey()
	require.NoError(t, err)
	leaf, err := authority.Issue(&key.PublicKey, enrol.Identity{Parent: "parent", Cluster: "blue"}, time.Now())
	require.NoError(t, err)
	foreign := newAuthority(t)
	agent := &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}
	of := func(name string) *tls.Certificate {
		pair, err := tls.X509KeyPair(read(name+".crt"), read(name+".key"))
		if err != nil {
			t.Logf("%s: %v", name, err) // GODEBUG=fips140=only does not even load it.
		}
		return &pair
	}
	// dials returns the frame that a server of HTTP/2 begins with.
	dials := func(c *tls.Certificate, change func(*tls.Config)) (address string, err error) {
		raw, err := net.Dial("tcp", p.address)
		require.NoError(t, err)
		defer raw.Close()
		require.NoError(t, raw.SetDeadline(time.Now().Add(20*time.Second)))
		config := &tls.Config{
			RootCAs: roots, ServerName: "127.0.0.1", NextProtos: []string{"h2"},
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c, nil },
		}
		if change != nil {
			change(config)
		}
		_, err = io.ReadFull(tls.Client(raw, config), make([]byte, 9))
		return raw.LocalAddr().String(), err
	}
	_, err = dials(agent, nil)
	require.NoError(t, err)
	other := foreign.agent("blue", time.Hour)
	curve := func(id tls.CurveID) func(*tls.Config) {
		return func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{id} }
	}
	for name, h := range map[string]struct {
		certificate *tls.Certificate
		change      func(*tls.Config)
	}{
		"an agent of TLS 1.2":                 {agent, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }},
		"an agent of X25519":                  {agent, curve(tls.X25519)},
		"an agent of X25519MLKEM768":          {agent, curve(tls.X25519MLKEM768)},
		"an agent of P-521":                   {agent, curve(tls.CurveP521)},
		"a certificate of RSA with 1024 bits": {of("rsa1024"), nil},
		"a certificate of SHA-1":              {of("sha1"), nil},
		"a certificate with a key of P-521":   {of("p521"), nil},
		"a certificate of another authority":  {&other, nil},
		"no certificate":                      {&tls.Certificate{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			address, err := dials(h.certificate, h.change)
			require.Error(t, err)
			line := "(none: the client cannot even begin: " + err.Error() + ")"
			// With GODEBUG=fips140=only it offers nothing that is not approved.
			if !fips140.Enabled() || strings.Contains(err.Error(), "remote error") {
				line = p.logs("a connection is refused", address)
			}
			p.row(name, "no connection", line)
		})
	}
	require.Empty(t, p.sessionsOf())
	p.mu.Lock()
	defer p.mu.Unlock()
	der, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(p.lines, func(line string) bool {
		return bytes.Contains([]byte(line), der) || strings.Contains(line, "PRIVATE KEY")
	}))
}
