// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/version"
)

// Bounds of what a registry tells.
const (
	maxManifest = 4 << 20
	maxTags     = 100_000
	maxLayers   = 16
)

// choose replaces the range of a reference by the tag of the highest version in it.
func (f Fetcher) choose(ctx context.Context, repo Repository, r reference) (reference, error) {
	if r.versions == "" {
		return r, nil
	}
	versions, err := version.ParseRange(r.versions)
	if err != nil {
		return r, err
	}

	// A registry may list any number of tags, and most of them are not versions.
	highest := versions.Highest()
	seen := 0
	err = repo.Tags(ctx, "", func(tags []string) error {
		seen += len(tags)
		if seen > maxTags {
			return source.OverLimit("the repository has more than %d tags", maxTags)
		}
		for _, t := range tags {
			highest.Add(t)
		}
		return nil
	})

	tag, found := highest.Tag()
	switch {
	case err != nil:
		return r, f.explain(err, r)
	case !found:
		return r, fault(source.ErrAbsent, r, "none of the %d tags is a version in this range: publish one, or correct the range", seen)
	}
	return reference{repository: r.repository, tag: tag}, nil
}

// readManifest reads the manifest of a reference, checks its digest, and returns it with its
// descriptor.
func (f Fetcher) readManifest(ctx context.Context, repo Repository, r reference) (ocispec.Descriptor, ocispec.Manifest, error) {
	var manifest ocispec.Manifest
	desc, body, err := repo.FetchReference(ctx, cmp.Or(r.digest, r.tag))
	if err != nil {
		return desc, manifest, f.explain(err, r)
	}
	defer func() { _ = body.Close() }()
	if desc.Size > maxManifest {
		return desc, manifest, fault(source.ErrLimit, r, "the manifest has %d bytes, more than %d (no flag raises this limit)",
			desc.Size, maxManifest)
	}
	if got := desc.Digest.String(); !digests.Is(got) || got != cmp.Or(r.digest, got) {
		return desc, manifest, fault(source.ErrDigest, r, "the registry returned a manifest with the digest %q", got)
	}
	data, err := content.ReadAll(body, desc)
	if err != nil {
		return desc, manifest, f.explain(err, r)
	}
	desc = ocispec.Descriptor{MediaType: desc.MediaType, Digest: desc.Digest, Size: desc.Size}
	manifest, err = parseManifest(data, desc.MediaType)
	if err != nil {
		return desc, manifest, about(r, err)
	}
	return desc, manifest, nil
}

// parseManifest reads an image manifest. Its bytes and the registry must agree about its type:
// https://github.com/advisories/GHSA-mc8v-mgrf-8f4m.
func parseManifest(data []byte, mediaType string) (ocispec.Manifest, error) {
	var manifest ocispec.Manifest
	var also struct {
		Manifests json.RawMessage `json:"manifests"`
		FSLayers  json.RawMessage `json:"fsLayers"`
	}

	// The registry says what the bytes should be.
	switch mediaType {
	case ocispec.MediaTypeImageManifest:
	case ocispec.MediaTypeImageIndex, "application/vnd.docker.distribution.manifest.list.v2+json":
		return manifest, errOther("an index of several manifests")
	case "application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.v1+prettyjws":
		return manifest, errOther("a container image of docker")
	default:
		return manifest, errOther(fmt.Sprintf("of the media type %q", mediaType))
	}

	// The bytes must not be anything else at the same time.
	if json.Unmarshal(data, &manifest) != nil || json.Unmarshal(data, &also) != nil {
		return manifest, errOther("no JSON of a manifest")
	}
	switch {
	case manifest.MediaType != "" && manifest.MediaType != mediaType:
		return manifest, errOther(fmt.Sprintf("of the media type %q by itself, and %q by the registry", manifest.MediaType, mediaType))
	case also.Manifests != nil || also.FSLayers != nil:
		return manifest, errOther("a manifest and an index at once")
	case len(manifest.Layers) > maxLayers:
		return manifest, source.OverLimit("the artifact has %d layers, more than %d", len(manifest.Layers), maxLayers)
	}
	return manifest, nil
}

// errOther returns the error for an artifact of a kind that is not read.
func errOther(artifact string) error {
	return source.Refuse(source.ErrReference, fmt.Sprintf("it is %s; this takes %s", artifact, supported))
}
