// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
)

// Signatures of cosign v2 are the layers of one image under a tag, which whoever
// signs writes as a whole. A copy keeps those of the destination, in their order,
// and puts those of the source behind them. Where one side has all that the other
// one has, that image is taken as it is, with its digest, so that copying twice, or
// back, changes nothing. Like cosign itself, it does not notice who writes the tag
// between its read and its write.
//
// To write over the tag was not chosen: it loses signatures that nobody has
// elsewhere. What holds anything but signatures is not understood, and never
// written over.

// maxSimple is how many signatures of cosign v2 one image may have.
const maxSimple = 200

// simpleTag is the tag under which cosign v2 keeps the signatures of a manifest.
func simpleTag(d ocispec.Descriptor) string {
	return strings.Replace(d.Digest.String(), "sha256:", "sha256-", 1) + ".sig"
}

// simple copies the signatures of cosign v2, which are an image under a tag.
func (c *copier) simple(ctx context.Context, group *errgroup.Group, subject ocispec.Descriptor) error {
	tag := simpleTag(subject)
	var (
		d, old            ocispec.Descriptor
		exists, oldExists bool
	)
	err := c.within(ctx, func() (err error) { d, exists, err = resolve(ctx, c.from, tag); return ofSource(err) })
	if err != nil || !exists {
		return err
	}
	if err := c.within(ctx, func() (err error) { old, oldExists, err = steadyResolve(ctx, c.to, tag); return err }); err != nil {
		return err
	}
	if oldExists && old.Digest == d.Digest {
		if !c.opts.Check {
			return nil
		}
		if kept, err := c.kept(ctx, d); kept || err != nil {
			return err
		}
		oldExists = false // the content is lost, and there is nothing to keep
	}
	ours, err := c.read(ctx, d)
	if err != nil {
		return err
	}
	if !oldExists {
		return c.simpleWhole(ctx, group, ours, ours.Layers, tag)
	}
	theirs := found{desc: ocispec.Descriptor{MediaType: old.MediaType, Digest: old.Digest, Size: old.Size}}
	err = c.within(ctx, func() (err error) {
		theirs.manifest, theirs.data, err = readManifest(ctx, c.to, theirs.desc)
		return about(tag, err)
	})
	if err != nil {
		return err
	}
	return c.merge(ctx, group, ours, theirs, tag)
}

// simpleWhole copies an image of signatures as it is, of which some are new.
func (c *copier) simpleWhole(ctx context.Context, group *errgroup.Group, ours found, added []ocispec.Descriptor, tag string) error {
	c.mu.Lock()
	for _, l := range added {
		if isSimple(l) {
			c.simples++
		}
	}
	c.mu.Unlock()
	return c.content(ctx, group, ours, write{desc: ours.desc, data: ours.data, tag: tag}, 1)
}

// merge has the tag lead to the signatures of both sides.
func (c *copier) merge(ctx context.Context, group *errgroup.Group, ours, theirs found, tag string) error {
	if !ours.isSimple() || !theirs.isSimple() {
		return refuse(ErrShape, "%.200q: something else is there already (%s), and one of both holds no signatures of cosign v2, so that they cannot be put together: "+
			"remove that tag, or leave what is attached behind (artifact copy --bare)", tag, theirs.desc.Digest)
	}
	added, lacking := lackedBy(theirs, ours), lackedBy(ours, theirs)
	switch {
	case len(added) == 0:
		return nil
	case len(lacking) == 0:
		return c.simpleWhole(ctx, group, ours, added, tag)
	case len(theirs.Layers)+len(added) > maxSimple:
		return refuse(ErrLimit, "%.200q: with those that are there already it would have more than %d signatures of cosign v2: remove that tag", tag, maxSimple)
	}
	config, configData, d, data, err := mergedSimple(theirs, added)
	if err != nil {
		return err
	}
	group.Go(func() error { return c.within(ctx, func() error { return c.send(ctx, config, configData) }) })
	for _, l := range added {
		if c.first(c.blobs, l, "") {
			group.Go(func() error { return c.within(ctx, func() error { return c.blob(ctx, l) }) })
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.simples += len(added)
	c.writes[1] = append(c.writes[1], write{desc: d, data: data, tag: tag})
	return nil
}

// isSimple says whether a layer is a signature of cosign v2.
func isSimple(l ocispec.Descriptor) bool {
	return l.MediaType == typeSimple && l.Annotations[annotationSimple] != ""
}

// isSimple says whether a manifest holds signatures of cosign v2 and nothing else.
func (m manifest) isSimple() bool {
	return len(m.Layers) > 0 && !slices.ContainsFunc(m.Layers, func(l ocispec.Descriptor) bool { return !isSimple(l) })
}

// lackedBy are the signatures of from that m has not. The same text may be signed
// by many, so a signature is its text and what signs it.
func lackedBy(m, from found) []ocispec.Descriptor {
	var out []ocispec.Descriptor
	for _, l := range from.Layers {
		if !slices.ContainsFunc(m.Layers, func(o ocispec.Descriptor) bool {
			return o.Digest == l.Digest && o.Annotations[annotationSimple] == l.Annotations[annotationSimple]
		}) {
			out = append(out, l)
		}
	}
	return out
}

// simpleConfig is the config of an image of signatures, in the fields and with the
// values that cosign writes.
type simpleConfig struct {
	Architecture string          `json:"architecture"`
	Created      string          `json:"created"`
	History      []simpleHistory `json:"history"`
	OS           string          `json:"os"`
	RootFS       struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	Config struct{} `json:"config"`
}

type simpleHistory struct {
	Created string `json:"created"`
}

// mergedSimple is the image that has the signatures of one and the added ones.
// Its config names the layers, because cosign reads it when it adds a signature.
func mergedSimple(theirs found, added []ocispec.Descriptor) (config ocispec.Descriptor, configData []byte, d ocispec.Descriptor, data []byte, err error) {
	const never = "0001-01-01T00:00:00Z"
	image := simpleConfig{Created: never}
	image.RootFS.Type = "layers"
	out := manifestJSON{SchemaVersion: 2, MediaType: theirs.desc.MediaType, Annotations: theirs.Annotations}
	for _, l := range slices.Concat(theirs.Layers, added) {
		layer := plain(l)
		layer.Annotations = l.Annotations
		out.Layers = append(out.Layers, layer)
		image.History = append(image.History, simpleHistory{Created: never})
		image.RootFS.DiffIDs = append(image.RootFS.DiffIDs, layer.Digest)
	}
	if configData, err = encode(image); err != nil {
		return config, nil, d, nil, err
	}
	config = describe(theirs.Config.MediaType, configData)
	out.Config = plain(config)
	data, err = encode(out)
	return config, configData, describe(out.MediaType, data), data, err
}
