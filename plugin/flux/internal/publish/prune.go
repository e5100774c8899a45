// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/artifact"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
)

// maxForeign is how many tags of others are looked at before something is deleted.
const maxForeign = 200

// Prune deletes complete artifacts that are not wanted any more, and what hand-overs left.
func (r *repository) Prune(ctx context.Context, keep, drop []v1alpha1.Artifact) (string, error) {
	return r.prune(ctx, keep, drop)
}

// Remove leaves everything if spec.output.oci.deletionPolicy is Keep: the artifacts of a deleted
// Transform can still be used.
func (r *repository) Remove(ctx context.Context) error {
	if r.out.DeletionPolicy != v1alpha1.DeletionDelete {
		return nil
	}
	left, err := r.prune(ctx, nil, r.transform.Status.History)
	if err == nil && left != "" {
		err = errors.New(left)
	}
	return err
}

// prune deletes what was published for drop, except what keep, or a tag, leads to. If nothing is
// kept, the tags of the Transform are deleted with it, unless others have moved them.
func (r *repository) prune(ctx context.Context, keep, drop []v1alpha1.Artifact) (string, error) {
	// Every tag is read, so too many of them are left to the user.
	in, err := r.connect(ctx)
	if err != nil {
		return "", err
	}
	targets := digestsOf(drop)
	own, foreign, err := r.tags(ctx, in)
	if err != nil {
		return "", r.explain(err)
	}
	if len(foreign) > maxForeign {
		return fmt.Sprintf("%s has %d tags of others, which may lead to what is old: prune it with ropewalk artifact prune", r.out.Repository, len(foreign)), nil
	}

	// What keep or a tag of others leads to is kept.
	kept := map[string]bool{}
	for _, digest := range digestsOf(keep) {
		kept[digest] = true
	}
	for _, tag := range foreign {
		digests, err := members(ctx, in, tag)
		if err != nil {
			return "", r.explain(err)
		}
		if len(keep) == 0 && len(digests) > 0 && r.leads(tag) && slices.Contains(targets, digests[0]) {
			continue
		}
		for _, digest := range digests {
			kept[digest] = true
		}
	}

	// What hand-overs left is deleted with the rest.
	for _, tag := range own {
		at, err := in.Resolve(ctx, tag)
		if err == nil {
			targets = append(targets, at.Digest.String())
		}
	}
	for _, digest := range targets {
		if kept[digest] {
			continue
		}
		kept[digest] = true // once
		switch _, err := artifact.Delete(ctx, in, digest); {
		case errors.Is(err, artifact.ErrNoDelete):
			return r.out.Repository + ": " + err.Error(), nil
		case err != nil:
			return "", r.explain(err)
		}
	}
	return "", nil
}

// members returns the digests that a tag leads to: an artifact and, if it is complete, its layers.
func members(ctx context.Context, in artifact.Store, tag string) ([]string, error) {
	d, content, err := in.FetchReference(ctx, tag)
	if errors.Is(err, artifact.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	data, err := io.ReadAll(io.LimitReader(content, remote.DefaultManifest))
	if err != nil {
		return nil, err
	}
	out := []string{d.Digest.String()}
	var manifest struct {
		Annotations map[string]string `json:"annotations"`
	}
	var layers []artifact.LayerRef
	// What is none of ours names no layers.
	if json.Unmarshal(data, &manifest) == nil && json.Unmarshal([]byte(manifest.Annotations[artifact.AnnotationLayers]), &layers) == nil {
		for _, l := range layers {
			out = append(out, l.Digest)
		}
	}
	return out, nil
}

// digestsOf returns the digests of complete artifacts and of their layers.
func digestsOf(all []v1alpha1.Artifact) []string {
	var out []string
	for _, a := range all {
		out = append(out, a.Digest)
		for _, l := range a.Layers {
			out = append(out, l.Digest)
		}
	}
	return out
}

// leads reports whether a tag is one by which the Transform leads to its newest artifact.
func (r *repository) leads(tag string) bool {
	return tag == r.tag || slices.Contains(r.out.Tags, v1alpha1.OCITag(tag))
}

// tags returns the tags of hand-overs of this Transform, and those that others may follow: all but
// retention tags, which are of digests, and those of this Transform.
func (r *repository) tags(ctx context.Context, in artifact.Store) (own, foreign []string, err error) {
	err = in.Tags(ctx, "", func(page []string) error {
		for _, tag := range page {
			switch {
			case strings.HasPrefix(tag, r.interims()):
				own = append(own, tag)
			case r.leads(tag):
				foreign = append(foreign, tag) // it leads to what is newest
			case strings.HasPrefix(tag, "rw-"), strings.HasPrefix(tag, "rwl-"), strings.HasPrefix(tag, "sha256-"):
			default:
				foreign = append(foreign, tag)
			}
		}
		return nil
	})
	return own, foreign, err
}
