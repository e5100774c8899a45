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

// maxForeign limits the tags of others that are looked at before something is deleted.
const maxForeign = 200

// Prune deletes complete artifacts that are not wanted any more, and the artifacts of hand-overs.
func (r *repository) Prune(ctx context.Context, keep, drop []v1alpha1.Artifact) (string, error) {
	return r.prune(ctx, keep, drop)
}

// Remove leaves everything if spec.output.oci.deletionPolicy is Keep: the artifacts of a deleted
// Transform can still be used.
func (r *repository) Remove(ctx context.Context) error {
	if r.out.DeletionPolicy != v1alpha1.DeletionDelete {
		return nil
	}
	obstacle, err := r.prune(ctx, nil, r.transform.Status.History)
	if err == nil && obstacle != "" {
		err = errors.New(obstacle)
	}
	return err
}

// prune deletes the artifacts of drop, except artifacts that keep or a tag leads to. If nothing is
// kept, the tags of the Transform are deleted too, unless others have moved them.
func (r *repository) prune(ctx context.Context, keep, drop []v1alpha1.Artifact) (string, error) {
	// Every tag is read, so too many of them are left to the user.
	store, err := r.connect(ctx)
	if err != nil {
		return "", err
	}
	targets := digestsOf(drop)
	interim, foreign, err := r.tags(ctx, store)
	if err != nil {
		return "", r.explain(err)
	}
	if len(foreign) > maxForeign {
		message := fmt.Sprintf("%s has %d tags of others, which may lead to what is old: prune it with ropewalk artifact prune",
			r.out.Repository, len(foreign))
		return message, nil
	}

	// Artifacts that keep or a tag of others leads to are kept.
	kept := map[string]bool{}
	for _, digest := range digestsOf(keep) {
		kept[digest] = true
	}
	for _, tag := range foreign {
		digests, err := members(ctx, store, tag)
		if err != nil {
			return "", r.explain(err)
		}
		isDropped := len(digests) > 0 && slices.Contains(targets, digests[0])
		if len(keep) == 0 && isDropped && r.leads(tag) {
			continue
		}
		for _, digest := range digests {
			kept[digest] = true
		}
	}

	// The artifacts of hand-overs are deleted with the rest.
	for _, tag := range interim {
		descriptor, err := store.Resolve(ctx, tag)
		if err == nil {
			targets = append(targets, descriptor.Digest.String())
		}
	}
	for _, digest := range targets {
		if kept[digest] {
			continue
		}
		kept[digest] = true // once
		switch _, err := artifact.Delete(ctx, store, digest); {
		case errors.Is(err, artifact.ErrNoDelete):
			return r.out.Repository + ": " + err.Error(), nil
		case err != nil:
			return "", r.explain(err)
		}
	}
	return "", nil
}

// members returns the digests that a tag leads to: an artifact and, if it is complete, its layers.
func members(ctx context.Context, store artifact.Store, tag string) ([]string, error) {
	d, content, err := store.FetchReference(ctx, tag)
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

	// A manifest of another program names no layers.
	out := []string{d.Digest.String()}
	var manifest struct {
		Annotations map[string]string `json:"annotations"`
	}
	var layers []artifact.LayerRef
	if json.Unmarshal(data, &manifest) != nil || json.Unmarshal([]byte(manifest.Annotations[artifact.AnnotationLayers]), &layers) != nil {
		return out, nil
	}
	for _, l := range layers {
		out = append(out, l.Digest)
	}
	return out, nil
}

// digestsOf returns the digests of complete artifacts and of their layers.
func digestsOf(artifacts []v1alpha1.Artifact) []string {
	var out []string
	for _, a := range artifacts {
		out = append(out, a.Digest)
		for _, l := range a.Layers {
			out = append(out, l.Digest)
		}
	}
	return out
}

// leads reports whether a tag leads to the newest artifact of the Transform.
func (r *repository) leads(tag string) bool {
	return tag == r.tag || slices.Contains(r.out.Tags, v1alpha1.OCITag(tag))
}

// tags returns the tags of hand-overs of this Transform, and the tags that others may follow: all
// except retention tags, which name a digest, and the tags of hand-overs.
func (r *repository) tags(ctx context.Context, store artifact.Store) (interim, foreign []string, err error) {
	err = store.Tags(ctx, "", func(page []string) error {
		for _, tag := range page {
			switch {
			case strings.HasPrefix(tag, r.interims()):
				interim = append(interim, tag)
			case r.leads(tag):
				foreign = append(foreign, tag) // It leads to the newest artifact.
			case strings.HasPrefix(tag, "rw-"), strings.HasPrefix(tag, "rwl-"), strings.HasPrefix(tag, "sha256-"):
			default:
				foreign = append(foreign, tag)
			}
		}
		return nil
	})
	return interim, foreign, err
}
