// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	sigstore "github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/payload"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
)

// digestOf is a digest of a manifest.
func digestOf(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

// kinds are the keys that both sides know, by their name at Sigstore.
func kinds() map[string]protocommon.PublicKeyDetails {
	return map[string]protocommon.PublicKeyDetails{
		"P-256":   protocommon.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256,
		"P-384":   protocommon.PublicKeyDetails_PKIX_ECDSA_P384_SHA_384,
		"Ed25519": protocommon.PublicKeyDetails_PKIX_ED25519,
	}
}

func generate(t *testing.T, kind string) crypto.Signer {
	t.Helper()
	switch kind {
	case "P-384":
		key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
		require.NoError(t, err)
		return key
	case "Ed25519":
		_, key, err := ed25519.GenerateKey(rand.Reader)
		require.NoError(t, err)
		return key
	default:
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		return key
	}
}

func signer(t *testing.T, key crypto.Signer) *signature.Signer {
	t.Helper()
	private, err := cryptoutils.MarshalPrivateKeyToPEM(key)
	require.NoError(t, err)
	s, err := signature.ParsePrivateKey(private, nil)
	require.NoError(t, err)
	return s
}

// verifySigstore has sigstore-go verify a bundle of ours with a public key, as
// cosign and Flux do with a key and without a transparency log.
func verifySigstore(public crypto.PublicKey, hint string, data []byte, subject string) (*verify.VerificationResult, error) {
	verifier, err := sigstore.LoadDefaultVerifier(public)
	if err != nil {
		return nil, err
	}
	trusted := root.NewTrustedPublicKeyMaterial(func(asked string) (root.TimeConstrainedVerifier, error) {
		if asked != hint {
			return nil, errors.New("another hint was asked for")
		}
		return root.NewExpiringKey(verifier, time.Time{}, time.Time{}), nil
	})
	v, err := verify.NewVerifier(trusted, verify.WithNoObserverTimestamps())
	if err != nil {
		return nil, err
	}
	var b bundle.Bundle
	if err := b.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	raw, err := hex.DecodeString(strings.TrimPrefix(subject, "sha256:"))
	if err != nil {
		return nil, err
	}
	return v.Verify(&b, verify.NewPolicy(verify.WithArtifactDigest("sha256", raw), verify.WithKey()))
}

func TestSigstoreVerifiesWhatRopewalkSigns(t *testing.T) {
	for kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			key := generate(t, kind)
			s := signer(t, key)
			for _, data := range statements(t) {
				signed, err := s.Sign(data)
				require.NoError(t, err)
				result, err := verifySigstore(key.Public(), s.Hint(), signed, digestOf("a"))
				require.NoError(t, err)
				require.NotEmpty(t, result.Statement.GetPredicateType())

				_, err = verifySigstore(key.Public(), s.Hint(), signed, digestOf("b"))
				require.Error(t, err, "another digest")
				_, err = verifySigstore(generate(t, kind).Public(), s.Hint(), signed, digestOf("a"))
				require.Error(t, err, "another key")
			}
		})
	}
}

func TestRopewalkVerifiesWhatSigstoreSigns(t *testing.T) {
	for kind, algorithm := range kinds() {
		t.Run(kind, func(t *testing.T) {
			pair, err := sign.NewEphemeralKeypair(&sign.EphemeralKeypairOptions{Algorithm: algorithm})
			require.NoError(t, err)
			public, err := pair.GetPublicKeyPem()
			require.NoError(t, err)
			v, err := signature.ParsePublicKeys([]byte(public))
			require.NoError(t, err)

			stated, err := statement.Signature(statement.Subject{Digest: digestOf("a")})
			require.NoError(t, err)
			signed := signSigstore(t, pair, &sign.DSSEData{Data: stated, PayloadType: statement.MediaType})
			require.NoError(t, v.Signature(signed, digestOf("a")))
			require.ErrorIs(t, v.Signature(signed, digestOf("b")), signature.ErrSignature)
			got, err := v.Bundle(signed, digestOf("a"))
			require.NoError(t, err)
			require.Equal(t, string(pair.GetHint()), got.Key, "both name a key alike")

			blob := signSigstore(t, pair, &sign.PlainData{Data: stated})
			require.ErrorIs(t, v.Signature(blob, digestOf("a")), signature.ErrMalformed)
			text := signSigstore(t, pair, &sign.DSSEData{Data: stated, PayloadType: "text/plain"})
			require.ErrorIs(t, v.Signature(text, digestOf("a")), signature.ErrMalformed)
		})
	}
}

func signSigstore(t *testing.T, pair sign.Keypair, content sign.Content) []byte {
	t.Helper()
	signed, err := sign.Bundle(content, pair, sign.BundleOptions{Context: t.Context()})
	require.NoError(t, err)
	data, err := protojson.Marshal(signed)
	require.NoError(t, err)
	return data
}

func TestRopewalkSaysThatSigstoresKeylessBundlesAreNotSupported(t *testing.T) {
	pair, err := sign.NewEphemeralKeypair(nil)
	require.NoError(t, err)
	stated, err := statement.Signature(statement.Subject{Digest: digestOf("a")})
	require.NoError(t, err)
	signed, err := sign.Bundle(&sign.DSSEData{Data: stated, PayloadType: statement.MediaType}, pair,
		sign.BundleOptions{Context: t.Context(), CertificateProvider: certificate{}})
	require.NoError(t, err)
	data, err := protojson.Marshal(signed)
	require.NoError(t, err)
	public, err := pair.GetPublicKeyPem()
	require.NoError(t, err)
	v, err := signature.ParsePublicKeys([]byte(public))
	require.NoError(t, err)
	err = v.Signature(data, digestOf("a"))
	require.ErrorIs(t, err, signature.ErrSignature)
	require.ErrorContains(t, err, "keyless signatures need")
}

func TestRopewalkVerifiesWhatCosign2Writes(t *testing.T) {
	for kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			key := generate(t, kind)
			reference, err := name.NewDigest("registry.example.com/shop@" + digestOf("a"))
			require.NoError(t, err)
			for _, annotations := range []map[string]any{nil, {"commit": "abc"}} {
				data, err := json.Marshal(payload.Cosign{Image: reference, Annotations: annotations})
				require.NoError(t, err)
				// cosign 2 takes SHA-256 with every curve.
				s, err := sigstore.LoadSigner(key, crypto.SHA256)
				require.NoError(t, err)
				raw, err := s.SignMessage(bytes.NewReader(data))
				require.NoError(t, err)

				public, err := cryptoutils.MarshalPublicKeyToPEM(key.Public())
				require.NoError(t, err)
				v, err := signature.ParsePublicKeys(public)
				require.NoError(t, err)
				encoded := base64.StdEncoding.EncodeToString(raw)
				require.NoError(t, v.Simple(data, encoded, digestOf("a")))
				require.ErrorIs(t, v.Simple(data, encoded, digestOf("b")), signature.ErrSignature)
			}
		})
	}
}

func TestKeysArePassedToAndFro(t *testing.T) {
	password := func(bool) ([]byte, error) { return []byte("a secret"), nil }
	private, public, err := cryptoutils.GeneratePEMEncodedECDSAKeyPair(elliptic.P256(), password)
	require.NoError(t, err)
	s, err := signature.ParsePrivateKey(private, func() ([]byte, error) { return password(false) })
	require.NoError(t, err)
	require.Equal(t, string(public), string(s.PublicKey()))
	_, err = signature.ParsePrivateKey(private, func() ([]byte, error) { return nil, nil })
	require.ErrorIs(t, err, signature.ErrPassword)

	private, public, err = signature.GenerateKey()
	require.NoError(t, err)
	key, err := cryptoutils.UnmarshalPEMToPrivateKey(private, nil)
	require.NoError(t, err)
	theirs, err := cryptoutils.UnmarshalPEMToPublicKey(public)
	require.NoError(t, err)
	require.NoError(t, cryptoutils.EqualKeys(key.(crypto.Signer).Public(), theirs))
}
