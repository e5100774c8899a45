// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

// PruneOptions say what is old. The zero value keeps only what has a tag that
// a user gave it.
type PruneOptions struct {
	// Keep is the number of the newest pushes that stay, with their barrier layers.
	Keep int
	// After keeps what was pushed after that time; the zero time keeps nothing
	// for its age.
	After time.Time
	// Expired is the present time: just the pushes whose [AnnotationExpires] is not after it
	// are deleted, under all of their tags, whatever Keep and After say. The zero time
	// deletes by age.
	Expired time.Time
	// DryRun deletes nothing and returns what would be deleted.
	DryRun bool
}

// Pruned lists the digests of a prune.
type Pruned struct {
	// Kept and Deleted are digests of complete artifacts and of barrier layers, sorted.
	Kept    []string `json:"kept,omitempty"`
	Deleted []string `json:"deleted,omitempty"`
	// Refused are those that the registry does not delete, and Reason why.
	Refused []string `json:"refused,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	// Problems are pushes that are kept because their expiry cannot be read, sorted.
	Problems []string `json:"problems,omitempty"`
}

// Prune deletes old pushes, with what is attached to them. A push is deleted if its digest
// has a retention tag and no other tag, is no barrier layer of an artifact that stays, and is
// neither among the newest nor young enough. Pushes whose time is unknown count as the
// oldest. With opts.Expired, Prune deletes the pushes that have expired, and the barrier
// layers that only those have. If a registry refuses to delete, that is in the result and no
// error.
func Prune(ctx context.Context, store Store, opts PruneOptions) (Pruned, error) {
	p := &pruner{in: store, opts: opts, pushes: map[string]retained{}, keep: map[string]bool{}}
	if err := p.list(ctx); err != nil {
		return Pruned{}, err
	}

	// By age, or by the time at which a push expires.
	choose := p.choose
	if !opts.Expired.IsZero() {
		choose = p.chooseUnexpired
	}
	if err := choose(ctx); err != nil {
		return Pruned{}, err
	}

	// Layers go first: a complete artifact must not name a layer that is gone.
	for _, digest := range p.sortLayersFirst() {
		switch {
		case p.keep[digest]:
			p.out.Kept = append(p.out.Kept, digest)
		case opts.DryRun:
			p.out.Deleted = append(p.out.Deleted, digest)
		default:
			if err := p.delete(ctx, digest); err != nil {
				return p.out, err
			}
		}
	}

	for _, list := range [][]string{p.out.Kept, p.out.Deleted, p.out.Refused} {
		slices.Sort(list)
	}
	return p.out, nil
}

type pruner struct {
	in     Store
	opts   PruneOptions
	pushes map[string]retained // by digest, the newest of each
	live   []string            // tags that users gave
	keep   map[string]bool
	out    Pruned
}

func (p *pruner) list(ctx context.Context) error {
	err := p.in.Tags(ctx, "", func(tags []string) error {
		for _, tag := range tags {
			r, ok := parseRetention(tag)
			if !ok {
				if !strings.HasPrefix(tag, "sha256-") {
					p.live = append(p.live, tag)
				}
				continue
			}

			// A digest may have several tags: the newest counts, and a complete artifact before a layer.
			old, isKnown := p.pushes[r.digest]
			outranksLayer := old.layer && !r.layer
			if !isKnown || r.at.After(old.at) || outranksLayer {
				p.pushes[r.digest] = r
			}
		}
		return nil
	})
	if manifest.Missing(err) {
		return manifest.Refuse(ErrNotFound, "repository not found: correct its name, or log in: "+
			"some registries report a repository as missing to clients without access")
	}
	return err
}

// sortLayersFirst returns the digests with the barrier layers first. If a prune is cut short,
// the artifacts that name the remaining layers are still there.
func (p *pruner) sortLayersFirst() []string {
	return slices.SortedFunc(maps.Keys(p.pushes), func(a, b string) int {
		if p.pushes[a].layer != p.pushes[b].layer {
			if p.pushes[a].layer {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	})
}

// choose marks the pushes that stay.
func (p *pruner) choose(ctx context.Context) error {
	if err := p.keepLive(ctx); err != nil {
		return err
	}

	// The newest complete artifacts stay.
	var complete []retained
	for _, digest := range slices.Sorted(maps.Keys(p.pushes)) {
		if r := p.pushes[digest]; !r.layer {
			complete = append(complete, r)
		}
	}
	slices.SortStableFunc(complete, func(a, b retained) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.digest, b.digest)) })
	for i, r := range complete {
		isYoung := !p.opts.After.IsZero() && r.at.After(p.opts.After)
		if i < p.opts.Keep || isYoung {
			p.keep[r.digest] = true
		}
	}

	// Their layers stay with them.
	for _, digest := range slices.Sorted(maps.Keys(p.keep)) {
		_, refs, err := p.read(ctx, digest)
		if err != nil {
			return err
		}
		for _, r := range refs {
			p.keep[r.Digest] = true
		}
	}
	return nil
}

// keepLive marks the pushes that tags of users lead to.
func (p *pruner) keepLive(ctx context.Context) error {
	for _, tag := range p.live {
		d, exists, err := resolve(ctx, p.in, tag)
		if err != nil {
			return err
		}
		if exists {
			p.keep[d.Digest.String()] = true
		}
	}
	return nil
}

// chooseUnexpired marks all pushes but those that have expired, and the barrier layers that
// only those have.
func (p *pruner) chooseUnexpired(ctx context.Context) error {
	// What has a tag and no retention tag was not pushed: it stays, with its layers.
	if err := p.keepLive(ctx); err != nil {
		return err
	}
	for digest := range p.pushes {
		p.keep[digest] = true
	}

	// A layer goes only if every artifact that names it has expired.
	needed, gone := map[string]bool{}, map[string]bool{}
	for _, digest := range slices.Sorted(maps.Keys(p.keep)) {
		annotations, refs, err := p.read(ctx, digest)
		if err != nil {
			return err
		}
		push, pushed := p.pushes[digest]
		expired := pushed && !push.layer && p.expired(digest, annotations)
		if expired {
			delete(p.keep, digest)
		}
		for _, r := range refs {
			needed[r.Digest] = needed[r.Digest] || !expired
			gone[r.Digest] = gone[r.Digest] || expired
		}
	}
	for digest := range gone {
		if !needed[digest] && p.pushes[digest].layer {
			delete(p.keep, digest)
		}
	}
	return nil
}

// expired reports whether the instant of a push has passed. An annotation that is no instant
// is reported.
func (p *pruner) expired(digest string, annotations map[string]string) bool {
	text, expires := annotations[AnnotationExpires]
	if !expires {
		return false
	}
	expiry, err := time.Parse(time.RFC3339, text)
	if err != nil {
		p.out.Problems = append(p.out.Problems, fmt.Sprintf(
			"%s: annotation %s: %.100q is not an instant such as 2026-01-31T12:00:00Z", digest, AnnotationExpires, text))
		return false
	}
	return !expiry.After(p.opts.Expired)
}

// read returns the annotations and the barrier layers of an artifact. Both are empty for an
// artifact that is missing or of another kind. An artifact that cannot be read could name any
// layer, so that is an error, and nothing is deleted.
func (p *pruner) read(ctx context.Context, digest string) (annotations map[string]string, refs []LayerRef, _ error) {
	f, err := lookUp(ctx, p.in, digest)
	if manifest.Missing(err) {
		return nil, nil, nil
	}
	if err == nil {
		annotations = f.Annotations
		refs, err = layerRefs(f.Manifest)
	}
	if err != nil && !errors.Is(err, ErrShape) {
		return nil, nil, err
	}
	return annotations, refs, nil
}

// delete deletes an artifact and what is attached to it.
func (p *pruner) delete(ctx context.Context, d string) error {
	switch deleted, err := Delete(ctx, p.in, d); {
	case errors.Is(err, ErrNoDelete):
		p.out.Refused = append(p.out.Refused, d)
		p.out.Reason = err.Error()
	case err != nil:
		return err
	case deleted:
		p.out.Deleted = append(p.out.Deleted, d)
	}
	return nil
}

// Delete deletes an artifact with what is attached to it: its referrers, its signatures by a
// tag of cosign, and the tag sha256-<hex> that lists the referrers where a registry has no
// interface for them. It returns false where there was no such artifact. The error is
// ErrNoDelete where the registry deletes nothing at all.
func Delete(ctx context.Context, store Store, d string) (deleted bool, err error) {
	subject, exists, err := resolve(ctx, store, d)
	if err != nil {
		return false, err
	}
	if exists {
		targets, err := listWithAttached(ctx, store, subject)
		if err != nil {
			return false, err
		}
		for _, target := range targets {
			if err := remove(ctx, store, target); err != nil {
				return false, err
			}
		}
	}
	list, err := findEmptyList(ctx, store, d)
	if err != nil || list == nil {
		return exists, err
	}
	return exists, remove(ctx, store, *list)
}

// listWithAttached returns an artifact and what is attached to it. The artifact comes first:
// if the registry refuses to delete it, its signatures stay too.
func listWithAttached(ctx context.Context, store Store, subject ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	attached, err := Referrers(ctx, store, subject, "")
	if err != nil {
		return nil, err
	}
	simple, exists, err := resolve(ctx, store, simpleTag(subject))
	if err != nil {
		return nil, err
	}
	if exists {
		attached = append(attached, simple)
	}
	return append([]ocispec.Descriptor{subject}, attached...), nil
}

func remove(ctx context.Context, store Store, target ocispec.Descriptor) error {
	err := store.Delete(ctx, ocispec.Descriptor{MediaType: target.MediaType, Digest: target.Digest, Size: target.Size})
	switch {
	case err == nil, manifest.Missing(err):
		return nil
	case refusesDelete(err):
		return ErrNoDelete
	}
	return manifest.About(target.Digest.String(), err)
}

// findEmptyList returns the list of referrers under the tag of a digest (OCI distribution spec,
// referrers tag schema) if it has no entries any more; nil if there is no list, or it has entries.
func findEmptyList(ctx context.Context, store Store, digest string) (*ocispec.Descriptor, error) {
	const most = 1 << 10 // bytes, of an index without an entry
	tag := strings.Replace(digest, ":", "-", 1)
	d, rc, err := store.FetchReference(ctx, tag)
	if manifest.Missing(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, manifest.About(tag, err)
	}
	defer rc.Close() //nolint:errcheck // it was read only
	if d.MediaType != ocispec.MediaTypeImageIndex || d.Size > most {
		return nil, nil //nolint:nilnil // it is none, or not empty
	}
	data, err := manifest.Drain(manifest.Verify(rc, d), d.Size)
	if err != nil {
		return nil, manifest.About(tag, err)
	}
	var index ocispec.Index
	if json.Unmarshal(data, &index) != nil || len(index.Manifests) > 0 {
		return nil, nil //nolint:nilnil // it is none, or not empty
	}
	return &d, nil
}

// refusesDelete reports whether a registry deletes nothing at all: 405, or the code
// UNSUPPORTED.
func refusesDelete(err error) bool {
	var answer *errcode.ErrorResponse
	if !errors.As(err, &answer) {
		return false
	}
	return answer.StatusCode == http.StatusMethodNotAllowed ||
		slices.ContainsFunc(answer.Errors, func(e errcode.Error) bool { return e.Code == errcode.ErrorCodeUnsupported })
}
