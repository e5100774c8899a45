// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

// Media types of an artifact.
const (
	// TypeManifest is the type of every manifest that is written.
	TypeManifest = ocispec.MediaTypeImageManifest
	// TypeConfig is the type of the config, the one that Flux writes; no engine reads
	// the content.
	TypeConfig = "application/vnd.cncf.flux.config.v1+json"
	// TypeLayer is the type of the only layer. Argo CD refuses the type that Flux pushes, and Flux
	// takes every type.
	TypeLayer = ocispec.MediaTypeImageLayerGzip
	// TypeFluxLayer is the type of layers that `flux push artifact` writes. It is
	// read, not written.
	TypeFluxLayer = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// Annotations of a manifest.
const (
	// AnnotationCreated is always Created: two renders of the same input are the same artifact.
	AnnotationCreated = ocispec.AnnotationCreated
	// AnnotationSource and AnnotationRevision name the repository and the revision of the spec.
	// Flux reports commit statuses for the revision.
	AnnotationSource   = ocispec.AnnotationSource
	AnnotationRevision = ocispec.AnnotationRevision
	// AnnotationTree is the tree digest: sha256:<hex> of the uncompressed tar.
	AnnotationTree = "dev.ropewalk.tree"
	// AnnotationLayer is the name of the barrier layer that an artifact is.
	AnnotationLayer = "dev.ropewalk.layer"
	// AnnotationLayers is a JSON list of [LayerRef], in the order of the waves: the
	// barrier layers that a complete artifact has as artifacts of their own.
	AnnotationLayers = "dev.ropewalk.layers"
	// AnnotationExpires is the instant from which [Prune] may delete a complete artifact, as
	// RFC 3339 in UTC with whole seconds. An artifact without it does not expire.
	AnnotationExpires = "dev.ropewalk.expires"

	// Created is the time that artifacts have.
	Created = "1970-01-01T00:00:00Z"
)

// Artifact is a packed tree, ready to be pushed. It is not changed any more.
type Artifact struct {
	// Descriptor describes the manifest; its digest is also the digest of the artifact.
	Descriptor ocispec.Descriptor
	// Manifest is the JSON of the manifest.
	Manifest []byte
	// Layer is the descriptor of Content.
	Layer ocispec.Descriptor
	// Content is the tar, compressed with gzip.
	Content []byte
	// Tree is the tree digest, sha256:<hex> of the uncompressed tar.
	Tree string
	// Files counts the files, and Bytes their content.
	Files int
	Bytes int64

	annotations map[string]string
}

// NamedArtifact is a barrier layer with its name.
type NamedArtifact struct {
	Name string
	*Artifact
}

// LayerRef is the reference of a complete artifact to a barrier layer.
type LayerRef struct {
	Name string `json:"name"`
	// Digest identifies the manifest of the layer.
	Digest string `json:"digest"`
	// Tree is the tree digest of the layer.
	Tree string `json:"tree"`
}

// Set is a render: the complete artifact and, if there are several barrier layers, each of them.
// The artifacts of a set are pushed, copied, signed and kept together.
type Set struct {
	// Complete is the whole render, which names the layers.
	Complete *Artifact
	// Layers are in the order of the waves.
	Layers []NamedArtifact
}

// withLayers returns the artifact with other barrier layers in its annotations.
func (a *Artifact) withLayers(refs []LayerRef) (*Artifact, error) {
	out := *a
	out.annotations = make(map[string]string, len(a.annotations)+1)
	for k, v := range a.annotations {
		out.annotations[k] = v
	}
	delete(out.annotations, AnnotationLayers)
	if len(refs) > 0 {
		data, err := manifest.Encode(refs)
		if err != nil {
			return nil, err
		}
		out.annotations[AnnotationLayers] = string(data)
	}
	if err := out.seal(); err != nil {
		return nil, err
	}
	return &out, nil
}

// seal writes the manifest.
func (a *Artifact) seal() error {
	data, err := manifest.Encode(manifest.Image{
		SchemaVersion: 2,
		MediaType:     TypeManifest,
		Config:        manifest.Plain(manifest.Describe(TypeConfig, []byte(manifest.EmptyJSON))),
		Layers:        []manifest.Descriptor{manifest.Plain(a.Layer)},
		Annotations:   a.annotations,
	})
	if err != nil {
		return err
	}
	a.Manifest, a.Descriptor = data, manifest.Describe(TypeManifest, data)
	return nil
}
