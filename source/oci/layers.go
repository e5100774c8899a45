// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/tarball"
)

// The media types of the artifacts that are taken. Sources: cuelang.org/go/mod/modregistry for CUE,
// pkg/apiv1 of Timoni, and RFC-0003 of Flux.
const (
	configCUE    = "application/vnd.cue.module.v1+json"
	configTimoni = "application/vnd.timoni.config.v1+json"
	configFlux   = "application/vnd.cncf.flux.config.v1+json"
	configHelm   = "application/vnd.cncf.helm.config.v1+json"
	layerHelm    = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	layerZip     = "application/zip"
	layerTimoni  = "application/vnd.timoni.content.v1.tar+gzip"
	layerFlux    = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// supported lists the artifacts that are taken, for errors.
const supported = "modules that were pushed by cue mod publish, timoni, flux push artifact, oras (a folder) or ropewalk"

// selected is the layers of an artifact that are its tree.
type selected struct {
	layers []ocispec.Descriptor
	// zip says that the only layer is a zip. Other layers are tars.
	zip bool
	// strip says that the tree is in a folder of the tar, as a chart is.
	strip bool
}

// selectLayers returns the layers of an artifact that make its tree, within limits.
func selectLayers(m ocispec.Manifest, limits source.Limits) (selected, error) {
	c, err := layersOf(m)
	if err != nil {
		return selected{}, err
	}
	// What cannot be compressed grows by headers and tables.
	room := limits.Bytes + 1<<20 + 256*int64(limits.Files)
	for _, layer := range c.layers {
		switch {
		case layer.Size < 0 || layer.Digest.Validate() != nil || !layer.Digest.Algorithm().Available():
			return selected{}, errOther("an artifact with a layer that has no digest and size that can be checked")
		case layer.Size > room:
			return selected{}, source.OverLimit("its layers have %d bytes and more, too many for a tree of %d bytes", layer.Size, limits.Bytes)
		}
		room -= layer.Size
	}
	return c, nil
}

func layersOf(m ocispec.Manifest) (selected, error) {
	first := ocispec.Descriptor{MediaType: "none"}
	if len(m.Layers) > 0 {
		first = m.Layers[0]
	}

	// The type of the config says what kind of artifact it is.
	switch config := m.Config.MediaType; {
	case config == configCUE && first.MediaType == layerZip:
		return selected{layers: m.Layers[:1], zip: true}, nil
	case config == configCUE:
		return selected{}, errOther(fmt.Sprintf("a CUE module whose first layer is %q, and not a zip", first.MediaType))
	case config == configTimoni:
		var c selected
		for _, layer := range m.Layers {
			if layer.MediaType == layerTimoni {
				c.layers = append(c.layers, layer)
			}
		}
		if len(c.layers) == 0 {
			return selected{}, errOther("a Timoni module without a layer of the type " + layerTimoni)
		}
		return c, nil
	case config == configHelm:
		// Beside the chart there may be its provenance.
		for _, layer := range m.Layers {
			if layer.MediaType == layerHelm {
				return selected{layers: []ocispec.Descriptor{layer}, strip: true}, nil
			}
		}
		return selected{}, errOther("a chart without a layer of the type " + layerHelm)
	case len(m.Layers) != 1:
		return selected{}, errOther(fmt.Sprintf("an artifact with the config %q and %d layers", config, len(m.Layers)))
	// Argo CD takes folders that oras pushed: the last case.
	case first.MediaType == layerFlux,
		config == configFlux && first.MediaType == ocispec.MediaTypeImageLayerGzip,
		config == ocispec.MediaTypeEmptyJSON && first.MediaType == ocispec.MediaTypeImageLayerGzip:
		return selected{layers: m.Layers}, nil
	case config == ocispec.MediaTypeImageConfig:
		return selected{}, errOther("a container image")
	default:
		return selected{}, errOther(fmt.Sprintf("an artifact with the config %q and the layer %q", config, first.MediaType))
	}
}

// unpack reads the layers of an artifact.
func (f Fetcher) unpack(ctx context.Context, repo Repository, r reference, c selected) (*source.Builder, error) {
	trees := make([]*source.Builder, 0, len(c.layers))
	for _, layer := range c.layers {
		b := &source.Builder{Limits: f.Limits}
		var err error
		if c.zip {
			err = f.readZip(ctx, repo, r, layer, b)
		} else {
			err = f.readLayer(ctx, repo, r, layer, func(compressed io.Reader) error {
				return tarball.Gzip(ctx, compressed, b, c.options())
			})
		}
		if err != nil {
			return nil, err
		}
		trees = append(trees, b)
	}
	if len(trees) == 1 {
		return trees[0], nil
	}
	b, err := merge(trees, f.Limits)
	if err != nil {
		return nil, about(r, err)
	}
	return b, nil
}

// options returns what is taken of a tar. The templates of a chart may read hidden files.
func (c selected) options() tarball.Options {
	if c.strip {
		return tarball.Options{Strip: true}
	}
	return tarball.Options{Keep: tarball.Visible, Symlinks: true}
}

// merge returns one tree of several. A file that is in several trees comes from the last of them.
func merge(trees []*source.Builder, limits source.Limits) (*source.Builder, error) {
	b := &source.Builder{Limits: limits}
	added := map[string]bool{}

	// The last tree goes first, so that a file that is there already stays.
	for i := len(trees) - 1; i >= 0; i-- {
		tree, err := trees[i].Tree("", "")
		if err != nil {
			return nil, err
		}
		err = fs.WalkDir(tree.FS, ".", func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || added[name] {
				return err
			}
			added[name] = true
			if e.Type()&fs.ModeSymlink != 0 {
				target, err := fs.ReadLink(tree.FS, name)
				if err != nil {
					return err
				}
				return b.Link(name, target)
			}
			data, err := fs.ReadFile(tree.FS, name)
			if err != nil {
				return err
			}
			return b.Add(name, data)
		})
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// readLayer passes a layer to take, and compares it with its descriptor. If take fails, the digest
// is still the first thing to report: a layer that was altered or cut is rarely valid inside.
func (f Fetcher) readLayer(ctx context.Context, repo Repository, r reference, desc ocispec.Descriptor, take func(io.Reader) error) error {
	body, err := repo.Fetch(ctx, desc)
	if err != nil {
		return f.explain(err, r)
	}
	defer func() { _ = body.Close() }()
	verified := content.NewVerifyReader(body, desc)
	err = take(verified)
	if err != nil && (ctx.Err() != nil || errors.Is(err, source.ErrLimit)) {
		return about(r, cmp.Or(ctx.Err(), err)) // it is not worth to read on
	}
	_, bad := io.Copy(io.Discard, verified)
	if bad == nil {
		bad = verified.Verify()
	}
	switch {
	case bad != nil:
		return f.explain(bad, r)
	case err != nil:
		return about(r, err)
	}
	return nil
}

// readZip reads a layer that is a zip. Its table is at its end, so it is held in memory, and
// nothing of it is read before its digest is known to be right.
func (f Fetcher) readZip(ctx context.Context, repo Repository, r reference, desc ocispec.Descriptor, b *source.Builder) error {
	body, err := repo.Fetch(ctx, desc)
	if err != nil {
		return f.explain(err, r)
	}
	defer func() { _ = body.Close() }()
	data, err := content.ReadAll(body, desc)
	if err != nil {
		return f.explain(err, r)
	}
	if err := tarball.Zip(ctx, bytes.NewReader(data), desc.Size, b, tarball.Options{Keep: tarball.Visible}); err != nil {
		return about(r, err)
	}
	return nil
}
