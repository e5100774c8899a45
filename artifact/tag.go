// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"slices"
)

// unique are tags without those that were named before.
func unique(tags []string) []string {
	var out []string
	for _, tag := range tags {
		if !slices.Contains(out, tag) {
			out = append(out, tag)
		}
	}
	return out
}

// Tag has tags lead to the artifact that a tag or a digest leads to, and gives
// its digest.
func Tag(ctx context.Context, in Store, reference string, tags ...string) (string, error) {
	if err := checkReference(reference); err != nil {
		return "", err
	}
	if err := CheckTags(tags); err != nil {
		return "", err
	}
	at, err := lookUp(ctx, in, reference)
	if err != nil {
		return "", err
	}
	for _, tag := range tags {
		if err := in.PushReference(ctx, at.desc, bytes.NewReader(at.data), tag); err != nil {
			return "", about(tag, err)
		}
	}
	return at.desc.Digest.String(), nil
}
