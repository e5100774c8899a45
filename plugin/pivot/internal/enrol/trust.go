// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
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

// Trust holds the authorities that an agent trusts, and pinned keys: the chain of the parent must
// have a pinned key.
type Trust struct {
	Authorities []*x509.Certificate
	// Pins are SHA-256 sums of SubjectPublicKeyInfos, in base64.
	Pins []string
}

// ParseTrust reads authorities in PEM, and pins.
func ParseTrust(authorities []byte, pins []string) (Trust, error) {
	certificates, err := certutil.ParseCertsPEM(authorities)
	if err != nil {
		return Trust{}, errors.New("authorities: expected certificates in PEM")
	}
	t := Trust{Authorities: certificates, Pins: pins}
	if !slices.ContainsFunc(certificates, t.pinned) {
		return Trust{}, errors.New("none of the authorities has a pinned key")
	}
	return t, nil
}

// PEM returns the bundle of the authorities.
func (t Trust) PEM() []byte { return encode(t.Authorities...) }

// pool returns the authorities as roots of TLS.
func (t Trust) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, c := range t.Authorities {
		pool.AddCert(c)
	}
	return pool
}

// pinned reports whether the key of a certificate is pinned.
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
