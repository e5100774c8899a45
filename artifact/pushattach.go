// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/artifact/statement"
)

// StatementReferrer is an in-toto statement of a predicate type, unsigned, as
// [AttachStatement] attaches it.
func StatementReferrer(text []byte, predicateType string) Referrer {
	return Referrer{ArtifactType: statement.MediaType, Data: text, Annotations: map[string]string{annotationPredicate: predicateType}}
}

// sealed writes the whole under its retention tag, and with it all that belongs to
// it, as PushOptions say.
func (p *pusher) sealed(ctx context.Context, whole *Artifact, out Pushed) error {
	tag := retentionTag(out.Digest, p.opts.At, false)
	var err error
	if p.opts.Attach != nil {
		err = p.attach(ctx, whole, tag, out)
	} else {
		err = p.manifest(ctx, whole.Descriptor, whole.Manifest, tag)
	}
	if err != nil || p.opts.Sealed == nil {
		return err
	}
	inner, settle := together(ctx)
	if err := p.opts.Sealed(inner, out); err != nil {
		return err
	}
	return settle()
}

// attach writes the whole and its referrers as a copy does, because a push that is
// alone need not settle a list either: see alone.go. What is attached already is
// attached again, which makes good what the store lost.
func (p *pusher) attach(ctx context.Context, whole *Artifact, tag string, out Pushed) error {
	referrers, err := p.opts.Attach(ctx, out)
	if err != nil {
		return err
	}
	subject := bareOf(whole.Descriptor)
	there, err := steadyReferrers(ctx, p.to, subject)
	if err != nil {
		return err
	}
	c := &copier{
		from: p.to, to: p.to, opts: CopyOptions{Referrers: true, At: p.opts.At, Progress: p.opts.Progress},
		root: found{desc: subject}, slots: make(chan struct{}, parallel), early: map[string]bool{}, listsThere: len(there) > 0,
	}
	c.writes[0] = []write{{desc: subject, data: whole.Manifest, tag: tag}}
	var again []Referrer
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, r := range referrers {
		d, data, layer, err := r.manifest(subject)
		if err != nil {
			return err
		}
		if holds(there, d) {
			again = append(again, r)
			continue
		}
		c.writes[1] = append(c.writes[1], write{desc: d, data: data, subject: &subject})
		if i == 0 {
			empty := describe(ocispec.MediaTypeEmptyJSON, []byte(emptyJSON))
			group.Go(func() error { _, err := sendBlob(inner, p.to, empty, []byte(emptyJSON), true); return err })
		}
		group.Go(func() error { _, err := sendBlob(inner, p.to, layer, r.Data, false); return err })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	err = c.manifestsAndLists(ctx)
	p.sent.Add(c.bytes)
	if err != nil {
		return err
	}
	for _, r := range slices.Clip(again) {
		if _, err := Attach(ctx, p.to, subject, r); err != nil {
			return err
		}
	}
	return nil
}

// bareOf is a descriptor without what is said beside it.
func bareOf(d ocispec.Descriptor) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}
}
