// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
	"github.com/stretchr/testify/require"
)

func TestAnEncryptedKeyNeedsItsPassword(t *testing.T) {
	key := keys(t)["P-256"]
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for _, password := range []string{"a secret", ""} { // cosign lets the password be empty
		sealed, err := encrypted.EncryptWithCustomKDFParameters(der, []byte(password), encrypted.Legacy)
		require.NoError(t, err)
		give := func(p string) func() ([]byte, error) { return func() ([]byte, error) { return []byte(p), nil } }
		for _, kind := range []string{"ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY"} {
			data := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: sealed})
			s, err := ParsePrivateKey(data, give(password))
			require.NoError(t, err)
			require.True(t, key.(*ecdsa.PrivateKey).Equal(s.private))
			if password == "" {
				continue
			}
			_, err = ParsePrivateKey(data, give("another"))
			require.ErrorIs(t, err, ErrPassword)
			_, err = ParsePrivateKey(data, nil)
			require.ErrorIs(t, err, ErrPassword)
			require.ErrorContains(t, err, "give its password")
			mine := errors.New("no terminal")
			_, err = ParsePrivateKey(data, func() ([]byte, error) { return nil, mine })
			require.ErrorIs(t, err, mine)
		}
	}
}

func TestTheCostOfAPasswordIsBounded(t *testing.T) {
	sealed := `{"kdf":{"name":"scrypt","params":{"N":1073741824,"r":8,"p":1},"salt":"AAAA"},` +
		`"cipher":{"name":"nacl/secretbox","nonce":"AAAA"},"ciphertext":"AAAA"}`
	data := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED SIGSTORE PRIVATE KEY", Bytes: []byte(sealed)})
	_, err := ParsePrivateKey(data, func() ([]byte, error) { return nil, nil })
	require.ErrorIs(t, err, ErrPassword)
}

func TestAPlainKeyAsksForNoPassword(t *testing.T) {
	private, public, err := GenerateKey()
	require.NoError(t, err)
	s, err := ParsePrivateKey(private, func() ([]byte, error) { return nil, errors.New("asked") })
	require.NoError(t, err)
	require.Equal(t, string(public), string(s.PublicKey()))
}

func TestAKeyOfOpensslIsRead(t *testing.T) {
	key := keys(t)["P-384"].(*ecdsa.PrivateKey)
	der, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	params := pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 5, 43, 129, 4, 0, 34}})
	s, err := ParsePrivateKey(append(params, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})...), nil)
	require.NoError(t, err)
	require.True(t, key.Equal(s.private))
}

func TestABadPrivateKeyIsRefused(t *testing.T) {
	private, public, err := GenerateKey()
	require.NoError(t, err)
	p224, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	require.NoError(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	block := func(kind string) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte("x")}) }
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"empty":             {nil, "no PEM block"},
		"no PEM":            {[]byte("secret stuff"), "no PEM block"},
		"only parameters":   {block("EC PARAMETERS"), "no PEM block"},
		"a public key":      {public, "give the other file"},
		"two keys":          {append(append([]byte(nil), private...), private...), "one key"},
		"broken PKCS8":      {block("PRIVATE KEY"), "is the file complete"},
		"broken SEC1":       {block("EC PRIVATE KEY"), "is the file complete"},
		"encrypted PKCS8":   {block("ENCRYPTED PRIVATE KEY"), "openssl pkcs8"},
		"a key of ssh":      {block("OPENSSH PRIVATE KEY"), `"OPENSSH PRIVATE KEY"`},
		"RSA":               {pkcs8(t, rsaKey), "P-256"},
		"another curve":     {pkcs8(t, p224), "P-224"},
		"a very large file": {make([]byte, maxKey+1), "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParsePrivateKey(c.data, nil)
			require.ErrorIs(t, err, ErrKey)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "secret stuff")
		})
	}
}

func TestABadPublicKeyIsRefused(t *testing.T) {
	private, public, err := GenerateKey()
	require.NoError(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	rsaDER, err := x509.MarshalPKIXPublicKey(rsaKey.Public())
	require.NoError(t, err)
	block := func(kind string, der []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	for name, c := range map[string]struct {
		keys [][]byte
		says string
	}{
		"none":                {nil, "none was given"},
		"an empty one":        {[][]byte{public, []byte(" \n")}, "empty"},
		"no PEM":              {[][]byte{[]byte("x")}, "no PEM block"},
		"a key and then none": {[][]byte{append(append([]byte(nil), public...), "x"...)}, "no PEM block"},
		"a private key":       {[][]byte{private}, "keep this one secret"},
		"a certificate":       {[][]byte{block("CERTIFICATE", []byte("x"))}, `"CERTIFICATE"`},
		"broken":              {[][]byte{block("PUBLIC KEY", []byte("x"))}, "is the file complete"},
		"RSA":                 {[][]byte{block("PUBLIC KEY", rsaDER)}, "P-256"},
		"a very large file":   {[][]byte{[]byte(strings.Repeat(" ", maxKey+1))}, "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParsePublicKeys(c.keys...)
			require.ErrorIs(t, err, ErrKey)
			require.ErrorContains(t, err, c.says)
		})
	}
}
