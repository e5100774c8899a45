// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest reads and writes the manifests of OCI images, and content by its
// digest: the vocabulary that package artifact and its layouts share, with its errors.
//
// # Invariants
//
// A manifest is written field by field in a fixed order, so that its bytes do not change
// with a version of a library. What is read is bounded, has only sha256 digests, and is
// of one kind: an image or an index. Content is returned only as far as its digest can
// still be right; the last byte is held back until it is.
package manifest

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/internal/digests"
)

const (
	// EmptyJSON is the content of every config, of artifacts and of referrers: the
	// empty descriptor of the image specification 1.1. One blob serves all, and it
	// need not be fetched.
	EmptyJSON = "{}"
	// EmptyDigest is its digest.
	EmptyDigest = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"

	// MaxSize is the size up to which manifests are read and written.
	MaxSize = 4 << 20
	// MaxLayers is the number of layers, or of manifests of an index, that are read.
	MaxLayers = 1000
)

// Image is a manifest as it is written, in this order of fields.
type Image struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	ArtifactType  string            `json:"artifactType,omitempty"`
	Config        Descriptor        `json:"config"`
	Layers        []Descriptor      `json:"layers"`
	Subject       *Descriptor       `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// Descriptor is a descriptor as it is written, in this order of fields.
type Descriptor struct {
	MediaType    string            `json:"mediaType"`
	Digest       string            `json:"digest"`
	Size         int64             `json:"size"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	ArtifactType string            `json:"artifactType,omitempty"`
}

// Plain returns a descriptor without its annotations, as it is written.
func Plain(d ocispec.Descriptor) Descriptor {
	return Descriptor{MediaType: d.MediaType, Digest: d.Digest.String(), Size: d.Size}
}

// Encode returns v as compact JSON, with sorted maps and without the escapes for HTML.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Describe returns the descriptor of content.
func Describe(mediaType string, content []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: DigestOf(content), Size: int64(len(content))}
}

// DigestOf returns the digest of content.
func DigestOf(content []byte) digest.Digest {
	return digest.Digest(digests.Of(content))
}

// Manifest is a manifest or an index as it is read.
type Manifest struct {
	ocispec.Manifest
	// Manifests are the entries of an index.
	Manifests []ocispec.Descriptor `json:"manifests"`
}

// Is reports whether a media type belongs to a manifest. All other types belong to blobs.
func Is(mediaType string) bool {
	switch mediaType {
	case ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex,
		"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json":
		return true
	}
	return false
}

// IsIndex reports whether a media type belongs to a list of manifests.
func IsIndex(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageIndex || mediaType == "application/vnd.docker.distribution.manifest.list.v2+json"
}

// Parse reads a manifest or an index whose digest is checked already, and whose media type comes
// from its descriptor.
func Parse(mediaType string, data []byte) (Manifest, error) {
	var m Manifest
	bad := func(format string, args ...any) (Manifest, error) {
		return Manifest{}, Refuse(ErrShape, "invalid manifest: "+format, args...)
	}

	// The first fault is the one that is reported. Whether the list of parts is bounded is
	// checked before they are looked at.
	switch {
	case !Is(mediaType):
		return bad("its type is %.100q: an OCI image manifest is required", mediaType)
	case len(data) > MaxSize:
		return Manifest{}, OverLimit("its manifest is larger than %d bytes", MaxSize)
	case json.Unmarshal(data, &m) != nil:
		return bad("it is not the JSON of a manifest")
	case m.SchemaVersion != 2:
		return bad("schemaVersion is %d and not 2", m.SchemaVersion)
	case m.MediaType != "" && m.MediaType != mediaType:
		return bad("its mediaType is %.100q, but the registry reports %.100q", m.MediaType, mediaType)
	case len(m.Layers) > MaxLayers || len(m.Manifests) > MaxLayers:
		return Manifest{}, OverLimit("its manifest has more than %d layers", MaxLayers)
	case IsIndex(mediaType) && (len(m.Layers) > 0 || m.Config.Digest != ""):
		return bad("it is an index and has layers")
	case !IsIndex(mediaType) && len(m.Manifests) > 0:
		return bad("it is not an index and has manifests")
	}

	// Everything that the manifest names needs a digest that content can be checked with.
	parts := append([]ocispec.Descriptor{}, m.Layers...)
	parts = append(parts, m.Manifests...)
	if !IsIndex(mediaType) {
		parts = append(parts, m.Config)
	}
	if m.Subject != nil {
		parts = append(parts, *m.Subject)
	}
	for _, d := range parts {
		if !digests.Is(d.Digest.String()) || d.Size < 0 {
			return bad("%.100q with %d bytes is not a valid descriptor: a sha256 digest and a size are required", d.Digest, d.Size)
		}
	}
	return m, nil
}

// Type returns the type of a referrer: its artifact type, or the type of its config where it
// has none (distribution specification).
func (m Manifest) Type() string {
	if m.ArtifactType != "" {
		return m.ArtifactType
	}
	return m.Config.MediaType
}

// Parts returns the descriptors of what a manifest needs: its layers and config, or the
// manifests of an index.
func (m Manifest) Parts() []ocispec.Descriptor {
	parts := append(slices.Clone(m.Layers), m.Manifests...)
	if m.Config.Digest != "" {
		parts = append(parts, m.Config)
	}
	return parts
}

// Bare returns a descriptor without what a registry reports beside it: its type, digest and
// size.
func Bare(d ocispec.Descriptor) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}
}
