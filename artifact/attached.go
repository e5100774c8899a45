// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"encoding/base64"
	"encoding/json"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
)

// Attached is the in-toto statement of a predicate type that is attached to a
// manifest: a signed one where there is any, whoever signed it, and the first one
// by digest. Nothing is verified but digests; [Attestations] gives what a known key stands behind. An error is
// ErrNotFound where there is none.
func Attached(ctx context.Context, from Reader, subject ocispec.Descriptor, predicateType string) ([]byte, error) {
	for _, kind := range []string{signature.BundleType, statement.MediaType} {
		list, err := Referrers(ctx, from, subject, kind)
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			if d.Annotations[annotationPredicate] != predicateType {
				continue
			}
			data, err := ReadReferrer(ctx, from, subject, d, signature.MaxBundle)
			if err != nil {
				return nil, err
			}
			if kind == statement.MediaType {
				return data, nil
			}
			return payload(data)
		}
	}
	return nil, refuse(ErrNotFound, "%s has no %s attached", subject.Digest, predicateType)
}

// payload is what a bundle holds, whoever signed it.
func payload(bundle []byte) ([]byte, error) {
	var b struct {
		Envelope struct {
			Payload string `json:"payload"`
		} `json:"dsseEnvelope"`
	}
	if err := json.Unmarshal(bundle, &b); err != nil {
		return nil, refuse(ErrShape, "a bundle is not JSON")
	}
	data, err := base64.StdEncoding.DecodeString(b.Envelope.Payload)
	if err != nil || len(data) == 0 {
		return nil, refuse(ErrShape, "a bundle holds no statement")
	}
	return data, nil
}
