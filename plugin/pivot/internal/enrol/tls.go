// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"crypto/tls"
	"slices"
	"sync"
	"time"
)

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
