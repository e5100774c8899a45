// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	certutil "k8s.io/client-go/util/cert"
)

// policy returns the TLS of all listeners and clients of the pivot. Sessions are not resumed, so
// that each connection has its certificates verified.
func policy(now func() time.Time) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		CurvePreferences:       []tls.CurveID{tls.CurveP256, tls.CurveP384},
		SessionTicketsDisabled: true,
		VerifyConnection:       checkConnection,
		Time:                   now,
	}
}

// checkConnection returns an error if the cipher is not AES-GCM, which a build without FIPS
// accepts, or if a verified chain has a key or a signature that the policy does not allow.
func checkConnection(state tls.ConnectionState) error {
	if state.CipherSuite == tls.TLS_CHACHA20_POLY1305_SHA256 {
		return errors.New("the connection has ChaCha20-Poly1305: expected AES-GCM")
	}
	for _, c := range slices.Concat(state.VerifiedChains...) {
		_, err := strongKey(c.PublicKey)
		if err == nil {
			err = checkSignature(c.SignatureAlgorithm)
		}
		if err != nil {
			return fmt.Errorf("certificate %q: %w", c.Subject, err)
		}
	}
	return nil
}

// Trust is what an agent trusts: the authorities, and the keys of which at least one has to be
// in the chain of the parent.
type Trust struct {
	Authorities []*x509.Certificate
	// Pins are SHA-256 sums of SubjectPublicKeyInfos, in base64.
	Pins []string
}

// ParseTrust reads authorities in PEM, and pins.
func ParseTrust(authorities []byte, pins []string) (Trust, error) {
	all, err := certutil.ParseCertsPEM(authorities)
	if err != nil {
		return Trust{}, errors.New("authorities: expected certificates in PEM")
	}
	t := Trust{Authorities: all, Pins: pins}
	if !slices.ContainsFunc(all, t.pinned) {
		return Trust{}, errors.New("none of the authorities has a pinned key")
	}
	return t, nil
}

// PEM returns the bundle of the authorities.
func (t Trust) PEM() []byte { return encode(t.Authorities...) }

func (t Trust) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, c := range t.Authorities {
		pool.AddCert(c)
	}
	return pool
}

func (t Trust) pinned(c *x509.Certificate) bool { return slices.Contains(t.Pins, pinOf(c)) }

// clientTLS returns the TLS of a connection to the parent; certificate may be nil.
func (t Trust) clientTLS(certificate *tls.Certificate, now func() time.Time) *tls.Config {
	c := policy(now)
	c.RootCAs = t.pool()
	if certificate != nil {
		c.Certificates = []tls.Certificate{*certificate}
	}
	c.VerifyConnection = func(state tls.ConnectionState) error {
		if !slices.ContainsFunc(slices.Concat(state.VerifiedChains...), t.pinned) {
			return errors.New("the parent has no pinned key in its chain of certificates: another authority has issued it")
		}
		return checkConnection(state)
	}
	return c
}

// Endpoint is the TLS of the listeners of a parent. Its serving certificate is made here and
// kept in memory: each replica has one of its own. It is renewed in time.
type Endpoint struct {
	hosts []string
	now   func() time.Time

	mu        sync.Mutex
	authority *Authority
	serving   *tls.Certificate
}

// NewEndpoint returns the endpoint for the names and addresses by which agents reach the parent.
func NewEndpoint(a *Authority, hosts []string, now func() time.Time) *Endpoint {
	return &Endpoint{authority: a, hosts: hosts, now: now}
}

// Use changes the authority. New connections use it without a restart. The serving certificate
// stays if the current CA does.
func (e *Endpoint) Use(a *Authority) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !a.current.certificate.Equal(e.authority.current.certificate) {
		e.serving = nil
	}
	e.authority = a
}

// Serve changes the names and addresses. The certificate of new connections has the new ones.
func (e *Endpoint) Serve(hosts []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Equal(hosts, e.hosts) {
		e.hosts = hosts
		e.serving = nil
	}
}

// Authority returns the authority in use.
func (e *Endpoint) Authority() *Authority {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.authority
}

// TLS returns the TLS of a listener, for protocols such as h2. A certificate of an agent is
// verified; client selects whether one is required.
func (e *Endpoint) TLS(client tls.ClientAuthType, protocols ...string) *tls.Config {
	c := policy(e.now)
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		certificate, trust, err := e.current()
		if err != nil {
			return nil, err
		}
		c := policy(e.now)
		c.Certificates = []tls.Certificate{*certificate}
		c.ClientAuth = client
		c.ClientCAs = trust.pool()
		c.NextProtos = protocols
		return c, nil
	}
	return c
}

// current returns a serving certificate that is not due for renewal, and what agents trust. A
// certificate that begins in the future was made while the clock was wrong, and is replaced.
func (e *Endpoint) current() (*tls.Certificate, Trust, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	if e.serving == nil || now.Before(e.serving.Leaf.NotBefore) || !now.Before(renewAt(e.serving.Leaf)) {
		serving, err := e.authority.makeServing(e.hosts, now)
		if err != nil {
			return nil, Trust{}, err
		}
		e.serving = serving
	}
	return e.serving, e.authority.Trust(), nil
}
