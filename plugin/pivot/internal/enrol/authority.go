// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/util/keyutil"
)

// The keys of an Authority's Secret.
const (
	certificateName     = "tls.crt"
	keyName             = "tls.key"
	nextCertificate     = "next.crt"
	nextKey             = "next.key"
	previousCertificate = "previous.crt"
	bridgeCertificate   = "bridge.crt"
)

// authorityLifetime is the lifetime of a CA.
const authorityLifetime = 10 * 365 * 24 * time.Hour

// Authority is the CA of a parent. There are up to three certificates that agents trust: the
// current one, which issues, the next one, and the previous one.
//
// A rotation is AddNext, Promote and DropPrevious. Agents may renew before or after each step: an
// agent with the bundle from before Promote trusts the new CA by the bridge, which is the new key
// signed by the previous key.
//
// The caller keeps the Authority in a Secret: it decodes and changes it, and writes it back with
// the resourceVersion that it has read.
type Authority struct {
	current, next *signer
	// previous signs nothing any more, so its key is not kept. bridge is nil without previous.
	previous, bridge *x509.Certificate
}

// signer is a certificate with its key.
type signer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes a CA.
func NewAuthority(now time.Time) (*Authority, error) {
	current, err := newSigner(now)
	if err != nil {
		return nil, err
	}
	return &Authority{current: current}, nil
}

// newSigner makes a CA that has signed itself.
func newSigner(now time.Time) (*signer, error) {
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	sum, err := PublicKeySum(&key.PublicKey)
	if err != nil {
		return nil, err
	}

	// The name has a part of the key: programs that find an issuer by its name find the right CA.
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "ropewalk " + sum[:16]},
		NotBefore:             now.Add(-backdated),
		NotAfter:              now.Add(authorityLifetime),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLen:            1, // The bridge is between.
		KeyUsage:              x509.KeyUsageCertSign,
	}
	certificate, err := sign(template, &key.PublicKey, &signer{template, key})
	if err != nil {
		return nil, err
	}
	return &signer{certificate, key}, nil
}

// sign issues a certificate. Its serial number is random.
func sign(template *x509.Certificate, key *ecdsa.PublicKey, issuer *signer) (*x509.Certificate, error) {
	raw, err := x509.CreateCertificate(rand.Reader, template, issuer.certificate, key, issuer.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(raw)
}

// AddNext makes the next CA, which agents trust from their next renewal on.
func (a *Authority) AddNext(now time.Time) error {
	if a.next != nil {
		return errors.New("the authority has a next CA already: promote it")
	}
	next, err := newSigner(now)
	if err != nil {
		return err
	}
	a.next = next
	return nil
}

// Promote makes the next CA current, and keeps the certificate of the current CA as the previous
// one.
func (a *Authority) Promote(now time.Time) error {
	if a.next == nil {
		return errors.New("the authority has no next CA: add it")
	}
	if a.previous != nil {
		end := a.PreviousEnds().UTC().Format(time.RFC3339)
		return errors.New("the authority has a previous CA, which agents may still have: drop it first, after " + end)
	}

	// The current CA signs the key of the next one, for agents that do not trust that yet.
	bridge, err := sign(&x509.Certificate{
		Subject:               a.next.certificate.Subject,
		SubjectKeyId:          a.next.certificate.SubjectKeyId,
		NotBefore:             now.Add(-backdated),
		NotAfter:              a.current.certificate.NotAfter,
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign,
	}, &a.next.key.PublicKey, a.current)
	if err != nil {
		return err
	}
	a.previous = a.current.certificate
	a.bridge = bridge
	a.current = a.next
	a.next = nil
	return nil
}

// Next returns the pin of the next CA, and the time at which all agents know it that could renew:
// the last certificate that was issued before AddNext has ended by then. The pin is "" if there is
// no next CA.
func (a *Authority) Next() (pin string, known time.Time) {
	if a.next == nil {
		return "", time.Time{}
	}
	return pinOf(a.next.certificate), a.next.certificate.NotBefore.Add(backdated + Lifetime)
}

// PreviousEnds returns the end of the last certificate of the previous CA; zero without a previous
// CA. An earlier DropPrevious strands agents that have not renewed their certificate since Promote.
func (a *Authority) PreviousEnds() time.Time {
	if a.previous == nil {
		return time.Time{}
	}
	return a.bridge.NotBefore.Add(backdated + Lifetime)
}

// DropPrevious ends the trust in the previous CA.
func (a *Authority) DropPrevious() { a.previous, a.bridge = nil, nil }

// Expires returns the time at which the current CA ends.
func (a *Authority) Expires() time.Time { return a.current.certificate.NotAfter }

// trusted returns the certificates that agents get.
func (a *Authority) trusted() []*x509.Certificate {
	certificates := []*x509.Certificate{a.current.certificate}
	if a.next != nil {
		certificates = append(certificates, a.next.certificate)
	}
	if a.previous != nil {
		certificates = append(certificates, a.previous)
	}
	return certificates
}

// Trust returns the authorities and pins for agents. The CA that issues comes first.
func (a *Authority) Trust() Trust {
	t := Trust{Authorities: a.trusted()}
	for _, c := range t.Authorities {
		t.Pins = append(t.Pins, pinOf(c))
	}
	return t
}

// Encode returns the data of a Secret.
func (a *Authority) Encode() (map[string][]byte, error) {
	data := map[string][]byte{certificateName: encode(a.current.certificate)}
	var err error
	data[keyName], err = keyutil.MarshalPrivateKeyToPEM(a.current.key)
	if err != nil {
		return nil, err
	}
	if a.next != nil {
		data[nextCertificate] = encode(a.next.certificate)
		data[nextKey], err = keyutil.MarshalPrivateKeyToPEM(a.next.key)
		if err != nil {
			return nil, err
		}
	}
	if a.previous != nil {
		data[previousCertificate] = encode(a.previous)
		data[bridgeCertificate] = encode(a.bridge)
	}
	return data, nil
}

// DecodeAuthority reads the data of a Secret.
func DecodeAuthority(data map[string][]byte) (*Authority, error) {
	a := &Authority{}
	var err error
	a.current, err = decodeSigner(data, certificateName, keyName)
	if err != nil {
		return nil, err
	}

	// The other certificates exist only during a rotation.
	if len(data[nextCertificate]) > 0 {
		a.next, err = decodeSigner(data, nextCertificate, nextKey)
		if err != nil {
			return nil, err
		}
	}
	if len(data[previousCertificate]) > 0 {
		a.previous, err = decodeCertificate(data, previousCertificate)
		if err != nil {
			return nil, err
		}
		a.bridge, err = decodeCertificate(data, bridgeCertificate)
		if err != nil {
			return nil, err
		}
	}
	return a, nil
}

// decodeSigner reads a certificate and its key from the data of a Secret.
func decodeSigner(data map[string][]byte, certificate, key string) (*signer, error) {
	c, err := decodeCertificate(data, certificate)
	if err != nil {
		return nil, err
	}
	k, err := decodeKey(data, key)
	if err != nil {
		return nil, err
	}
	if !k.PublicKey.Equal(c.PublicKey) {
		return nil, fmt.Errorf("%q is not the key of %q", key, certificate)
	}
	return &signer{c, k}, nil
}
