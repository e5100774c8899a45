// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	strictjson "sigs.k8s.io/json"

	"github.com/ropewalk/ropewalk/internal/digests"
)

const (
	// payloadType is the type of an in-toto statement inside an envelope.
	payloadType = "application/vnd.in-toto+json"
	// oldBundleType is the spelling of BundleType before it was registered.
	oldBundleType = "application/vnd.dev.sigstore.bundle+json;version=0.3"

	// statementType and oldStatementType are the versions of in-toto statements that are read;
	// cosign 2 writes the older version.
	statementType    = "https://in-toto.io/Statement/v1"
	oldStatementType = "https://in-toto.io/Statement/v0.1"

	maxSubjects = 1024
)

// parsedStatement is a statement with the digests that it is about.
type parsedStatement struct {
	Statement
	subjects []string // sha256:<hex>
}

// limit returns how many bytes the bundle of a statement of this type may have.
func (s parsedStatement) limit() int {
	if s.PredicateType == PredicateSignature {
		return MaxSignature
	}
	return MaxBundle
}

// readBundle is a bundle as it is read. Its base64 is text, because the decoder of JSON
// accepts line breaks in it.
type readBundle struct {
	MediaType string `json:"mediaType"`
	Material  struct {
		PublicKey *struct {
			Hint string `json:"hint"`
		} `json:"publicKey"`
		Certificate *json.RawMessage `json:"certificate"`
		Chain       *json.RawMessage `json:"x509CertificateChain"`
		Log         *json.RawMessage `json:"tlogEntries"`
		Timestamps  *json.RawMessage `json:"timestampVerificationData"`
	} `json:"verificationMaterial"`
	Envelope struct {
		Payload     string `json:"payload"`
		PayloadType string `json:"payloadType"`
		Signatures  []struct {
			Sig   string `json:"sig"`
			KeyID string `json:"keyid"`
		} `json:"signatures"`
	} `json:"dsseEnvelope"`
	Message *json.RawMessage `json:"messageSignature"`
}

// signedEnvelope is the decoded envelope of a bundle.
type signedEnvelope struct {
	payload   []byte
	signature []byte
	hint      string // the name of the key, as the bundle has it
}

// parseBundle reads the envelope of a bundle. The error is ErrMalformed, or ErrSignature for
// a signature without a key.
func parseBundle(data []byte) (signedEnvelope, error) {
	var b readBundle
	bad := func(format string, args ...any) (signedEnvelope, error) {
		return signedEnvelope{}, refuse(ErrMalformed, "bundle: "+fmt.Sprintf(format, args...))
	}

	// The first fault is the one that is reported.
	err := decodeStrict(data, &b, strictjson.DisallowDuplicateFields, strictjson.DisallowUnknownFields)
	switch m := b.Material; {
	case err != nil:
		return bad("%s", err)
	case b.MediaType != BundleType && b.MediaType != oldBundleType:
		return bad("mediaType is %.100q and not %q", b.MediaType, BundleType)
	case m.Certificate != nil || m.Chain != nil:
		return signedEnvelope{}, refuse(ErrSignature,
			"bundle: keyless signatures need certificates, a transparency log and a clock: not supported here: "+
				`sign with a key ("cosign sign --key")`)
	case m.PublicKey == nil:
		return bad("publicKey is missing in verificationMaterial")
	case b.Message != nil:
		return bad(`it signs a message and no statement: sign with "cosign sign" and not "cosign sign-blob"`)
	case b.Envelope.PayloadType != payloadType:
		return bad("payloadType is %.100q and not %q", b.Envelope.PayloadType, payloadType)
	case len(b.Envelope.Signatures) != 1:
		return bad("it must have exactly one signature")
	}

	// Payload and signature are signed and compared as bytes.
	signature, isBase64 := decodeBase64(b.Envelope.Signatures[0].Sig)
	hasSignature := isBase64 && len(signature) > 0
	payload, isBase64 := decodeBase64(b.Envelope.Payload)
	hasPayload := isBase64 && len(payload) > 0
	if !hasSignature || !hasPayload {
		return bad("payload and sig must be standard base64")
	}
	return signedEnvelope{payload: payload, signature: signature, hint: b.Material.PublicKey.Hint}, nil
}

// parseStatement reads an in-toto statement. Fields that it does not know are
// left alone, as the specification wants.
func parseStatement(data []byte) (parsedStatement, error) {
	var s struct {
		Type          string `json:"_type"`
		PredicateType string `json:"predicateType"`
		Subject       []struct {
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
		Predicate json.RawMessage `json:"predicate"`
	}
	bad := func(format string, args ...any) (parsedStatement, error) {
		return parsedStatement{}, refuse(ErrMalformed, "statement: "+fmt.Sprintf(format, args...))
	}

	// The first fault is the one that is reported.
	err := decodeStrict(data, &s, strictjson.DisallowDuplicateFields)
	switch {
	case err != nil:
		return bad("%s", err)
	case s.Type != statementType && s.Type != oldStatementType:
		return bad("_type is %.100q and not %q", s.Type, statementType)
	case s.PredicateType == "":
		return bad("it has no predicateType")
	case len(s.Subject) > maxSubjects:
		return bad("it has more than %d subjects", maxSubjects)
	}

	// Subjects with other digests are skipped: only SHA-256 counts.
	out := parsedStatement{Statement: Statement{PredicateType: s.PredicateType, Predicate: s.Predicate}}
	for _, subject := range s.Subject {
		hex, ok := subject.Digest["sha256"]
		if !ok {
			continue
		}
		if !digests.Is("sha256:" + hex) {
			return bad("subject: %.100q is not 64 lower-case hexadecimal digits", hex)
		}
		out.subjects = append(out.subjects, "sha256:"+hex)
	}
	return out, nil
}

// decodeStrict reads a JSON object whose names have the case of the fields of v. A duplicate
// name is an error: two readers could choose different values, and so would see two
// documents.
func decodeStrict(data []byte, v any, options ...strictjson.StrictOption) error {
	problems, err := strictjson.UnmarshalStrict(data, v, options...)
	err = errors.Join(err, errors.Join(problems...))
	if err != nil {
		return fmt.Errorf("%.300s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}
