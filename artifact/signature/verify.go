// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	strictjson "sigs.k8s.io/json"

	"github.com/ropewalk/ropewalk/internal/digests"
)

const (
	// simpleType is the type in a simple signing payload of cosign.
	simpleType = "cosign container image signature"
	// maxSimple bounds a signature in an annotation; signatures of the supported keys have less
	// than 150 characters.
	maxSimple = 4096
)

// Verifier checks signatures with public keys. It may be used by many at once.
type Verifier struct {
	keys []publicKey
}

// Statement is the statement of a bundle about its subject, with the key that signed it.
type Statement struct {
	// PredicateType is the URI of the type of Predicate.
	PredicateType string
	// Predicate is the JSON that was signed; nil where the statement has no predicate.
	Predicate json.RawMessage
	// Key is the hint of the key that signed, see [Signer.Hint].
	Key string
}

// ParsePublicKeys reads public keys in PEM (PKIX), one or more in each argument.
// A signature by any of them is good. An error is ErrKey.
func ParsePublicKeys(keys ...[]byte) (*Verifier, error) {
	v := &Verifier{}
	for _, data := range keys {
		if len(data) > maxKey {
			return nil, refuse(ErrKey, fmt.Sprintf("public key: larger than %d bytes", maxKey))
		}

		// A file may hold several keys, one after the other.
		before := len(v.keys)
		for len(bytes.TrimSpace(data)) > 0 {
			block, remaining := pem.Decode(data)
			if block == nil {
				return nil, refuse(ErrKey, `public key: no PEM block "-----BEGIN PUBLIC KEY-----"`)
			}
			key, err := parsePublicKey(block)
			if err != nil {
				return nil, err
			}
			v.keys = append(v.keys, key)
			data = remaining
		}
		if len(v.keys) == before {
			return nil, refuse(ErrKey, "public key: it is empty")
		}
	}
	if len(v.keys) == 0 {
		return nil, refuse(ErrKey, "public key: none was given: nothing can be verified")
	}
	return v, nil
}

func parsePublicKey(block *pem.Block) (publicKey, error) {
	switch {
	case block.Type == pemPublic:
	case strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return publicKey{}, refuse(ErrKey, "public key: this is a private key: give the other file of the pair, and keep this one secret")
	default:
		return publicKey{}, refuse(ErrKey, fmt.Sprintf("public key: a PEM block %q is not read: %q is wanted", block.Type, pemPublic))
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return publicKey{}, refuse(ErrKey, "public key: no PKIX in its PEM block: is the file complete?")
	}
	return newPublicKey(key)
}

// Signature checks that a bundle is a signature of subject, which is
// sha256:<hex>: by a known key, of that digest, and of the predicate type of a
// signature. An error is ErrMalformed or ErrSignature.
func (v *Verifier) Signature(data []byte, subject string) error {
	if len(data) > MaxSignature {
		return refuse(ErrMalformed, fmt.Sprintf("signature of %s: larger than %d bytes", subject, MaxSignature))
	}
	s, err := v.Bundle(data, subject)
	if err != nil {
		return err
	}
	if s.PredicateType != PredicateSignature {
		return refuse(ErrSignature, fmt.Sprintf("signature of %s: this is an attestation of type %q and no signature: sign the artifact too",
			subject, s.PredicateType))
	}
	return nil
}

// Bundle checks that a bundle is signed by a known key and is about subject, which is
// sha256:<hex>, and returns what it states. A caller that requires a signature calls
// [Verifier.Signature]. The error is ErrMalformed or ErrSignature.
func (v *Verifier) Bundle(data []byte, subject string) (Statement, error) {
	if err := v.checkReady(subject); err != nil {
		return Statement{}, err
	}
	if len(data) > MaxBundle {
		return Statement{}, refuse(ErrMalformed, fmt.Sprintf("bundle for %s: larger than %d bytes", subject, MaxBundle))
	}
	envelope, err := parseBundle(data)
	if err != nil {
		return Statement{}, err
	}
	key, ok := v.findSigner(preAuthEncoding(payloadType, envelope.payload), envelope.signature)
	if !ok {
		return Statement{}, v.errUnknownKey(subject, envelope.hint)
	}
	s, err := parseStatement(envelope.payload)
	if err != nil {
		return Statement{}, err
	}
	if !slices.Contains(s.subjects, subject) {
		return Statement{}, refuse(ErrSignature, fmt.Sprintf(
			"bundle for %s: it is about %s: the artifact was altered or exchanged, or the bundle belongs to another",
			subject, describeSubjects(s.subjects)))
	}
	s.Key = key.hint
	return s.Statement, nil
}

// Simple checks a signature of cosign v2 ("simple signing"): payload is the
// layer, signature its annotation dev.cosignproject.cosign/signature, subject is
// sha256:<hex>. The repository that the payload names is not looked at, so that
// a signature survives a copy. An error is ErrMalformed or ErrSignature.
func (v *Verifier) Simple(payload []byte, signature, subject string) error {
	if err := v.checkReady(subject); err != nil {
		return err
	}
	if len(payload) > MaxSignature || len(signature) > maxSimple {
		return refuse(ErrMalformed, fmt.Sprintf("signature of %s: larger than %d bytes", subject, MaxSignature))
	}
	raw, ok := decodeBase64(signature)
	if !ok {
		return refuse(ErrMalformed, fmt.Sprintf("signature of %s: its annotation is not standard base64", subject))
	}
	if _, ok := v.findSigner(payload, raw); !ok {
		return v.errUnknownKey(subject, "")
	}
	digest, err := parseSimple(payload)
	if err != nil {
		return refuse(ErrMalformed, fmt.Sprintf("signature of %s: %s", subject, err))
	}
	if digest != subject {
		return refuse(ErrSignature, fmt.Sprintf(
			"signature of %s: it is about %s: the artifact was altered or exchanged, or the signature belongs to another",
			subject, describeSubjects([]string{digest})))
	}
	return nil
}

// parseSimple returns the digest that a simple signing payload is about.
func parseSimple(payload []byte) (string, error) {
	var p struct {
		Critical struct {
			Type  string `json:"type"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
		} `json:"critical"`
	}
	if err := decodeStrict(payload, &p, strictjson.DisallowDuplicateFields); err != nil {
		return "", err
	}
	if p.Critical.Type != simpleType {
		return "", fmt.Errorf("critical.type is %.100q and not %q", p.Critical.Type, simpleType)
	}
	return p.Critical.Image.Digest, nil
}

// checkReady refuses to verify without a key, or for a subject that is not a SHA-256 digest.
func (v *Verifier) checkReady(subject string) error {
	if len(v.keys) == 0 {
		return refuse(ErrKey, "public key: none was given: nothing can be verified")
	}
	if !digests.Is(subject) {
		return refuse(ErrMalformed, fmt.Sprintf("%.200q is not sha256: and 64 lower-case hexadecimal digits", subject))
	}
	return nil
}

// findSigner returns the key that signed message; false if none did. All keys are tried: a hint
// could name the wrong key, and there are few.
func (v *Verifier) findSigner(message, signature []byte) (publicKey, bool) {
	i := slices.IndexFunc(v.keys, func(k publicKey) bool { return k.signed(message, signature) })
	if i < 0 {
		return publicKey{}, false
	}
	return v.keys[i], true
}

func (v *Verifier) errUnknownKey(subject, hint string) error {
	signer := ""
	if hint != "" {
		signer = fmt.Sprintf(" (it names the key %.100q)", hint)
	}
	return refuse(ErrSignature, fmt.Sprintf(
		"signature of %s: made by none of the given keys (%d)%s: pass the public key of the signer, or sign it",
		subject, len(v.keys), signer))
}

// describeSubjects names what a statement is about, for an error.
func describeSubjects(digests []string) string {
	if len(digests) == 0 {
		return "nothing with a sha256 digest"
	}
	return fmt.Sprintf("%.80q", digests[0])
}
