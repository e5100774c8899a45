// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"crypto"
	"encoding/base64"
	"fmt"
	"strconv"

	// The hashes that signatures are of.
	_ "crypto/sha256"
	_ "crypto/sha512"

	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/artifact/statement"
)

const (
	// BundleType is the media type of a bundle, and the artifact type of a
	// referrer that holds one (cosign BUNDLE_SPEC).
	BundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"
	// PredicateSignature is the predicate type of a statement that signs its
	// subject and says no more.
	PredicateSignature = statement.PredicateSignature

	// MaxSignature limits a signature, in bytes.
	MaxSignature = 1 << 20
	// MaxBundle limits the bundle of an attestation, in bytes: the graph of 10,000 objects fits.
	MaxBundle = 32 << 20
)

// bundle is a Sigstore bundle v0.3 as it is written: the JSON form of dev.sigstore.bundle.v1.Bundle
// with its fields in this order.
type bundle struct {
	MediaType            string   `json:"mediaType"`
	VerificationMaterial material `json:"verificationMaterial"`
	Envelope             envelope `json:"dsseEnvelope"`
}

type material struct {
	PublicKey struct {
		Hint string `json:"hint"`
	} `json:"publicKey"`
}

// envelope is a DSSE envelope; bytes are base64 in JSON.
type envelope struct {
	Payload     []byte              `json:"payload"`
	PayloadType string              `json:"payloadType"`
	Signatures  []envelopeSignature `json:"signatures"`
}

type envelopeSignature struct {
	Sig []byte `json:"sig"`
}

// Sign signs an in-toto statement and returns the bundle as JSON. The statement is signed
// byte for byte as it is given; it must have a subject with a SHA-256 digest. The same key
// and statement give the same bundle.
func (s *Signer) Sign(statement []byte) ([]byte, error) {
	parsed, err := parseStatement(statement)
	if err != nil {
		return nil, err
	}
	if len(parsed.subjects) == 0 {
		return nil, refuse(ErrMalformed, "statement: it has no subject with a sha256 digest: there is nothing to sign")
	}
	signature, err := s.sign(preAuthEncoding(payloadType, statement))
	if err != nil {
		return nil, fmt.Errorf("sign with key %q: %w", s.public.hint, err)
	}

	// The bundle holds the statement as it was signed.
	out := bundle{
		MediaType: BundleType,
		Envelope: envelope{
			Payload: statement, PayloadType: payloadType,
			Signatures: []envelopeSignature{{Sig: signature}},
		},
	}
	out.VerificationMaterial.PublicKey.Hint = s.public.hint
	data, err := manifest.Encode(out)
	if err != nil {
		return nil, err
	}
	if len(data) > parsed.limit() {
		return nil, refuse(ErrMalformed, fmt.Sprintf("statement of type %q: its bundle would be larger than %d bytes",
			parsed.PredicateType, parsed.limit()))
	}
	return data, nil
}

func (s *Signer) sign(message []byte) ([]byte, error) {
	if len(s.public.hashes) == 0 {
		return s.private.Sign(nil, message, crypto.Hash(0))
	}
	// Without a source of randomness the nonce comes from the key and the message
	// (RFC 6979): signing twice gives the same signature.
	return s.private.Sign(nil, sum(s.public.hashes[0], message), s.public.hashes[0])
}

// preAuthEncoding returns the bytes that DSSE signs (protocol.md of the DSSE specification).
// They hold the type, so that no payload can be taken for one of another type.
func preAuthEncoding(payloadType string, payload []byte) []byte {
	out := make([]byte, 0, len(payload)+len(payloadType)+32)
	out = append(out, "DSSEv1 "...)
	out = strconv.AppendInt(out, int64(len(payloadType)), 10)
	out = append(out, ' ')
	out = append(out, payloadType...)
	out = append(out, ' ')
	out = strconv.AppendInt(out, int64(len(payload)), 10)
	out = append(out, ' ')
	return append(out, payload...)
}

// decodeBase64 decodes base64 in the standard alphabet with padding. It accepts nothing else,
// so that there is one way to write some bytes; false if s is not of this form.
func decodeBase64(s string) ([]byte, bool) {
	out, err := base64.StdEncoding.Strict().DecodeString(s)
	return out, err == nil && base64.StdEncoding.EncodedLen(len(out)) == len(s)
}
