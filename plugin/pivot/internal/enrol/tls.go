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

// policy is the TLS of all listeners and clients of the pivot. Sessions are not resumed, so
// that each connection has its certificates verified.
func policy(now func() time.Time) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		CurvePreferences:       []tls.CurveID{tls.CurveP256, tls.CurveP384},
		SessionTicketsDisabled: true,
		Time:                   now,
	}
}

// strongChain returns an error where a certificate of a chain has a key or a signature that
// the policy does not allow.
func strongChain(chain []*x509.Certificate) error {
	for _, c := range chain {
		if _, err := strongKey(c.PublicKey); err != nil {
			return fmt.Errorf("certificate %q: %w", c.Subject, err)
		}
		if err := strongSignature(c.SignatureAlgorithm); err != nil {
			return fmt.Errorf("certificate %q: %w", c.Subject, err)
		}
	}
	return nil
}

// anyChain returns nil where one of the verified chains passes.
func anyChain(chains [][]*x509.Certificate, pass func([]*x509.Certificate) error) error {
	wrong := []error{errors.New("no chain of certificates is verified")}
	for _, chain := range chains {
		err := pass(chain)
		if err == nil {
			return nil
		}
		wrong = append(wrong, err)
	}
	return wrong[len(wrong)-1]
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

// PEM is the bundle of the authorities.
func (t Trust) PEM() []byte {
	text, err := certutil.EncodeCertificates(t.Authorities...)
	if err != nil {
		panic(err) // It writes to memory, and there are no headers.
	}
	return text
}

func (t Trust) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, c := range t.Authorities {
		pool.AddCert(c)
	}
	return pool
}

func (t Trust) pinned(c *x509.Certificate) bool { return slices.Contains(t.Pins, pin(c)) }

// clientTLS is the TLS of a connection to the parent; certificate may be nil.
func (t Trust) clientTLS(certificate *tls.Certificate, now func() time.Time) *tls.Config {
	c := policy(now)
	c.RootCAs = t.pool()
	if certificate != nil {
		c.Certificates = []tls.Certificate{*certificate}
	}
	c.VerifyConnection = func(state tls.ConnectionState) error {
		return anyChain(state.VerifiedChains, func(chain []*x509.Certificate) error {
			if !slices.ContainsFunc(chain, t.pinned) {
				return errors.New("the parent has no pinned key in its chain of certificates: another authority has issued it")
			}
			return strongChain(chain)
		})
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

// NewEndpoint returns that of the names and addresses by which agents reach the parent.
func NewEndpoint(a *Authority, hosts []string, now func() time.Time) *Endpoint {
	return &Endpoint{authority: a, hosts: hosts, now: now}
}

// Use changes the authority: new connections are of it, without a restart.
func (e *Endpoint) Use(a *Authority) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.authority, e.serving = a, nil
}

// Authority is the one in use.
func (e *Endpoint) Authority() *Authority {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.authority
}

// TLS is that of a listener, for protocols such as h2. A certificate of an agent is verified;
// client selects whether one is required.
func (e *Endpoint) TLS(client tls.ClientAuthType, protocols ...string) *tls.Config {
	c := policy(e.now)
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		certificate, trust, err := e.current()
		if err != nil {
			return nil, err
		}
		c := policy(e.now)
		c.Certificates = []tls.Certificate{*certificate}
		c.ClientAuth, c.ClientCAs, c.NextProtos = client, trust.pool(), protocols
		c.VerifyConnection = func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return nil
			}
			return anyChain(state.VerifiedChains, strongChain)
		}
		return c, nil
	}
	return c
}

// current returns a serving certificate with more than a part of its lifetime left.
func (e *Endpoint) current() (*tls.Certificate, Trust, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.serving == nil || !e.now().Before(renewAt(e.serving.Leaf)) {
		serving, err := e.authority.serving(e.hosts, e.now())
		if err != nil {
			return nil, Trust{}, err
		}
		e.serving = serving
	}
	return e.serving, e.authority.Trust(), nil
}
