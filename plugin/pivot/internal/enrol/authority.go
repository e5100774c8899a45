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

// The keys of the Secret of an Authority: of the current CA, and of the others.
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
// A rotation is AddNext, Promote and DropPrevious. No agent is stranded in either order of
// its steps and the renewals of agents: one that has the bundle of before Promote trusts the
// new CA by the bridge, which is the new key signed by the previous one.
//
// The caller keeps it in a Secret: it decodes it, changes it, and writes it back with the
// resourceVersion that it has read.
type Authority struct {
	current, next *signer
	// previous signs nothing any more, so its key is not kept. bridge is nil without it.
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

func newSigner(now time.Time) (*signer, error) {
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	sum, err := PublicKeySum(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	// The name has a part of the key: programs that find an issuer by its name find the right one.
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
	return &signer{certificate, key}, err
}

// sign issues a certificate. Its serial number is random.
func sign(template *x509.Certificate, key *ecdsa.PublicKey, by *signer) (*x509.Certificate, error) {
	raw, err := x509.CreateCertificate(rand.Reader, template, by.certificate, key, by.key)
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
	if err == nil {
		a.next = next
	}
	return err
}

// Promote makes the next CA the current one, and the current one the previous one.
func (a *Authority) Promote(now time.Time) error {
	switch {
	case a.next == nil:
		return errors.New("the authority has no next CA: add it")
	case a.previous != nil:
		return errors.New("the authority has a previous CA, which agents may still have: drop it first, after " + a.PreviousEnds().UTC().Format(time.RFC3339))
	}
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
	a.previous, a.bridge, a.current, a.next = a.current.certificate, bridge, a.next, nil
	return nil
}

// Next returns the pin of the next CA, and when all agents have it that could renew: the last
// certificate that was issued before AddNext has ended by then. The pin is "" if there is no next
// CA.
func (a *Authority) Next() (pin string, known time.Time) {
	if a.next == nil {
		return "", time.Time{}
	}
	return pinOf(a.next.certificate), a.next.certificate.NotBefore.Add(backdated + Lifetime)
}

// PreviousEnds returns when the last certificate of the previous CA ends; zero without a previous
// CA. Before that, DropPrevious strands agents that have not renewed their certificate since
// Promote.
func (a *Authority) PreviousEnds() time.Time {
	if a.previous == nil {
		return time.Time{}
	}
	return a.bridge.NotBefore.Add(backdated + Lifetime)
}

// DropPrevious ends the trust in the previous CA.
func (a *Authority) DropPrevious() { a.previous, a.bridge = nil, nil }

// Expires returns when the current CA ends.
func (a *Authority) Expires() time.Time { return a.current.certificate.NotAfter }

// trusted returns the certificates that agents get.
func (a *Authority) trusted() []*x509.Certificate {
	all := []*x509.Certificate{a.current.certificate}
	if a.next != nil {
		all = append(all, a.next.certificate)
	}
	if a.previous != nil {
		all = append(all, a.previous)
	}
	return all
}

// Trust returns what agents trust. The CA that issues comes first.
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
	}
	if a.previous != nil {
		data[previousCertificate] = encode(a.previous)
		data[bridgeCertificate] = encode(a.bridge)
	}
	return data, err
}

// DecodeAuthority reads the data of a Secret.
func DecodeAuthority(data map[string][]byte) (*Authority, error) {
	a := &Authority{}
	var err error
	a.current, err = decodeSigner(data, certificateName, keyName)
	if err != nil {
		return nil, err
	}
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
