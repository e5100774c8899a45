// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	// Lifetime bounds the validity of the certificates of agents and endpoints.
	Lifetime = 7 * 24 * time.Hour
	// backdated is the time that a certificate is valid before its issue, for clocks that are behind.
	backdated = 5 * time.Minute
)

// NewKey makes a P-256 key.
func NewKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// PublicKeySum returns the SHA-256 sum of a public key, in hex, as in status.enrolment.publicKey
// and spec.agent.blockedKeys.
func PublicKeySum(key any) (string, error) {
	raw, err := x509.MarshalPKIXPublicKey(key) // A certificate can encode the same key in several ways.
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// strongKey returns the key if it is ECDSA with P-256 or P-384, and an error if not.
func strongKey(key any) (*ecdsa.PublicKey, error) {
	k, ok := key.(*ecdsa.PublicKey)
	if !ok || (k.Curve != elliptic.P256() && k.Curve != elliptic.P384()) {
		return nil, errors.New("expected an ECDSA key of P-256 or P-384")
	}
	return k, nil
}

// checkSignature returns an error for a signature that the policy does not allow.
func checkSignature(a x509.SignatureAlgorithm) error {
	allowed := []x509.SignatureAlgorithm{x509.ECDSAWithSHA256, x509.ECDSAWithSHA384, x509.ECDSAWithSHA512}
	if !slices.Contains(allowed, a) {
		return fmt.Errorf("signature %s: expected ECDSA with SHA-256 or more", a)
	}
	return nil
}

// pinOf returns the SHA-256 sum of the SubjectPublicKeyInfo, in base64.
func pinOf(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// renewAt returns the time of the next renewal; see Credentials.RenewAt. The jitter comes from the
// certificate.
func renewAt(c *x509.Certificate) time.Time {
	begin := c.NotBefore.Add(backdated)
	sum := sha256.Sum256(c.Raw)
	jitter := float64(binary.BigEndian.Uint16(sum[:]))/(1<<16) - 0.5
	return begin.Add(time.Duration((0.7 + 0.1*jitter) * float64(c.NotAfter.Sub(begin))))
}

// encode writes certificates in PEM.
func encode(certificates ...*x509.Certificate) []byte {
	text, err := certutil.EncodeCertificates(certificates...)
	if err != nil {
		panic(err) // It writes to memory, and there are no headers.
	}
	return text
}

// decodeCertificate reads the only certificate in an entry of a Secret.
func decodeCertificate(data map[string][]byte, name string) (*x509.Certificate, error) {
	certificates, err := certutil.ParseCertsPEM(data[name])
	if err != nil || len(certificates) != 1 {
		return nil, fmt.Errorf("%q: expected one certificate in PEM", name)
	}
	return certificates[0], nil
}

// decodeKey reads a key. Its errors do not quote the key.
func decodeKey(data map[string][]byte, name string) (*ecdsa.PrivateKey, error) {
	parsed, err := keyutil.ParsePrivateKeyPEM(data[name])
	key, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("%q: expected an ECDSA key in PEM", name)
	}
	return key, nil
}
