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

// The Secret of an agent's Credentials. Once it has tls.crt, enrol.sh does nothing.
const (
	AgentNamespace = "ropewalk-system"
	AgentSecret    = "ropewalk-agent" //nolint:gosec // It is the name of a Secret.
)

// The keys of the Secret, beside certificateName and keyName.
const (
	agentAuthorities = "ca.crt"
	agentPins        = "pins"
)

var errNotEnrolled = errors.New("the agent has no certificate: it is not enrolled")

// Credentials hold the key of an agent, its certificate, and its trust in the parent. The agent
// keeps them in a Secret before it enrols, so that it enrols with the same key after a restart.
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

// DecodeTrust reads the trust in the parent from the data of a Secret.
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

	// Before the enrolment there is no certificate.
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
	certificate := &tls.Certificate{Certificate: [][]byte{c.Certificate.Raw}, PrivateKey: c.Key, Leaf: c.Certificate}
	return c.Trust.clientTLS(certificate, now)
}

// RenewAt returns the time of the next renewal: between 65 % and 75 % of the certificate's lifetime,
// so that clusters that were enrolled together do not renew together. It is the same after a
// restart.
func (c *Credentials) RenewAt() time.Time { return renewAt(c.Certificate) }

// Valid returns an error if the certificate is not valid by the clock of this machine: the clock
// is wrong, or the certificate was not renewed in time.
func (c *Credentials) Valid(now time.Time) error {
	if c.Certificate == nil {
		return errNotEnrolled
	}
	return validAt("the certificate of the agent", c.Certificate, now)
}

// validAt returns an error with the difference of the clocks if a certificate is not valid now.
func validAt(name string, c *x509.Certificate, now time.Time) error {
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	switch {
	case now.Before(c.NotBefore):
		const format = "%s is not valid yet: it begins at %s, and the clock here has %s, which is %s too early: set the clock"
		return fmt.Errorf(format, name, stamp(c.NotBefore), stamp(now), c.NotBefore.Sub(now).Round(time.Second))
	case now.After(c.NotAfter):
		const format = "%s is expired: it ended at %s, and the clock here has %s, which is %s too late: set the clock, or enrol again"
		return fmt.Errorf(format, name, stamp(c.NotAfter), stamp(now), now.Sub(c.NotAfter).Round(time.Second))
	}
	return nil
}
