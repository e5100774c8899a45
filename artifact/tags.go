// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"oras.land/oras-go/v2/registry"

	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/internal/digests"
)

// Retention tags hold every digest that was ever pushed, so that the clean-up of
// a registry, which takes what has no tag, cannot eat what a cluster runs.
// [Prune] reads the order of pushes off them, because artifacts have no time.
//
// They are rw-<time>-<hex> for a complete artifact and rwl-<time>-<hex> for a barrier layer; <time>
// is 20060102T150405.999999999Z, without zeros at the end, and left out where it is unknown, <hex>
// is the SHA-256 of the manifest. cosign owns sha256-<hex>, and tools that look for versions ignore
// all these tags.
const (
	retainComplete = "rw-"
	retainLayer    = "rwl-"
	retainTime     = "20060102T150405.999999999Z"
)

// retained is the content of a retention tag.
type retained struct {
	digest string
	layer  bool
	at     time.Time // zero where it is unknown
}

// retentionTag returns the retention tag of a digest.
func retentionTag(digest string, pushed time.Time, layer bool) string {
	var b strings.Builder
	if layer {
		b.WriteString(retainLayer)
	} else {
		b.WriteString(retainComplete)
	}
	if !pushed.IsZero() {
		b.WriteString(pushed.UTC().Format(retainTime))
		b.WriteByte('-')
	}
	b.WriteString(strings.TrimPrefix(digest, "sha256:"))
	return b.String()
}

// parseRetention reads a retention tag.
func parseRetention(tag string) (retained, bool) {
	fields, layer := strings.CutPrefix(tag, retainLayer)
	if !layer {
		var ok bool
		fields, ok = strings.CutPrefix(tag, retainComplete)
		if !ok {
			return retained{}, false
		}
	}
	out := retained{layer: layer}
	if stamp, hex, dated := strings.Cut(fields, "-"); dated {
		pushed, err := time.Parse(retainTime, stamp)
		if err != nil || pushed.IsZero() {
			return retained{}, false
		}
		out.at, fields = pushed, hex
	}
	out.digest = "sha256:" + fields
	return out, digests.Is(out.digest) && retentionTag(out.digest, out.at, layer) == tag
}

// CheckTags refuses tags that registries refuse, and tags that are reserved for retention and
// signatures, before any request. The error is ErrReference.
//
// See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-manifests.
func CheckTags(tags []string) error {
	for _, tag := range tags {
		if err := checkTag(tag); err != nil {
			return err
		}
	}
	return nil
}

func checkTag(tag string) error {
	if !isTag(tag) {
		return manifest.Refuse(ErrReference,
			"%.200q is not a valid tag: 1 to 128 letters, digits, _, . and - are allowed, not starting with . or -", tag)
	}
	for _, reserved := range []string{retainComplete, retainLayer, "sha256-"} {
		if strings.HasPrefix(tag, reserved) {
			return manifest.Refuse(ErrReference,
				"tag %.200q: names that begin with %q are reserved for retention and signatures: choose another", tag, reserved)
		}
	}
	return nil
}

func isTag(tag string) bool {
	return (registry.Reference{Reference: tag}).ValidateReferenceAsTag() == nil
}

// checkReference refuses a text that is neither a tag nor a digest.
func checkReference(reference string) error {
	if isTag(reference) || digests.Is(reference) {
		return nil
	}
	return manifest.Refuse(ErrReference, "%.200q is neither a tag nor a digest (sha256: and 64 hexadecimal digits)", reference)
}

// unique returns the tags in their order, each once.
func unique(tags []string) []string {
	var out []string
	for _, tag := range tags {
		if !slices.Contains(out, tag) {
			out = append(out, tag)
		}
	}
	return out
}

// Tag points tags at the artifact at a tag or a digest, and returns its digest.
func Tag(ctx context.Context, store Store, reference string, tags ...string) (string, error) {
	if err := checkReference(reference); err != nil {
		return "", err
	}
	if err := CheckTags(tags); err != nil {
		return "", err
	}
	located, err := lookUp(ctx, store, reference)
	if err != nil {
		return "", err
	}
	for _, tag := range tags {
		if err := store.PushReference(ctx, located.desc, bytes.NewReader(located.data), tag); err != nil {
			return "", manifest.About(tag, err)
		}
	}
	return located.desc.Digest.String(), nil
}
