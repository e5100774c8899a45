// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shake makes a connection, and sends a byte to the client: with TLS 1.3 the client is done
// before its certificate is verified. It returns the errors of both ends.
func shake(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			done <- err
			return
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, err = tls.Server(c, server).Write([]byte{1})
		done <- err
	}()
	raw, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(10 * time.Second))
	client = client.Clone()
	client.ServerName = host
	_, err = io.ReadFull(tls.Client(raw, client), make([]byte, 1))
	raw.Close()
	return errors.Join(err, <-done)
}

// weak is the authority of testdata, which has issued what the policy does not allow.
func weak(t *testing.T) *Authority {
	t.Helper()
	data := map[string][]byte{}
	for _, name := range []string{"crt", "key"} {
		text, err := os.ReadFile("testdata/ca." + name)
		require.NoError(t, err)
		data["tls."+name] = text
	}
	a, err := DecodeAuthority(data)
	require.NoError(t, err)
	return a
}

func TestHandshakesThatThePolicyDoesNotAllowAreRefused(t *testing.T) {
	a := weak(t)
	endpoint := NewEndpoint(a, []string{host}, time.Now)
	load := func(name string) *tls.Certificate {
		pair, err := tls.LoadX509KeyPair("testdata/"+name+".crt", "testdata/"+name+".key")
		if err != nil {
			t.Logf("%s: %v", name, err) // GODEBUG=fips140=only does not even load it.
		}
		return &pair
	}
	// sends has a client send its certificate, also where it does not match what the server accepts.
	sends := func(c *tls.Config, pair *tls.Certificate) *tls.Config {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil }
		return c
	}
	// Ends that have a certificate, and no policy.
	anyServer := func(name string, change func(*tls.Config)) *tls.Config {
		c := &tls.Config{Certificates: []tls.Certificate{*load(name)}}
		change(c)
		return c
	}
	anyClient := func(name string, change func(*tls.Config)) *tls.Config {
		c := sends(&tls.Config{RootCAs: a.Trust().pool()}, load(name))
		change(c)
		return c
	}
	server := endpoint.TLS(tls.RequireAndVerifyClientCert)
	client := a.Trust().clientTLS(load("strong"), time.Now)
	other, err := NewAuthority(time.Now())
	require.NoError(t, err)
	as := func(*tls.Config) {}
	tls12 := func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }
	x25519 := func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.X25519} }
	hybrid := func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.X25519MLKEM768} }
	p521 := func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.CurveP521} }
	agentOf := func(a *Authority) *tls.Certificate {
		key := newKey(t)
		leaf := must(a.Issue(&key.PublicKey, Identity{parentUID, "uid-blue"}, time.Now()))
		return &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}
	}
	serving := must(a.makeServing([]string{host}, time.Now()))
	pinnedElsewhere := Trust{Authorities: a.trusted(), Pins: other.Trust().Pins}

	for name, test := range map[string]struct {
		server, client *tls.Config
		passes         bool
	}{
		"both with the policy":       {server, client, true},
		"a server without it":        {anyServer("strong", as), client, true},
		"a client without it":        {server, anyClient("strong", as), true},
		"a client with P-384":        {server, anyClient("strong", func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.CurveP384} }), true},
		"an agent of this authority": {server, a.Trust().clientTLS(agentOf(a), time.Now), true},

		"a client of TLS 1.2":                     {server, anyClient("strong", tls12), false},
		"a client of X25519":                      {server, anyClient("strong", x25519), false},
		"a client of X25519MLKEM768":              {server, anyClient("strong", hybrid), false},
		"a client of P-521":                       {server, anyClient("strong", p521), false},
		"a client of RSA with 1024 bits":          {server, anyClient("rsa1024", as), false},
		"a client of SHA-1":                       {server, anyClient("sha1", as), false},
		"a client with a key of P-521":            {server, anyClient("p521", as), false},
		"a client without a certificate":          {server, a.Trust().clientTLS(nil, time.Now), false},
		"a client of another authority":           {server, sends(a.Trust().clientTLS(nil, time.Now), agentOf(other)), false},
		"a client with a certificate of a server": {server, a.Trust().clientTLS(serving, time.Now), false},

		"a server of TLS 1.2":                       {anyServer("strong", tls12), client, false},
		"a server of X25519":                        {anyServer("strong", x25519), client, false},
		"a server of RSA with 1024 bits":            {anyServer("rsa1024", as), client, false},
		"a server of SHA-1":                         {anyServer("sha1", as), client, false},
		"a server with a key of P-521":              {anyServer("p521", as), client, false},
		"a server of another authority":             {NewEndpoint(other, []string{host}, time.Now).TLS(tls.NoClientCert), client, false},
		"a server of an authority without a pin":    {server, pinnedElsewhere.clientTLS(load("strong"), time.Now), false},
		"a server of another name":                  {NewEndpoint(a, []string{"other.test"}, time.Now).TLS(tls.NoClientCert), client, false},
		"a server with the certificate of an agent": {&tls.Config{Certificates: []tls.Certificate{*agentOf(a)}}, client, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := shake(t, test.server, test.client)
			require.Equal(t, test.passes, err == nil, "%v", err)
			if !test.passes {
				t.Logf("| both | %s | no connection | %s |", name, strings.ReplaceAll(err.Error(), "\n", "; "))
			}
		})
	}
}

// TestAClientOfChaCha20IsRefused has curl as the client: crypto/tls offers all ciphers of TLS 1.3.
func TestAClientOfChaCha20IsRefused(t *testing.T) {
	w := newWorld(t)
	m := w.machine("blue")
	asks := func(cipher string) (string, error) {
		out, err := exec.Command("curl", "-q", "--silent", "--show-error", "--tlsv1.3", "--tls13-ciphers", cipher, "--cacert", m.dir+"/ca.crt", //nolint:gosec // of the test
			"--output", "/dev/null", "--write-out", "HTTP %{http_code}", "https://"+w.address+"/v1/manifest").CombinedOutput()
		return string(out), err
	}
	answer, err := asks("TLS_AES_128_GCM_SHA256")
	require.NoError(t, err)
	require.Equal(t, "HTTP 401", answer, "it has no token")
	w.log.take()
	answer, err = asks("TLS_CHACHA20_POLY1305_SHA256")
	require.Error(t, err, answer)
	var lines []string
	require.Eventually(t, func() bool {
		lines = append(lines, w.log.take()...)
		return len(lines) > 0
	}, 5*time.Second, 10*time.Millisecond)
	require.Contains(t, lines[0], `"connection refused"`)
	t.Logf("| registration | a client of ChaCha20-Poly1305 alone | no connection | %s |", lines[0])
}

func TestNoSessionIsResumed(t *testing.T) {
	w := newWorld(t)
	config := w.enrolled("blue").TLS(w.now)
	config.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	for range 3 {
		c, err := tls.Dial("tcp", w.address, config)
		require.NoError(t, err)
		_, err = c.Write([]byte("GET / HTTP/1.0\r\n\r\n"))
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, c)
		require.NoError(t, err)
		require.False(t, c.ConnectionState().DidResume)
		require.Equal(t, uint16(tls.VersionTLS13), c.ConnectionState().Version)
	}
}

func TestAnEndpointRenewsItsCertificate(t *testing.T) {
	now := time.Now()
	a, err := NewAuthority(now)
	require.NoError(t, err)
	e := NewEndpoint(a, []string{host, "192.0.2.1", "2001:db8::1"}, func() time.Time { return now })
	serving := func() *x509.Certificate {
		c, _, err := e.current()
		require.NoError(t, err)
		return c.Leaf
	}
	first := serving()
	require.Equal(t, []string{host}, first.DNSNames)
	require.Len(t, first.IPAddresses, 2)
	now = now.Add(Lifetime * 6 / 10)
	require.Same(t, first, serving())
	now = now.Add(Lifetime * 2 / 10)
	second := serving()
	require.NotEqual(t, first.Raw, second.Raw)

	// The clock jumps ahead, and back.
	now = now.Add(8 * 24 * time.Hour)
	require.NotEqual(t, second.Raw, serving().Raw)
	now = now.Add(-8 * 24 * time.Hour)
	require.NoError(t, validAt("the certificate", serving(), now))

	other, err := NewAuthority(now)
	require.NoError(t, err)
	e.Use(other)
	require.True(t, other.issued(serving()), "a new authority needs no restart")

	a.current.certificate.NotAfter = now.Add(time.Hour)
	e.Use(a)
	require.Equal(t, now.Add(time.Hour).Unix(), serving().NotAfter.Unix(), "no certificate is longer than its authority")
}

func TestATrustHasAPinnedAuthority(t *testing.T) {
	a, err := NewAuthority(time.Now())
	require.NoError(t, err)
	require.NoError(t, a.AddNext(time.Now()))
	trust := a.Trust()
	got, err := ParseTrust(trust.PEM(), trust.Pins)
	require.NoError(t, err)
	require.Equal(t, trust, got)
	require.Len(t, got.Pins, 2)
	_, err = ParseTrust(trust.PEM(), trust.Pins[1:])
	require.NoError(t, err)

	_, err = ParseTrust(trust.PEM(), nil)
	require.ErrorContains(t, err, "pinned")
	_, err = ParseTrust(trust.PEM(), weak(t).Trust().Pins)
	require.ErrorContains(t, err, "pinned")
	_, err = ParseTrust([]byte("x"), trust.Pins)
	require.ErrorContains(t, err, "PEM")
}

func TestAHandshakeThatIsRefusedIsLogged(t *testing.T) {
	w := newWorld(t)
	_, err := tls.Dial("tcp", w.address, &tls.Config{RootCAs: w.endpoint.Authority().Trust().pool(), MaxVersion: tls.VersionTLS12})
	require.Error(t, err)
	var lines []string
	require.Eventually(t, func() bool {
		lines = append(lines, w.log.take()...)
		return len(lines) > 0
	}, 5*time.Second, 10*time.Millisecond)
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], `"connection refused"`)
	require.Contains(t, lines[0], "client offered only unsupported versions")
}
