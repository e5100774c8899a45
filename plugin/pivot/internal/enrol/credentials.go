// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/util/keyutil"
)

// Where the agent keeps its Credentials. Once tls.crt is there, enrol.sh does nothing.
const (
	AgentNamespace = "ropewalk-system"
	AgentSecret    = "ropewalk-agent" //nolint:gosec // It is the name of a Secret.
)

// The keys of the Secret, beside those of the certificate and its key.
const (
	agentAuthorities = "ca.crt"
	agentPins        = "pins"
)

var errNotEnrolled = errors.New("the agent has no certificate: it is not enrolled")

// Credentials are what an agent has: its key, its certificate, and what it trusts. It keeps
// them in a Secret before it enrols, so that it enrols with the same key after a restart.
type Credentials struct {
	Key *ecdsa.PrivateKey
	// Certificate is nil until the agent is enrolled.
	Certificate *x509.Certificate
	Trust       Trust
}

// Encode returns the data of a Secret.
func (c *Credentials) Encode() (map[string][]byte, error) {
	key, err := keyutil.MarshalPrivateKeyToPEM(c.Key)
	if err != nil {
		return nil, err
	}
	data := c.Trust.Encode()
	data[keyName] = key
	if c.Certificate != nil {
		data[certificateName] = encode(c.Certificate)
	}
	return data, nil
}

// Encode returns the data of a Secret that has no key yet.
func (t Trust) Encode() map[string][]byte {
	return map[string][]byte{agentAuthorities: t.PEM(), agentPins: []byte(strings.Join(t.Pins, "\n"))}
}

// DecodeTrust reads what a Secret has of the parent.
func DecodeTrust(data map[string][]byte) (Trust, error) {
	return ParseTrust(data[agentAuthorities], strings.Fields(string(data[agentPins])))
}

// HasKey reports whether the data of a Secret has the key of an agent.
func HasKey(data map[string][]byte) bool { return len(data[keyName]) > 0 }

// DecodeCredentials reads the data of a Secret.
func DecodeCredentials(data map[string][]byte) (*Credentials, error) {
	key, err := decodeKey(data, keyName)
	if err != nil {
		return nil, err
	}
	trust, err := DecodeTrust(data)
	if err != nil {
		return nil, err
	}
	c := &Credentials{Key: key, Trust: trust}
	if len(data[certificateName]) == 0 {
		return c, nil
	}
	c.Certificate, err = decodeCertificate(data, certificateName)
	if err != nil {
		return nil, err
	}
	if !key.PublicKey.Equal(c.Certificate.PublicKey) {
		return nil, fmt.Errorf("%q is not the key of %q", keyName, certificateName)
	}
	return c, nil
}

// Identity returns the identity in the certificate.
func (c *Credentials) Identity() (Identity, error) {
	if c.Certificate == nil {
		return Identity{}, errNotEnrolled
	}
	return identityOf(c.Certificate)
}

// TLS returns the TLS of a connection to the parent, with the certificate if there is one. After a
// renewal a new connection needs the TLS of the new Credentials.
func (c *Credentials) TLS(now func() time.Time) *tls.Config {
	if c.Certificate == nil {
		return c.Trust.clientTLS(nil, now)
	}
	return c.Trust.clientTLS(&tls.Certificate{Certificate: [][]byte{c.Certificate.Raw}, PrivateKey: c.Key, Leaf: c.Certificate}, now)
}

// RenewAt returns when the certificate has to be renewed: after 70 % of its lifetime, and up to 5
// % of it before or after that, so that clusters that were enrolled together do not renew
// together. It is the same after a restart.
func (c *Credentials) RenewAt() time.Time { return renewAt(c.Certificate) }

// Valid returns an error if the certificate is not valid by the clock of this machine: the clock
// is wrong, or the certificate was not renewed in time.
func (c *Credentials) Valid(now time.Time) error {
	if c.Certificate == nil {
		return errNotEnrolled
	}
	return validAt("the certificate of the agent", c.Certificate, now)
}

func validAt(name string, c *x509.Certificate, now time.Time) error {
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	switch {
	case now.Before(c.NotBefore):
		return fmt.Errorf("%s is not valid yet: it begins at %s, and the clock here has %s, which is %s too early: set the clock",
			name, stamp(c.NotBefore), stamp(now), c.NotBefore.Sub(now).Round(time.Second))
	case now.After(c.NotAfter):
		return fmt.Errorf("%s is expired: it ended at %s, and the clock here has %s, which is %s too late: set the clock, or enrol again",
			name, stamp(c.NotAfter), stamp(now), now.Sub(c.NotAfter).Round(time.Second))
	}
	return nil
}
