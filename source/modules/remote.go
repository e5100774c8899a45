// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"cuelang.org/go/mod/modconfig"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"github.com/ropewalk/ropewalk/source"
)

const (
	// maxManifest limits the manifest of a module, in bytes. The specification has two layers;
	// registries accept 4 MiB.
	maxManifest = 4 << 20

	// Media types of a module, see https://cuelang.org/docs/reference/modules.
	typeModule  = "application/vnd.cue.module.v1+json"
	typeModZip  = "application/zip"
	typeModFile = "application/vnd.cue.modulefile.v1"
)

// Repository reads a repository of a registry, as the Repository of oras-go does.
type Repository interface {
	// FetchReference is the manifest at a tag.
	FetchReference(ctx context.Context, reference string) (ocispec.Descriptor, io.ReadCloser, error)
	// Fetch is a blob.
	Fetch(ctx context.Context, target ocispec.Descriptor) (io.ReadCloser, error)
}

// resolve reads the syntax of CUE_REGISTRY. The environment of the resolver is empty and not nil,
// because nil stands for the environment of the process. The text may hold a password, and so may
// the error for it.
func resolve(config string) (*modconfig.Resolver, error) {
	if strings.HasPrefix(config, "file:") || !strings.Contains(config, "@") {
		if resolver, err := modconfig.NewResolver(&modconfig.Config{CUERegistry: config, Env: []string{}}); err == nil {
			return resolver, nil
		}
	}
	return nil, source.Refuse(source.ErrReference, "the configuration of CUE registries cannot be read: CUE_REGISTRY is host/repository, "+
		"prefix=host/repository with commas between, such as example.com=registry.example.com/modules, or file:FILE; "+
		"credentials belong in a docker config.json, and versions in the module file")
}

func originOf(location modconfig.HostLocation) string {
	return fmt.Sprintf("oci://%s/%s:%s", location.Host, location.Repository, location.Tag)
}

// fetchZip returns the archive of the module at a location.
func (r *Registry) fetchZip(ctx context.Context, location modconfig.HostLocation) ([]byte, error) {
	repo, err := r.Open(ctx, location.Host+"/"+location.Repository, location.Insecure)
	if err != nil {
		return nil, err
	}
	desc, body, err := repo.FetchReference(ctx, location.Tag)
	if err != nil {
		return nil, err
	}
	manifest, err := read(body, desc, maxManifest, "manifest")
	if err != nil {
		return nil, err
	}
	layer, err := findZipLayer(desc.MediaType, manifest)
	if err != nil {
		return nil, err
	}
	body, err = repo.Fetch(ctx, layer)
	if err != nil {
		return nil, err
	}
	return read(body, layer, r.Limits.WithDefaults().Bytes, "zip")
}

// findZipLayer returns the layer of a manifest that holds the zip of a module.
func findZipLayer(mediaType string, manifest []byte) (ocispec.Descriptor, error) {
	var m ocispec.Manifest
	readable := mediaType == ocispec.MediaTypeImageManifest && json.Unmarshal(manifest, &m) == nil
	hasLayers := len(m.Layers) >= 2 && m.Layers[0].MediaType == typeModZip && m.Layers[1].MediaType == typeModFile
	if !readable || m.Config.MediaType != typeModule || !hasLayers {
		return ocispec.Descriptor{}, source.Refuse(source.ErrReference, fmt.Sprintf(
			"not a CUE module: its type is %q: publish it with \"cue mod publish\"", m.Config.MediaType))
	}
	return m.Layers[0], nil
}

// read reads content of at most limit bytes, verifies its digest, and closes it.
func read(body io.ReadCloser, desc ocispec.Descriptor, limit int64, noun string) ([]byte, error) {
	defer func() { _ = body.Close() }()
	if desc.Size > limit {
		return nil, source.OverLimit("its %s is larger than %d bytes", noun, limit)
	}
	return content.ReadAll(body, desc)
}
