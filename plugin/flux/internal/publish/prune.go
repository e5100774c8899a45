// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/ropewalk/ropewalk/artifact"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
)

// maxForeign is how many tags of others are looked at before something is deleted.
const maxForeign = 200

// Prune deletes wholes that are not wanted any more, and what hand-overs left.
func (r *repository) Prune(ctx context.Context, keep, drop []v1alpha1.Artifact) (string, error) {
	in, err := r.connect(ctx)
	if err != nil {
		return "", err
	}
	own, foreign, err := r.tags(ctx, in)
	if err != nil {
		return "", r.explain(err)
	}
	if len(foreign) > maxForeign {
		return fmt.Sprintf("%s has %d tags of others, which may lead to what is old: prune it with ropewalk artifact prune", r.out.Repository, len(foreign)), nil
	}
	kept := map[string]bool{}
	for _, digest := range digestsOf(keep) {
		kept[digest] = true
	}
	for _, tag := range foreign {
		digests, err := members(ctx, in, tag)
		if err != nil {
			return "", r.explain(err)
		}
		for _, digest := range digests {
			kept[digest] = true
		}
	}
	targets := digestsOf(drop)
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
		if left, err := r.delete(ctx, in, digest); left != "" || err != nil {
			return left, r.explain(err)
		}
	}
	return "", nil
}

// members are what a tag leads to: an artifact and, where it is a whole, its layers.
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

// digestsOf are the digests of wholes and of their layers.
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

// tags are those of hand-overs of this Transform, and those that others may follow:
// all but retention tags, which are of digests, and those of this Transform.
func (r *repository) tags(ctx context.Context, in artifact.Store) (own, foreign []string, err error) {
	err = in.Tags(ctx, "", func(page []string) error {
		for _, tag := range page {
			switch {
			case strings.HasPrefix(tag, r.interims()):
				own = append(own, tag)
			case tag == r.tag, slices.Contains(r.out.Tags, v1alpha1.OCITag(tag)):
				foreign = append(foreign, tag) // they lead to what is newest
			case strings.HasPrefix(tag, "rw-"), strings.HasPrefix(tag, "rwl-"), strings.HasPrefix(tag, "sha256-"):
			default:
				foreign = append(foreign, tag)
			}
		}
		return nil
	})
	return own, foreign, err
}

// delete deletes a manifest, and then what is attached to it.
func (r *repository) delete(ctx context.Context, in artifact.Store, digest string) (left string, err error) {
	subject, err := in.Resolve(ctx, digest)
	if errors.Is(err, artifact.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	attached, err := artifact.Referrers(ctx, in, bare(subject), "")
	if err != nil {
		return "", err
	}
	for _, d := range slices.Concat([]ocispec.Descriptor{subject}, attached) {
		err := in.Delete(ctx, bare(d))
		switch {
		case err == nil || errors.Is(err, artifact.ErrNotFound):
		case refusesDelete(err):
			return fmt.Sprintf("the registry of %s does not delete: allow it there, or have its own clean-up take what is old", r.out.Repository), nil
		default:
			return "", err
		}
	}
	return "", nil
}

// refusesDelete says whether a registry deletes nothing at all: 405, or the code
// UNSUPPORTED.
func refusesDelete(err error) bool {
	var answer *errcode.ErrorResponse
	if !errors.As(err, &answer) {
		return false
	}
	return answer.StatusCode == http.StatusMethodNotAllowed ||
		slices.ContainsFunc(answer.Errors, func(e errcode.Error) bool { return e.Code == errcode.ErrorCodeUnsupported })
}
