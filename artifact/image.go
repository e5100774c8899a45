// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

// ErrExists is returned for a version that is there with other content: versions do not change.
var ErrExists = errors.New("the version exists")

// Blob is the content of a config or a layer.
type Blob struct {
	MediaType   string
	Data        []byte
	Annotations map[string]string
}

// Image is an OCI image of a format that is not ours, such as a CUE module: its config, its
// layers and its manifest, all in memory.
type Image struct {
	Descriptor ocispec.Descriptor
	// Tree is the digest of the files that it was made of, before they were compressed.
	Tree     string
	manifest []byte
	blobs    []Blob
}

// NewImage returns the image with a config and layers, in this order. The tree digest is
// written into its annotations, so that equal files are the same version however they were
// compressed.
func NewImage(config Blob, layers []Blob, tree string, annotations map[string]string) (Image, error) {
	labels := map[string]string{AnnotationCreated: Created, AnnotationTree: tree}
	for name, value := range annotations {
		labels[name] = value
	}
	describe := func(b Blob) manifest.Descriptor {
		d := manifest.Plain(manifest.Describe(b.MediaType, b.Data))
		d.Annotations = b.Annotations
		return d
	}
	m := manifest.Image{SchemaVersion: 2, MediaType: TypeManifest, Config: describe(config), Annotations: labels}
	for _, l := range layers {
		if len(l.Data) > maxData {
			return Image{}, manifest.OverLimit("a layer of type %.100q has %d bytes, and at most %d are pushed", l.MediaType, len(l.Data), maxData)
		}
		m.Layers = append(m.Layers, describe(l))
	}
	data, err := manifest.Encode(m)
	if err != nil {
		return Image{}, err
	}
	return Image{Descriptor: manifest.Describe(TypeManifest, data), Tree: tree, manifest: data, blobs: append([]Blob{config}, layers...)}, nil
}

// TarGzip returns files as a canonical tar, compressed as artifacts are. Sorted names give
// the same bytes for the same files.
func TarGzip(fsys fs.FS, names []string) ([]byte, error) {
	a := &Artifact{}
	err := a.compress(fsys, names, maxData)
	return a.Content, err
}

// PushImage puts an image under the tag of a version, which no later push changes.
//
// A version with the same content is left as it is, in one request; a version with other content is
// ErrExists. Else the blobs are sent, then the manifest by its digest, then opts.Sealed is called,
// and the tag is written last: a push that is cut short leaves no version, and a second push
// finishes it with the same digest. If two clients push other content at the same moment, the
// slower client gets ErrExists.
func PushImage(ctx context.Context, dst Store, image Image, version string, opts PushOptions) (Pushed, error) {
	out := Pushed{Digest: image.Descriptor.Digest.String(), Tree: image.Tree, Tags: []string{version}}
	if err := CheckTags(out.Tags); err != nil {
		return Pushed{}, err
	}
	there, err := HasImage(ctx, dst, image, version)
	if err != nil || there != "" {
		out.Digest = there
		return out, err
	}

	// Blobs go first: a registry refuses a manifest whose content it does not have.
	p := &pusher{to: dst, opts: opts}
	for _, b := range image.blobs {
		if err := sendBlob(ctx, dst, manifest.Describe(b.MediaType, b.Data), b.Data, true); err != nil {
			return Pushed{}, err
		}
		p.count(int64(len(b.Data)))
	}

	// The manifest goes by its digest, so that no client reads it before it is signed.
	d := image.Descriptor
	if err := persist(ctx, d, func() error { return dst.Push(ctx, d, bytes.NewReader(image.manifest)) }); err != nil {
		return Pushed{}, manifest.About(version, err)
	}
	out.Changed = true
	if opts.Sealed != nil {
		if err := opts.Sealed(ctx, out); err != nil {
			return Pushed{}, err
		}
	}
	// Attaching and signing take time, in which another client may have pushed this version.
	there, err = HasImage(ctx, dst, image, version)
	if err != nil || there != "" {
		out.Digest = there
		return out, err
	}

	// The tag makes the version. If another client was faster with other content, that is
	// ErrExists.
	if err := p.writeManifest(ctx, d, image.manifest, version); err != nil {
		return Pushed{}, err
	}
	if _, err := HasImage(ctx, dst, image, version); err != nil {
		return Pushed{}, err
	}
	out.Uploaded = p.sent.Load()
	return out, nil
}

// HasImage returns the digest at a version that has the content of image; "" where there is
// no such version. The error is ErrExists where the version has other content.
func HasImage(ctx context.Context, store Store, image Image, version string) (string, error) {
	d, exists, err := resolve(ctx, store, version)
	if err != nil || !exists {
		return "", err
	}
	if d.Digest == image.Descriptor.Digest {
		return d.Digest.String(), nil
	}
	m, err := readFound(ctx, store, d)
	if err == nil && m.Annotations[AnnotationTree] == image.Tree {
		return d.Digest.String(), nil
	}
	if err != nil && !errors.Is(err, ErrShape) {
		return "", err
	}
	return "", manifest.Refuse(ErrExists, "%s is there already with other content: it has the digest %s, and this one %s: "+
		"versions do not change: publish a higher version",
		version, d.Digest, image.Descriptor.Digest)
}
