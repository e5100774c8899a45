// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"sync"
	"time"
)

// Endpoint makes the TLS configuration of the parent's listeners. It issues and renews its serving
// certificate, and keeps it in memory, so that each replica has its own.
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

// Serve changes the names and addresses. New connections get a certificate for the new ones.
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
// verified; client selects whether the agent must show its certificate.
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

// current returns a serving certificate that is not due for renewal, and the trust of agents. A
// certificate that begins in the future was made while the clock was wrong, and is replaced.
func (e *Endpoint) current() (*tls.Certificate, Trust, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	isCurrent := func(leaf *x509.Certificate) bool { return !now.Before(leaf.NotBefore) && now.Before(renewAt(leaf)) }
	if e.serving == nil || !isCurrent(e.serving.Leaf) {
		serving, err := e.authority.makeServing(e.hosts, now)
		if err != nil {
			return nil, Trust{}, err
		}
		e.serving = serving
	}
	return e.serving, e.authority.Trust(), nil
}
