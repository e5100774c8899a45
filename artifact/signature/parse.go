// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	// payloadType is the type of an in-toto statement inside an envelope.
	payloadType = "application/vnd.in-toto+json"
	// oldBundleType is how BundleType was spelled before it was registered.
	oldBundleType = "application/vnd.dev.sigstore.bundle+json;version=0.3"

	// statementType and oldStatementType are the versions of in-toto statements
	// that are read; the older one is what cosign 2 writes.
	statementType    = "https://in-toto.io/Statement/v1"
	oldStatementType = "https://in-toto.io/Statement/v0.1"

	maxSubjects = 1024
)

// parsedStatement is a statement with the digests that it is about.
type parsedStatement struct {
	Statement
	subjects []string // sha256:<hex>
}

// limit is how large the bundle of such a statement may be.
func (s parsedStatement) limit() int {
	if s.PredicateType == PredicateSignature {
		return MaxSignature
	}
	return MaxBundle
}

// parseBundle gives the payload and the signature of a bundle's envelope, and
// the hint at its key.
func parseBundle(data []byte) (payload, signature []byte, hint string, err error) {
	b, err := object(data, "mediaType", "verificationMaterial", "dsseEnvelope", "messageSignature")
	if err != nil {
		return nil, nil, "", malformed("bundle", err)
	}
	if t, err := text(b, "mediaType"); err != nil || t != BundleType && t != oldBundleType {
		return nil, nil, "", refuse(ErrMalformed, fmt.Sprintf("bundle: mediaType is %s and not %q", short(b["mediaType"]), BundleType))
	}
	if hint, err = parseMaterial(b["verificationMaterial"]); err != nil {
		return nil, nil, "", err
	}
	if _, ok := b["messageSignature"]; ok {
		return nil, nil, "", refuse(ErrMalformed, `bundle: it signs a message and no statement: sign with "cosign sign" and not "cosign sign-blob"`)
	}
	if payload, signature, err = parseEnvelope(b["dsseEnvelope"]); err != nil {
		return nil, nil, "", malformed("bundle: dsseEnvelope", err)
	}
	return payload, signature, hint, nil
}

func parseMaterial(data []byte) (hint string, err error) {
	m, err := object(data, "publicKey", "certificate", "x509CertificateChain", "tlogEntries", "timestampVerificationData")
	if err != nil {
		return "", malformed("bundle: verificationMaterial", err)
	}
	for _, name := range []string{"certificate", "x509CertificateChain"} {
		if _, ok := m[name]; ok {
			return "", refuse(ErrSignature, "bundle: keyless signatures need certificates, a transparency log and a clock: not supported here: "+
				`sign with a key ("cosign sign --key")`)
		}
	}
	key, err := object(m["publicKey"], "hint")
	if err != nil {
		return "", malformed("bundle: publicKey", err)
	}
	if _, ok := key["hint"]; !ok {
		return "", nil
	}
	if hint, err = text(key, "hint"); err != nil {
		return "", malformed("bundle: publicKey", err)
	}
	return hint, nil
}

func parseEnvelope(data []byte) (payload, signature []byte, err error) {
	e, err := object(data, "payload", "payloadType", "signatures")
	if err != nil {
		return nil, nil, err
	}
	if t, err := text(e, "payloadType"); err != nil || t != payloadType {
		return nil, nil, fmt.Errorf("payloadType is %s and not %q", short(e["payloadType"]), payloadType)
	}
	var signatures []json.RawMessage
	if err := json.Unmarshal(orNull(e["signatures"]), &signatures); err != nil || len(signatures) != 1 {
		return nil, nil, errors.New("it must have exactly one signature")
	}
	s, err := object(signatures[0], "sig", "keyid")
	if err != nil {
		return nil, nil, err
	}
	if signature, err = binary(s, "sig"); err != nil {
		return nil, nil, err
	}
	payload, err = binary(e, "payload")
	return payload, signature, err
}

// parseStatement reads an in-toto statement. Fields that it does not know are
// left alone, as the specification wants.
func parseStatement(data []byte) (parsedStatement, error) {
	s, err := object(data)
	if err != nil {
		return parsedStatement{}, malformed("statement", err)
	}
	if t, err := text(s, "_type"); err != nil || t != statementType && t != oldStatementType {
		return parsedStatement{}, refuse(ErrMalformed, fmt.Sprintf("statement: _type is %s and not %q", short(s["_type"]), statementType))
	}
	var out parsedStatement
	if out.PredicateType, err = text(s, "predicateType"); err != nil || out.PredicateType == "" {
		return parsedStatement{}, refuse(ErrMalformed, "statement: it has no predicateType")
	}
	out.Predicate = s["predicate"]
	var subjects []json.RawMessage
	if err := json.Unmarshal(orNull(s["subject"]), &subjects); err != nil || len(subjects) > maxSubjects {
		return parsedStatement{}, refuse(ErrMalformed, fmt.Sprintf("statement: subject must be a list of at most %d", maxSubjects))
	}
	for _, subject := range subjects {
		digest, err := parseSubject(subject)
		if err != nil {
			return parsedStatement{}, malformed("statement: subject", err)
		}
		if digest != "" {
			out.subjects = append(out.subjects, digest)
		}
	}
	return out, nil
}

// parseSubject is the SHA-256 of a subject, "" where it has others only.
func parseSubject(data []byte) (string, error) {
	s, err := object(data)
	if err != nil {
		return "", err
	}
	digests, err := object(s["digest"])
	if err != nil {
		return "", err
	}
	if _, ok := digests["sha256"]; !ok {
		return "", nil
	}
	hex, err := text(digests, "sha256")
	if err == nil && !isDigest("sha256:"+hex) {
		err = fmt.Errorf("%q is not 64 lower-case hexadecimal digits", hex)
	}
	return "sha256:" + hex, err
}

// object reads a JSON object into its fields. It refuses a name that stands
// twice and, where names are given, every other name: two readers that choose
// differently would see two documents. A field that is null is as good as none.
func object(data []byte, names ...string) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.New("a JSON object is required")
	}
	seen := map[string]json.RawMessage{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, errors.New("the JSON is cut short or broken")
		}
		name, _ := token.(string) // the decoder lets nothing else be a name
		if _, twice := seen[name]; twice {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		if len(names) > 0 && !slices.Contains(names, name) {
			return nil, fmt.Errorf("%q is unknown: %s is wanted", name, strings.Join(names, ", "))
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, errors.New("the JSON is cut short or broken")
		}
		seen[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, errors.New("the JSON is cut short or broken")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected data after the JSON object")
	}
	for name, value := range seen {
		if string(value) == "null" {
			delete(seen, name)
		}
	}
	return seen, nil
}

func text(fields map[string]json.RawMessage, name string) (string, error) {
	var out string
	if err := json.Unmarshal(orNull(fields[name]), &out); err != nil || fields[name] == nil {
		return "", fmt.Errorf("%s: a string is wanted", name)
	}
	return out, nil
}

func binary(fields map[string]json.RawMessage, name string) ([]byte, error) {
	encoded, err := text(fields, name)
	if err != nil {
		return nil, err
	}
	out, ok := decodeBase64(encoded)
	if !ok || len(out) == 0 {
		return nil, fmt.Errorf("%s: standard base64 is wanted", name)
	}
	return out, nil
}

func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}

// short is a value for an error, which may be long and of an unknown hand.
func short(value json.RawMessage) string {
	if value == nil {
		return "missing"
	}
	return fmt.Sprintf("%.100q", value)
}

func malformed(what string, err error) error {
	return refuse(ErrMalformed, what+": "+err.Error())
}
