// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"math/big"
	"time"

	"github.com/sigstore/sigstore-go/pkg/sign"
)

// certificate is an authority in a test: it certifies every key.
type certificate struct{}

var _ sign.CertificateProvider = certificate{}

// GetCertificate certifies the key of pair.
func (certificate) GetCertificate(_ context.Context, pair sign.Keypair, _ *sign.CertificateProviderOptions) ([]byte, error) {
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Minute), EmailAddresses: []string{"a@example.com"},
	}
	return x509.CreateCertificate(rand.Reader, template, template, pair.GetPublicKey(), authority)
}
