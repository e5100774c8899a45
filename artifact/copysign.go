// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

// Signatures of cosign v2 are the layers of one image under a tag. A copy keeps those
// of the destination, in their order, and appends those of the source. If one side has
// all that the other one has, its image is taken as it is, with its digest, so that
// copying twice, or back, changes nothing. Like cosign itself, a copy does not notice
// another writer between its read and its write. An image that holds anything else is
// never replaced.

// maxSimple is how many signatures of cosign v2 one image may have.
const maxSimple = 200

// simpleTag is the tag under which cosign v2 keeps the signatures of a manifest.
func simpleTag(d ocispec.Descriptor) string {
	return strings.Replace(d.Digest.String(), "sha256:", "sha256-", 1) + ".sig"
}

// simple copies the signatures of cosign v2 of a manifest.
func (c *copier) simple(ctx context.Context, subject ocispec.Descriptor) error {
	tag := simpleTag(subject)
	d, exists, err := resolve(ctx, c.from, tag)
	if err != nil || !exists {
		return ofSource(err)
	}
	old, oldExists, err := resolve(ctx, c.to, tag)
	if err != nil {
		return err
	}
	same := oldExists && old.Digest == d.Digest
	if same && !c.opts.Check {
		return nil
	}
	ours, err := readFound(ctx, c.from, d)
	if err != nil {
		return ofSource(err)
	}
	if !oldExists || same {
		return c.copySimple(ctx, ours, ours.Layers, tag, same)
	}
	theirs, err := readFound(ctx, c.to, old)
	if err != nil {
		return manifest.About(tag, err)
	}
	return c.merge(ctx, ours, theirs, tag)
}

// copySimple copies an image of signatures as it is, of which some are new. One that
// is there already is written again only if some of it was lost.
func (c *copier) copySimple(ctx context.Context, ours found, added []ocispec.Descriptor, tag string, there bool) error {
	sent, err := c.copyBlobs(ctx, ours.Parts())
	if err != nil {
		return err
	}
	if there && !sent {
		if there, err = c.to.Exists(ctx, ours.desc); there || err != nil {
			return err
		}
	}
	return c.putSimple(ctx, ours.desc, ours.data, added, tag)
}

// copyBlobs copies the blobs that the destination does not have.
func (c *copier) copyBlobs(ctx context.Context, blobs []ocispec.Descriptor) (sent bool, _ error) {
	for _, b := range blobs {
		b = manifest.Bare(b)
		if good, err := holdsBlob(ctx, c.to, b); err != nil {
			return sent, err
		} else if good {
			continue
		}
		data, err := manifest.ReadAll(ctx, c.from, b, buffered)
		if err != nil {
			return sent, ofSource(err)
		}
		if err := c.to.Push(ctx, b, bytes.NewReader(data)); err != nil {
			return sent, err
		}
		sent = true
		c.count(b.Size)
	}
	return sent, nil
}

// putSimple writes an image of signatures under its tag.
func (c *copier) putSimple(ctx context.Context, d ocispec.Descriptor, data []byte, added []ocispec.Descriptor, tag string) error {
	if err := c.to.PushReference(ctx, d, bytes.NewReader(data), tag); err != nil {
		return manifest.About(tag, err)
	}
	c.count(d.Size)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range added {
		if isSimple(l) {
			c.simples++
		}
	}
	return nil
}

// merge makes one image of the signatures of both sides.
func (c *copier) merge(ctx context.Context, ours, theirs found, tag string) error {
	if !holdsSimple(ours.Manifest) || !holdsSimple(theirs.Manifest) {
		return manifest.Refuse(ErrShape, "%.200q: the destination has another image there (%s), and one of both is not an image of cosign v2 signatures, so they cannot be merged: "+
			"remove that tag, or copy without referrers (artifact copy --bare)", tag, theirs.desc.Digest)
	}
	added, lacking := lackedBy(theirs, ours), lackedBy(ours, theirs)
	switch {
	case len(added) == 0:
		return nil
	case len(lacking) == 0:
		return c.copySimple(ctx, ours, added, tag, false)
	case len(theirs.Layers)+len(added) > maxSimple:
		return manifest.Refuse(ErrLimit, "%.200q: source and destination together have more than %d signatures of cosign v2: remove that tag", tag, maxSimple)
	}
	config, configData, d, data, err := mergedSimple(theirs, added)
	if err != nil {
		return err
	}
	if err := sendBlob(ctx, c.to, config, configData, true); err != nil {
		return err
	}
	if _, err := c.copyBlobs(ctx, added); err != nil {
		return err
	}
	return c.putSimple(ctx, d, data, added, tag)
}

// isSimple reports whether a layer is a signature of cosign v2.
func isSimple(l ocispec.Descriptor) bool {
	return l.MediaType == typeSimple && l.Annotations[annotationSimple] != ""
}

// holdsSimple reports whether a manifest holds signatures of cosign v2 and nothing else.
func holdsSimple(m manifest.Manifest) bool {
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
	out := manifest.Image{SchemaVersion: 2, MediaType: theirs.desc.MediaType, Annotations: theirs.Annotations}
	for _, l := range slices.Concat(theirs.Layers, added) {
		layer := manifest.Plain(l)
		layer.Annotations = l.Annotations
		out.Layers = append(out.Layers, layer)
		image.History = append(image.History, simpleHistory{Created: never})
		image.RootFS.DiffIDs = append(image.RootFS.DiffIDs, layer.Digest)
	}
	if configData, err = manifest.Encode(image); err != nil {
		return config, nil, d, nil, err
	}
	config = manifest.Describe(theirs.Config.MediaType, configData)
	out.Config = manifest.Plain(config)
	data, err = manifest.Encode(out)
	return config, configData, manifest.Describe(out.MediaType, data), data, err
}
