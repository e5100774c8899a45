// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	// emptyJSON is the content of every config, of artifacts and of referrers: the
	// empty descriptor of the image specification 1.1. One blob serves all, and it
	// need not be fetched.
	emptyJSON = "{}"
	// emptyDigest is its digest.
	emptyDigest = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"

	maxManifest = 4 << 20
	maxLayers   = 1000
)

// manifestJSON is a manifest as it is written, in this order of fields.
type manifestJSON struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	ArtifactType  string            `json:"artifactType,omitempty"`
	Config        descriptorJSON    `json:"config"`
	Layers        []descriptorJSON  `json:"layers"`
	Subject       *descriptorJSON   `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type descriptorJSON struct {
	MediaType    string            `json:"mediaType"`
	Digest       string            `json:"digest"`
	Size         int64             `json:"size"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	ArtifactType string            `json:"artifactType,omitempty"`
}

// plain is a descriptor without its annotations.
func plain(d ocispec.Descriptor) descriptorJSON {
	return descriptorJSON{MediaType: d.MediaType, Digest: d.Digest.String(), Size: d.Size}
}

// encode is compact JSON, with sorted maps and without the escapes for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// describe is the descriptor of content.
func describe(mediaType string, content []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digestOf(content), Size: int64(len(content))}
}

func digestOf(content []byte) digest.Digest {
	sum := sha256.Sum256(content)
	return digest.Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// isDigest says whether s is sha256: and 64 hexadecimal digits. Other digests
// are not used.
func isDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// manifest is what is read of a manifest or an index.
type manifest struct {
	ocispec.Manifest
	// Manifests are those of an index.
	Manifests []ocispec.Descriptor `json:"manifests"`
}

// isManifest says whether a media type is that of a manifest and not of a blob.
func isManifest(mediaType string) bool {
	switch mediaType {
	case ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex,
		"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json":
		return true
	}
	return false
}

// isIndex says whether a media type is that of a list of manifests.
func isIndex(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageIndex || mediaType == "application/vnd.docker.distribution.manifest.list.v2+json"
}

// parseManifest reads a manifest or an index whose digest is checked already,
// and whose media type is what its descriptor says.
func parseManifest(mediaType string, data []byte) (manifest, error) {
	var m manifest
	bad := func(format string, args ...any) (manifest, error) {
		return manifest{}, refuse(ErrShape, "its manifest is no good: "+format, args...)
	}
	switch {
	case !isManifest(mediaType):
		return bad("its type is %.100q: an image manifest of OCI is wanted", mediaType)
	case len(data) > maxManifest:
		return manifest{}, refuse(ErrLimit, "its manifest is larger than %d bytes", maxManifest)
	case json.Unmarshal(data, &m) != nil:
		return bad("it is no JSON of a manifest")
	case m.SchemaVersion != 2:
		return bad("schemaVersion is %d and not 2", m.SchemaVersion)
	case m.MediaType != "" && m.MediaType != mediaType:
		return bad("it says that its type is %.100q, and the registry says %.100q", m.MediaType, mediaType)
	case len(m.Layers) > maxLayers || len(m.Manifests) > maxLayers:
		return manifest{}, refuse(ErrLimit, "its manifest has more than %d layers", maxLayers)
	case isIndex(mediaType) && (len(m.Layers) > 0 || m.Config.Digest != ""):
		return bad("it is an index and has layers")
	case !isIndex(mediaType) && len(m.Manifests) > 0:
		return bad("it is no index and has manifests")
	}
	all := append([]ocispec.Descriptor{}, m.Layers...)
	all = append(all, m.Manifests...)
	if !isIndex(mediaType) {
		all = append(all, m.Config)
	}
	if m.Subject != nil {
		all = append(all, *m.Subject)
	}
	for _, d := range all {
		if !isDigest(d.Digest.String()) || d.Size < 0 {
			return bad("%.100q with %d bytes is no content: a sha256 digest and a size are wanted", d.Digest, d.Size)
		}
	}
	return m, nil
}

// artifactType is what a referrer is: its artifact type, or the type of its
// config, as the distribution specification says.
func (m manifest) artifactType() string {
	if m.ArtifactType != "" {
		return m.ArtifactType
	}
	return m.Config.MediaType
}

// layerRefs are the barrier layers of a whole; none where it has no annotation.
func (m manifest) layerRefs() ([]LayerRef, error) {
	text := m.Annotations[AnnotationLayers]
	if text == "" {
		return nil, nil
	}
	var refs []LayerRef
	if err := json.Unmarshal([]byte(text), &refs); err != nil || len(refs) > maxLayers {
		return nil, refuse(ErrShape, "its annotation %q is no list of layers", AnnotationLayers)
	}
	for _, r := range refs {
		if !isDigest(r.Digest) || !isDigest(r.Tree) {
			return nil, refuse(ErrShape, "its annotation %q names a layer %.100q without digests", AnnotationLayers, r.Name)
		}
	}
	return refs, nil
}

// content is the one layer of a render, as both engines want it.
func (m manifest) content() (ocispec.Descriptor, error) {
	if len(m.Layers) != 1 {
		return ocispec.Descriptor{}, refuse(ErrShape, "it has %d layers: a render has exactly one", len(m.Layers))
	}
	switch l := m.Layers[0]; l.MediaType {
	case TypeLayer, TypeFluxLayer:
		return l, nil
	default:
		return ocispec.Descriptor{}, refuse(ErrShape, "its layer is %.100q: a render has %q", l.MediaType, TypeLayer)
	}
}
