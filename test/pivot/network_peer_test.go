// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package pivot

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
	"github.com/ropewalk/ropewalk/test/pivot/network"
)

// peer is a client of the link that keeps to nothing but gRPC: it sends what a test makes up.
type peer struct {
	client *http.Client
}

// newPeer is one with the certificate and the key of a Secret, in a namespace.
func newPeer(t testing.TB, at *network.Namespace, certificate, key, authorities []byte) *peer {
	t.Helper()
	pair, err := tls.X509KeyPair(certificate, key)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(authorities))
	transport := &http.Transport{
		DialContext: at.Dial, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS13},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &peer{&http.Client{Transport: transport}}
}

// stream is a call.
type stream struct {
	to       *io.PipeWriter
	response *http.Response
}

// call begins a call with a message; the parent answers with one, or its status is the error.
func (p *peer) call(ctx context.Context, method string, first []byte) (*stream, error) {
	body, to := io.Pipe()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+net.JoinHostPort(cell, linkPort)+"/ropewalk.pivot.v1.Link/"+method, body)
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	s := &stream{to: to}
	go s.send(first)
	s.response, err = p.client.Do(request)
	return s, err
}

// send sends a message. What cannot be sent shows in the status.
func (s *stream) send(message []byte) {
	_, _ = s.to.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)) //nolint:gosec // a size of a test
}

// receive is the next message.
func (s *stream) receive() ([]byte, error) {
	var header [5]byte
	if _, err := io.ReadFull(s.response.Body, header[:]); err != nil {
		return nil, err
	}
	message := make([]byte, binary.BigEndian.Uint32(header[1:]))
	_, err := io.ReadFull(s.response.Body, message)
	return message, err
}

// end is the status with which the parent ends the call.
func (s *stream) end() string {
	_, err := io.Copy(io.Discard, s.response.Body)
	for _, from := range []http.Header{s.response.Trailer, s.response.Header} {
		if code := from.Get("Grpc-Status"); code != "" {
			return code + " " + from.Get("Grpc-Message")
		}
	}
	return fmt.Sprint(err)
}

// Fields of messages, as the protocol numbers them.
func field(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

func number(field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), value)
}

// ready is AgentReady, of the cluster with a UID.
func ready(uid string) []byte { return field(1, append(number(1, 1), field(4, []byte(uid))...)) }

// session begins a session, and returns its number.
func (p *peer) session(ctx context.Context, t testing.TB, uid string) (*stream, uint64) {
	t.Helper()
	s, err := p.call(ctx, "Connect", ready(uid))
	require.NoError(t, err)
	welcome, err := s.receive()
	require.NoError(t, err)
	_, _, skip := protowire.ConsumeTag(welcome)
	inner, _ := protowire.ConsumeBytes(welcome[skip:])
	_, _, skip = protowire.ConsumeTag(inner)
	n, _ := protowire.ConsumeVarint(inner[skip:])
	return s, n
}

// wrong sends what is of other clusters, and what is too large, with the certificate of the
// agent.
func (a *apart) wrong() {
	t, ctx := a.t, a.t.Context()
	last := a.begin("")
	a.agent.Kill()
	a.lost()
	secret := a.secret()
	p := newPeer(t, a.at, secret.Data["tls.crt"], secret.Data["tls.key"], secret.Data["ca.crt"])
	var before int64
	harness.Await(t, time.Minute, "another agent is connected", func() bool { n, is := a.looks.session("balanced"); before = n; return is })

	s, n := p.session(ctx, t, string(a.looks.of("balanced").GetUID()))
	require.Equal(t, uint64(last)+1, n, "the session is of the cluster of the certificate, whatever it sends") //nolint:gosec // a count
	s.send(field(6, append(field(1, []byte("operation of another cluster")), field(2, []byte(`{"digest":"x"}`))...)))
	s.send(field(5, append(field(1, []byte("pivot of another cluster")), field(2, []byte("sha256:x"))...)))
	bulk, err := p.call(ctx, "Bulk", number(1, n+1000))
	require.NoError(t, err)
	a.says("messages of a wrong cluster: AgentReady of another one begins session %d of its own; Bulk of another session: %q", n, bulk.end())
	harness.Await(t, 10*time.Second, "the session goes on", func() bool { _, is := a.looks.session(a.name); return is })
	require.False(t, harness.True(a.looks.of(a.name), "Pivoted"))
	after, is := a.looks.session("balanced")
	require.True(t, is)
	require.Equal(t, before, after, "the other cluster noticed nothing")

	rss := memoryOf(t, a.parent.Pid())
	began := time.Now()
	go s.send(field(6, field(2, make([]byte, 10<<20))))
	end := s.end()
	require.Contains(t, end, "8 ", "ResourceExhausted")
	a.says("a message of 10 MiB: %q after %s; the parent had %s, and has %s", end, since(began), rss, memoryOf(t, a.parent.Pid()))

	other := plane.NewAuthority(t, t.TempDir()).Client(t, "agent").User()
	p = newPeer(t, a.at, other.ClientCertificateData, other.ClientKeyData, secret.Data["ca.crt"])
	_, err = p.call(ctx, "Connect", ready(""))
	require.Error(t, err)
	a.says("a certificate of another authority: %v", err)
	require.NoError(t, a.agent.Start())
	a.connected(int64(n)) //nolint:gosec // a count
}
