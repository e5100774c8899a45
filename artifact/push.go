// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

// parallel limits the requests that are under way at once.
const parallel = 6

// PushOptions say how to push. The zero value pushes with retention tags that
// have no time.
type PushOptions struct {
	// At is the time for the retention tags, by which Prune knows what is old. It
	// does not get into the artifact.
	At time.Time
	// Progress is called with the bytes of each blob that was sent; from several
	// goroutines. It may be nil.
	Progress func(bytes int64)
	// Sealed is called when all is there and before any tag leads to it, so that
	// what it attaches and signs is there for every client that follows a tag. Its error
	// ends the push. It is not called where nothing is pushed; it may be nil.
	Sealed func(ctx context.Context, pushed Pushed) error
}

// Pushed is the result of a push.
type Pushed struct {
	// Digest identifies the artifact under the tags: an older artifact where the tree is unchanged.
	Digest string `json:"digest"`
	// Tree is the tree digest.
	Tree string `json:"tree"`
	// Changed reports that an artifact was pushed.
	Changed bool `json:"changed"`
	// Previous is the digest that the first tag had before, "" where it is new.
	Previous string `json:"previous,omitempty"`
	// Tags are those that lead to Digest now, without the retention tag.
	Tags []string `json:"tags,omitempty"`
	// Layers are the barrier layers; unchanged ones keep their digests.
	Layers []LayerRef `json:"layers,omitempty"`
	// Uploaded counts the bytes that were sent, manifests included.
	Uploaded int64 `json:"uploaded"`
}

// Push puts a set into a store, under the tags and under retention tags.
//
// If the first tag leads to an artifact with the same tree, the same layers and the same
// expiry, nothing is pushed. That artifact stays, with its source and revision. This takes
// two requests, and one for each further tag. The second request asks whether the registry
// still has the content of the complete artifact, with the right size; of a layout everything
// is read. Content that is missing or damaged is pushed again.
//
// A barrier layer whose tree is unchanged keeps the artifact that it had. Tags move last, so
// that a push that is cut short changes nothing that a client reads.
func Push(ctx context.Context, dst Store, set Set, tags []string, opts PushOptions) (Pushed, error) {
	if set.Complete == nil {
		return Pushed{}, manifest.Refuse(ErrShape, "there is nothing to push")
	}
	if err := CheckTags(tags); err != nil {
		return Pushed{}, err
	}
	tags = unique(tags)
	p := &pusher{to: dst, opts: opts}
	old, err := p.findCurrent(ctx, set, tags)
	if err != nil {
		return Pushed{}, err
	}
	if old.same {
		return p.keep(ctx, set, old, tags)
	}
	return p.push(ctx, set, old, tags)
}

type pusher struct {
	to   Store
	opts PushOptions
	sent atomic.Int64
}

// current is the artifact under the first tag.
type current struct {
	found
	exists bool
	// same reports that it is the same render, and all of it there.
	same bool
	// damaged reports that it would be the same render, but some of it is missing.
	damaged bool
	layers  []LayerRef
}

// findCurrent reads what is at the first tag, in one request. If that is the same render, it
// asks in another request whether its content is there.
func (p *pusher) findCurrent(ctx context.Context, set Set, tags []string) (current, error) {
	complete := set.Complete
	reference := complete.Descriptor.Digest.String()
	if len(tags) > 0 {
		reference = tags[0]
	}
	located, err := lookUp(ctx, p.to, reference)
	out := current{found: located, exists: true}
	switch {
	case manifest.Missing(err):
		return current{}, nil
	case errors.Is(err, ErrShape), errors.Is(err, ErrLimit), errors.Is(err, ErrDigest):
		// Something of others is there, or something damaged: the push replaces it.
		return out, nil
	case err != nil:
		return current{}, err
	}

	// Only the layers and the content of a render can be compared.
	out.layers, err = layerRefs(located.Manifest)
	if err != nil {
		return out, nil //nolint:nilerr // as above
	}
	if _, err := contentLayer(located.Manifest); err != nil {
		return out, nil //nolint:nilerr // as above
	}
	sameLayer := func(a, b LayerRef) bool { return a.Name == b.Name && a.Tree == b.Tree }
	if !maps.Equal(compared(located.Annotations), compared(complete.annotations)) || !slices.EqualFunc(out.layers, refsOf(set), sameLayer) {
		return out, nil
	}
	held, err := p.holds(ctx, out)
	out.same, out.damaged = held, !held
	return out, manifest.About(reference, err)
}

// compared returns the annotations that make another artifact of the same manifests: the tree, when
// it expires, and those that a caller chose. Another revision with the same manifests is no reason
// to push.
func compared(annotations map[string]string) map[string]string {
	out := maps.Clone(annotations)
	maps.DeleteFunc(out, func(name, _ string) bool { return isOwn(name) && name != AnnotationTree && name != AnnotationExpires })
	return out
}

func refsOf(set Set) []LayerRef {
	var out []LayerRef
	for _, l := range set.Layers {
		out = append(out, LayerRef{Name: l.Name, Digest: l.Descriptor.Digest.String(), Tree: l.Tree})
	}
	return out
}

// keep leaves the artifact as it is, and points the other tags at it.
func (p *pusher) keep(ctx context.Context, set Set, old current, tags []string) (Pushed, error) {
	out := Pushed{Digest: old.desc.Digest.String(), Tree: set.Complete.Tree, Layers: old.layers, Tags: tags}
	if len(tags) > 0 {
		out.Previous = out.Digest
	}
	for _, tag := range tags[min(1, len(tags)):] {
		d, exists, err := resolve(ctx, p.to, tag)
		if err != nil {
			return Pushed{}, err
		}
		if exists && d.Digest == old.desc.Digest {
			continue
		}
		if err := p.writeManifest(ctx, old.desc, old.data, tag); err != nil {
			return Pushed{}, err
		}
	}
	out.Uploaded = p.sent.Load()
	return out, nil
}

func (p *pusher) push(ctx context.Context, set Set, old current, tags []string) (Pushed, error) {
	set, pushed, err := p.reuse(ctx, set, old)
	if err != nil {
		return Pushed{}, err
	}

	// The content goes before the manifests that name it.
	if err := p.sendBlobs(ctx, append(slices.Clone(pushed), set.Complete), old.exists); err != nil {
		return Pushed{}, err
	}
	if old.damaged {
		if err := checkMended(ctx, p.to, set.Complete.Layer); err != nil {
			return Pushed{}, err
		}
	}

	// Layers are independent of each other.
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, a := range pushed {
		group.Go(func() error {
			return p.writeManifest(inner, a.Descriptor, a.Manifest, retentionTag(a.Descriptor.Digest.String(), p.opts.At, true))
		})
	}
	if err := group.Wait(); err != nil {
		return Pushed{}, err
	}

	// The complete artifact names the layers, so it comes after them, and the tags of users
	// after it.
	complete := set.Complete
	out := Pushed{
		Digest: complete.Descriptor.Digest.String(), Tree: complete.Tree, Changed: true, Previous: old.desc.Digest.String(),
		Tags: tags, Layers: refsOf(set),
	}
	if err := p.seal(ctx, complete, out); err != nil {
		return Pushed{}, err
	}
	for _, tag := range tags {
		if err := p.writeManifest(ctx, complete.Descriptor, complete.Manifest, tag); err != nil {
			return Pushed{}, err
		}
	}
	out.Uploaded = p.sent.Load()
	return out, nil
}

// seal writes the complete artifact under its retention tag, and then has its signatures and
// statements attached.
func (p *pusher) seal(ctx context.Context, complete *Artifact, out Pushed) error {
	err := p.writeManifest(ctx, complete.Descriptor, complete.Manifest, retentionTag(out.Digest, p.opts.At, false))
	if err != nil || p.opts.Sealed == nil {
		return err
	}
	return p.opts.Sealed(ctx, out)
}

// reuse replaces each unchanged layer of the set by the artifact that is in the store. It
// returns the new set, and the layers that are to be pushed.
func (p *pusher) reuse(ctx context.Context, set Set, old current) (_ Set, push []*Artifact, _ error) {
	out := Set{Complete: set.Complete}
	for _, l := range set.Layers {
		i := slices.IndexFunc(old.layers, func(r LayerRef) bool { return r.Name == l.Name && r.Tree == l.Tree })
		if i >= 0 && !old.damaged {
			d, exists, err := p.findLayer(ctx, old.layers[i])
			if err != nil {
				return Set{}, nil, err
			}
			if exists {
				kept := *l.Artifact
				kept.Descriptor, kept.Manifest = d, nil
				out.Layers = append(out.Layers, NamedArtifact{Name: l.Name, Artifact: &kept})
				continue
			}
		}
		out.Layers = append(out.Layers, l)
		push = append(push, l.Artifact)
	}

	// The complete artifact names its layers, so it changes with them.
	if !slices.Equal(refsOf(out), refsOf(set)) {
		var err error
		out.Complete, err = set.Complete.withLayers(refsOf(out))
		if err != nil {
			return Set{}, nil, err
		}
	}
	return out, push, nil
}

// sendBlobs sends configs and layers. With ask it first asks for each blob; this is worth a
// request only if an older artifact is there.
func (p *pusher) sendBlobs(ctx context.Context, artifacts []*Artifact, ask bool) error {
	type blob struct {
		desc ocispec.Descriptor
		data []byte
	}
	parts := []blob{{manifest.Describe(TypeConfig, []byte(manifest.EmptyJSON)), []byte(manifest.EmptyJSON)}}
	for _, a := range artifacts {
		parts = append(parts, blob{a.Layer, a.Content})
	}

	// Artifacts may share content, which is sent once.
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	seen := map[string]bool{}
	for _, b := range parts {
		if seen[b.desc.Digest.String()] {
			continue
		}
		seen[b.desc.Digest.String()] = true
		group.Go(func() error {
			if ask {
				if held, err := holdsBlob(inner, p.to, b.desc); held || err != nil {
					return err
				}
			}
			if err := sendBlob(inner, p.to, b.desc, b.data, false); err != nil {
				return err
			}
			p.count(b.desc.Size)
			return nil
		})
	}
	return group.Wait()
}

// writeManifest writes a manifest under a tag.
func (p *pusher) writeManifest(ctx context.Context, d ocispec.Descriptor, data []byte, tag string) error {
	err := persist(ctx, d, func() error { return p.to.PushReference(ctx, d, bytes.NewReader(data), tag) })
	if err != nil {
		return manifest.About(tag, err)
	}
	p.count(d.Size)
	return nil
}

func (p *pusher) count(bytes int64) {
	p.sent.Add(bytes)
	if p.opts.Progress != nil {
		p.opts.Progress(bytes)
	}
}

// sendBlob sends a blob. With ask it is sent only if it is not there. The reader can be
// rewound, so that the client may try again.
func sendBlob(ctx context.Context, dst Writer, d ocispec.Descriptor, data []byte, ask bool) error {
	if ask {
		if held, err := holdsBlob(ctx, dst, d); held || err != nil {
			return err
		}
	}
	return dst.Push(ctx, d, bytes.NewReader(data))
}

const (
	// raceTries limits the attempts of a write that races with another client. racePause is the
	// first pause; each further pause is twice as long.
	raceTries = 7
	racePause = 20 * time.Millisecond
)

// persist repeats a write that a registry refused because another client was writing
// the same content.
func persist(ctx context.Context, d ocispec.Descriptor, send func() error) error {
	for i := 0; ; i++ {
		err := send()
		if !isRace(err) {
			return err
		}
		if i == raceTries-1 {
			return errGaveUp(d, err)
		}
		jitter := time.Duration(rand.Int64N(int64(racePause << i))) //nolint:gosec // it only has to differ
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(racePause<<i/2 + jitter):
		}
	}
}

// errGaveUp returns the error of a write that was tried often enough. What a registry reports
// about digests is left out, because the content matches its digest.
func errGaveUp(d ocispec.Descriptor, err error) error {
	var answer *errcode.ErrorResponse
	if !errors.As(err, &answer) || answer.StatusCode == http.StatusInternalServerError {
		return err
	}
	return manifest.Refuse(ErrBusy, "%s: the registry received what it names, and reports that it does not have it (%d): "+
		"another client may be writing the same content: try again",
		d.Digest, answer.StatusCode)
}

// isRace reports whether a registry read something while it was being written.
//
// docker-registry 2.8 truncates the file that links a blob or a tag and then writes it,
// also if the content is the same. A client that pushes a manifest in that moment gets
// MANIFEST_BLOB_UNKNOWN, or 500.
func isRace(err error) bool {
	var answer *errcode.ErrorResponse
	if !errors.As(err, &answer) {
		return false
	}
	return answer.StatusCode == http.StatusInternalServerError || slices.ContainsFunc(answer.Errors, func(e errcode.Error) bool {
		return e.Code == errcode.ErrorCodeManifestBlobUnknown || e.Code == errcode.ErrorCodeBlobUnknown
	})
}
