// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package statement

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

// Types of statements and predicates.
const (
	// MediaType is the media type of an unsigned statement.
	MediaType = "application/vnd.in-toto+json"
	// Type is the version of statements that is written.
	Type = "https://in-toto.io/Statement/v1"

	// PredicateSignature: the signer vouches for the subject, and no more.
	PredicateSignature = "https://sigstore.dev/cosign/sign/v1"
	// PredicateProvenance: where the subject comes from (SLSA 1.0).
	PredicateProvenance = "https://slsa.dev/provenance/v1"
	// PredicateSBOM is a CycloneDX document.
	PredicateSBOM = "https://cyclonedx.org/bom"
	// PredicateGraph is the JSON that `ropewalk graph --format json` writes.
	PredicateGraph = "https://ropewalk.dev/graph/v1"
)

// Subject is the subject of a statement.
type Subject struct {
	// Name is a name for people, such as a repository; may be "".
	Name string
	// Digest is sha256:<hex>, the digest of a manifest.
	Digest string
}

// statement is an in-toto statement v1 as it is written.
type statement struct {
	Type          string       `json:"_type"`
	Subject       []descriptor `json:"subject"`
	PredicateType string       `json:"predicateType"`
	Predicate     any          `json:"predicate"`
}

// descriptor is a ResourceDescriptor of in-toto: a thing and its digests.
type descriptor struct {
	Name        string            `json:"name,omitempty"`
	URI         string            `json:"uri,omitempty"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Signature returns a statement whose signature signs its subjects.
func Signature(subjects ...Subject) ([]byte, error) {
	return state(PredicateSignature, struct{}{}, subjects)
}

// Graph returns a statement with the graph of a render. The graph is a JSON object; its white
// space is removed.
func Graph(graph []byte, subjects ...Subject) ([]byte, error) {
	if trimmed := bytes.TrimSpace(graph); len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(graph) {
		return nil, fmt.Errorf("%w: a graph must be a JSON object", ErrPredicate)
	}
	return state(PredicateGraph, json.RawMessage(graph), subjects)
}

// SBOM returns a statement with the [CycloneDX] document of images.
func SBOM(images []string, subjects ...Subject) ([]byte, error) {
	document, err := CycloneDX(images)
	if err != nil {
		return nil, err
	}
	return state(PredicateSBOM, json.RawMessage(document), subjects)
}

func state(predicateType string, predicate any, subjects []Subject) ([]byte, error) {
	if len(subjects) == 0 {
		return nil, errSubject("a statement must be about something")
	}
	out := statement{Type: Type, PredicateType: predicateType, Predicate: predicate}
	sorted := slices.SortedFunc(slices.Values(subjects), func(a, b Subject) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest))
	})
	for _, s := range slices.Compact(sorted) {
		hex, ok := sha256Hex(s.Digest)
		if !ok {
			return nil, errSubject("%q has the digest %q: sha256: and 64 lower-case hexadecimal digits are wanted", s.Name, s.Digest)
		}
		out.Subject = append(out.Subject, descriptor{Name: s.Name, Digest: map[string]string{"sha256": hex}})
	}
	return manifest.Encode(out)
}

func sha256Hex(digest string) (string, bool) {
	hex, ok := strings.CutPrefix(digest, "sha256:")
	return hex, ok && isHex(hex, 64)
}

func isHex(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "0123456789abcdef") == ""
}
