// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

// Inspection describes an artifact, as data.
type Inspection struct {
	Reference string `json:"reference"`
	Digest    string `json:"digest"`
	MediaType string `json:"mediaType"`
	// ConfigType is the media type of the config.
	ConfigType   string            `json:"configType,omitempty"`
	ArtifactType string            `json:"artifactType,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	// Tree is the tree digest of the files, computed and not read off.
	Tree string `json:"tree,omitempty"`
	// Blobs are the layers of the manifest.
	Blobs []InspectedBlob `json:"blobs,omitempty"`
	// Layers are the barrier layers of a complete artifact.
	Layers []LayerRef `json:"layers,omitempty"`
	// Files are the files of a render, sorted by path.
	Files []InspectedFile `json:"files,omitempty"`
	// NotRender is why there are no files, if it is not a render of this format.
	NotRender string              `json:"notRender,omitempty"`
	Referrers []InspectedReferrer `json:"referrers,omitempty"`
	// Signatures of cosign v2 are not referrers: this is the digest of their
	// manifest.
	Simple string `json:"cosignV2,omitempty"`
}

// InspectedBlob is a layer of a manifest.
type InspectedBlob struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

// InspectedFile is a file of a render.
type InspectedFile struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	Digest string `json:"digest"`
}

// InspectedReferrer is something that is attached. What its annotations say is
// not checked.
type InspectedReferrer struct {
	Digest       string            `json:"digest"`
	ArtifactType string            `json:"artifactType"`
	Size         int64             `json:"size"`
	Annotations  map[string]string `json:"annotations,omitempty"`
}

// Inspect reads an artifact and returns what is in it. Artifacts that are no renders are
// described too, without files.
func Inspect(ctx context.Context, src Store, reference string, opts PullOptions) (Inspection, error) {
	if err := checkReference(reference); err != nil {
		return Inspection{}, err
	}
	f, err := lookUp(ctx, src, reference)
	if err != nil {
		return Inspection{}, err
	}
	if opts.Layer != "" {
		f, err = f.readBarrier(ctx, src, reference, opts.Layer)
		if err != nil {
			return Inspection{}, err
		}
	}

	// The manifest says everything but the files and what is attached.
	out := Inspection{
		Reference:    reference,
		Digest:       f.desc.Digest.String(),
		MediaType:    f.desc.MediaType,
		ConfigType:   f.Config.MediaType,
		ArtifactType: f.ArtifactType,
		Annotations:  f.Annotations,
	}
	for _, l := range append(append([]ocispec.Descriptor{}, f.Layers...), f.Manifests...) {
		out.Blobs = append(out.Blobs, InspectedBlob{MediaType: l.MediaType, Digest: l.Digest.String(), Size: l.Size})
	}
	if err := out.readFiles(ctx, src, f, opts); err != nil {
		return Inspection{}, manifest.About(reference, err)
	}
	if err := out.readAttached(ctx, src, f.desc); err != nil {
		return Inspection{}, manifest.About(reference, err)
	}
	return out, nil
}

func (i *Inspection) readFiles(ctx context.Context, src Reader, f found, opts PullOptions) error {
	if _, err := contentLayer(f.Manifest); err != nil {
		i.NotRender = err.Error()
		return nil //nolint:nilerr // the result has it
	}
	p, err := f.pull(ctx, src, opts)
	if err != nil {
		return err
	}
	i.Tree, i.Layers = p.Tree, p.Layers
	for _, file := range p.Files {
		i.Files = append(i.Files, InspectedFile{Path: file.Path, Size: int64(len(file.Data)), Digest: manifest.DigestOf(file.Data).String()})
	}
	return nil
}

func (i *Inspection) readAttached(ctx context.Context, src Reader, d ocispec.Descriptor) error {
	list, err := Referrers(ctx, src, d, "")
	if err != nil {
		return err
	}
	for _, r := range list {
		i.Referrers = append(i.Referrers, InspectedReferrer{
			Digest: r.Digest.String(), ArtifactType: r.ArtifactType, Size: r.Size, Annotations: r.Annotations,
		})
	}
	simple, exists, err := resolve(ctx, src, simpleTag(d))
	if exists {
		i.Simple = simple.Digest.String()
	}
	return err
}
