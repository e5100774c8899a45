// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"encoding/json"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/internal/digests"
)

// layerRefs returns the barrier layers of a complete artifact; none without the annotation.
func layerRefs(m manifest.Manifest) ([]LayerRef, error) {
	text := m.Annotations[AnnotationLayers]
	if text == "" {
		return nil, nil
	}
	var refs []LayerRef
	if err := json.Unmarshal([]byte(text), &refs); err != nil || len(refs) > manifest.MaxLayers {
		return nil, manifest.Refuse(ErrShape, "its annotation %q is not a list of layers", AnnotationLayers)
	}
	for _, r := range refs {
		if !digests.Is(r.Digest) || !digests.Is(r.Tree) {
			return nil, manifest.Refuse(ErrShape, "its annotation %q names a layer %.100q without digests", AnnotationLayers, r.Name)
		}
	}
	return refs, nil
}

// contentLayer returns the only layer of a render, in the form that both engines accept.
func contentLayer(m manifest.Manifest) (ocispec.Descriptor, error) {
	if len(m.Layers) != 1 {
		return ocispec.Descriptor{}, manifest.Refuse(ErrShape, "it has %d layers: a render has exactly one", len(m.Layers))
	}
	switch l := m.Layers[0]; l.MediaType {
	case TypeLayer, TypeFluxLayer:
		return l, nil
	default:
		return ocispec.Descriptor{}, manifest.Refuse(ErrShape, "its layer is %.100q: a render has %q", l.MediaType, TypeLayer)
	}
}
