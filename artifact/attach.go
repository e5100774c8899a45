// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
	"github.com/ropewalk/ropewalk/internal/digests"
)

const (
	// maxReferrers limits the referrers of one subject that are read.
	maxReferrers = 1000
	// maxData limits the content of a referrer, in bytes.
	maxData = 64 << 20
)

// Referrer is something to attach to an artifact.
type Referrer struct {
	// ArtifactType is its type; referrers are listed by it.
	ArtifactType string
	// MediaType is the type of Data; ArtifactType where it is "".
	MediaType string
	Data      []byte
	// Annotations are written to the manifest.
	Annotations map[string]string
}

// Attach makes r a referrer of a manifest: by the referrers API, or, if the registry lacks that
// API, by the list under the tag that the distribution specification names. Attaching the same
// referrer again changes nothing. It is read back, and sent again if the store lost it or damaged
// it.
//
// The list under a tag is one manifest that every client replaces. If two clients attach to
// the same manifest at the same moment, one referrer may be lost, as with oras and cosign.
// Registries with the referrers API lose nothing.
//
// See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pushing-manifests-with-subject.
func Attach(ctx context.Context, dst Store, subject ocispec.Descriptor, r Referrer) (ocispec.Descriptor, error) {
	encoded, err := r.encode(subject)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	list, err := Referrers(ctx, dst, subject, r.ArtifactType)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d := encoded.desc
	listed := holds(list, d)
	if listed {
		if readable, err := r.readable(ctx, dst, subject, d); readable || err != nil {
			return d, err
		}
	}
	if err := r.send(ctx, dst, encoded); err != nil {
		return ocispec.Descriptor{}, manifest.About(subject.Digest.String(), err)
	}
	if listed {
		if readable, err := r.readable(ctx, dst, subject, d); !readable || err != nil {
			return ocispec.Descriptor{}, cmp.Or(err, errKept(d))
		}
	}
	return d, nil
}

// readable reports whether a listed referrer can be read: a registry may have lost what it
// lists.
func (r Referrer) readable(ctx context.Context, src Reader, subject, d ocispec.Descriptor) (bool, error) {
	data, err := ReadReferrer(ctx, src, subject, d, 0)
	if manifest.Missing(err) || errors.Is(err, ErrDigest) || errors.Is(err, ErrShape) {
		return false, nil
	}
	return err == nil && bytes.Equal(data, r.Data), err
}

// errKept returns the error for a store that accepts content and keeps the damaged content
// that it has.
func errKept(d ocispec.Descriptor) error {
	return manifest.Refuse(ErrDigest, "%s is damaged in the store, which does not replace it: remove it there, and push again", d.Digest)
}

// send writes the blobs of a referrer and then its manifest.
func (r Referrer) send(ctx context.Context, dst Store, encoded encodedReferrer) error {
	// The artifact has the same config, so it is nearly always there.
	config := []byte(manifest.EmptyJSON)
	if err := sendBlob(ctx, dst, manifest.Describe(ocispec.MediaTypeEmptyJSON, config), config, true); err != nil {
		return err
	}
	if err := sendBlob(ctx, dst, encoded.layer, r.Data, false); err != nil {
		return err
	}
	return persist(ctx, encoded.desc, func() error { return pushReferrer(ctx, dst, encoded.desc, encoded.data) })
}

// pushReferrer writes the manifest of a referrer, and its entry in the list of its subject.
// It is no error if the registry refuses to delete the old list.
func pushReferrer(ctx context.Context, dst Writer, d ocispec.Descriptor, data []byte) error {
	err := dst.Push(ctx, d, bytes.NewReader(data))
	var old interface{ IsReferrersIndexDelete() bool }
	if errors.As(err, &old) && old.IsReferrersIndexDelete() {
		return nil
	}
	return err
}

// encodedReferrer is a referrer as it is sent.
type encodedReferrer struct {
	desc  ocispec.Descriptor // of the manifest
	data  []byte             // the manifest
	layer ocispec.Descriptor // of the content
}

// encode writes the manifest of the referrer. The error is ErrReference, ErrShape or ErrLimit.
func (r Referrer) encode(subject ocispec.Descriptor) (encodedReferrer, error) {
	switch {
	case !digests.Is(subject.Digest.String()) || !manifest.Is(subject.MediaType):
		return encodedReferrer{}, manifest.Refuse(ErrReference, "%.100q is not a manifest: nothing can be attached to it", subject.Digest)
	case r.ArtifactType == "":
		return encodedReferrer{}, manifest.Refuse(ErrShape, "a referrer needs an artifact type")
	case len(r.Data) > maxData:
		return encodedReferrer{}, manifest.OverLimit("a referrer of type %.100q has %d bytes, and at most %d are attached",
			r.ArtifactType, len(r.Data), maxData)
	}
	layer := manifest.Describe(cmp.Or(r.MediaType, r.ArtifactType), r.Data)
	annotations := map[string]string{AnnotationCreated: Created}
	maps.Copy(annotations, r.Annotations)
	about := manifest.Plain(subject)
	data, err := manifest.Encode(manifest.Image{
		SchemaVersion: 2,
		MediaType:     TypeManifest,
		ArtifactType:  r.ArtifactType,
		Config:        manifest.Plain(manifest.Describe(ocispec.MediaTypeEmptyJSON, []byte(manifest.EmptyJSON))),
		Layers:        []manifest.Descriptor{manifest.Plain(layer)},
		Subject:       &about,
		Annotations:   annotations,
	})
	return encodedReferrer{desc: manifest.Describe(TypeManifest, data), data: data, layer: layer}, err
}

// Referrers returns the referrers of a manifest, sorted by type and digest. Where artifactType is
// not "", it returns only referrers of this type. Without a referrers API, the referrers are read
// from the list under the tag of the subject. What is there and is no list, or is the subject
// itself, counts as no list.
//
// A list is a claim of the store: a caller that trusts a referrer reads it by [ReadReferrer],
// which checks that it refers to the subject.
func Referrers(ctx context.Context, src Reader, subject ocispec.Descriptor, artifactType string) ([]ocispec.Descriptor, error) {
	var out []ocispec.Descriptor
	seen := map[string]bool{}
	err := src.Referrers(ctx, subject, artifactType, func(page []ocispec.Descriptor) error {
		for _, d := range page {
			isManifest := digests.Is(d.Digest.String()) && manifest.Is(d.MediaType)
			switch {
			case !isManifest || seen[d.Digest.String()] || d.Digest == subject.Digest:
				continue
			case artifactType != "" && d.ArtifactType != artifactType:
				continue
			case len(out) == maxReferrers:
				return manifest.OverLimit("it has more than %d referrers", maxReferrers)
			}
			seen[d.Digest.String()] = true
			out = append(out, d)
		}
		return nil
	})
	if err != nil && !manifest.Missing(err) {
		return nil, manifest.About(subject.Digest.String(), err)
	}
	slices.SortFunc(out, func(a, b ocispec.Descriptor) int {
		return cmp.Or(cmp.Compare(a.ArtifactType, b.ArtifactType), cmp.Compare(a.Digest, b.Digest))
	})
	return out, nil
}

func holds(list []ocispec.Descriptor, d ocispec.Descriptor) bool {
	return slices.ContainsFunc(list, func(o ocispec.Descriptor) bool { return o.Digest == d.Digest })
}

// ReadReferrer returns the content of a referrer of subject. The referrer must name that
// subject, and have one layer of at most limit bytes (64 MiB where limit is zero).
func ReadReferrer(ctx context.Context, src Reader, subject, referrer ocispec.Descriptor, limit int64) ([]byte, error) {
	m, _, err := manifest.Read(ctx, src, referrer)
	if err != nil {
		return nil, manifest.About(referrer.Digest.String(), err)
	}
	if m.Subject == nil || m.Subject.Digest != subject.Digest {
		return nil, manifest.Refuse(ErrShape, "%s is not a referrer of %s, although the store lists it as one", referrer.Digest, subject.Digest)
	}
	if len(m.Layers) != 1 {
		return nil, manifest.Refuse(ErrShape, "%s has %d layers: a referrer has exactly one", referrer.Digest, len(m.Layers))
	}
	data, err := manifest.ReadAll(ctx, src, m.Layers[0], cmp.Or(limit, maxData))
	return data, manifest.About(referrer.Digest.String(), err)
}

// Attached returns the in-toto statement of a predicate type that is attached to a manifest. A
// signed statement goes first, whatever key signed it, and among several the first one by digest.
// Only digests are verified. The error is ErrNotFound if there is no such statement.
func Attached(ctx context.Context, src Reader, subject ocispec.Descriptor, predicateType string) ([]byte, error) {
	for _, kind := range []string{signature.BundleType, statement.MediaType} {
		list, err := Referrers(ctx, src, subject, kind)
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			if d.Annotations[annotationPredicate] != predicateType {
				continue
			}
			data, err := ReadReferrer(ctx, src, subject, d, signature.MaxBundle)
			if err != nil {
				return nil, err
			}
			if kind == statement.MediaType {
				return data, nil
			}
			return decodePayload(data)
		}
	}
	return nil, manifest.Refuse(ErrNotFound, "%s has no %s attached", subject.Digest, predicateType)
}

// decodePayload returns the statement in a bundle. The signature is not verified.
func decodePayload(bundle []byte) ([]byte, error) {
	var b struct {
		Envelope struct {
			Payload string `json:"payload"`
		} `json:"dsseEnvelope"`
	}
	if err := json.Unmarshal(bundle, &b); err != nil {
		return nil, manifest.Refuse(ErrShape, "a bundle is not JSON")
	}
	data, err := base64.StdEncoding.DecodeString(b.Envelope.Payload)
	if err != nil || len(data) == 0 {
		return nil, manifest.Refuse(ErrShape, "a bundle holds no statement")
	}
	return data, nil
}
