// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
)

// sealing attaches to a render what belongs to it, before tags lead to the render.
type sealing struct {
	to     artifact.Store
	in     Render
	signer *signature.Signer
	attest bool
}

// options say how to push. What is not signed is attached all at once, which a registry
// without an interface for referrers takes without a wait.
func (s sealing) options(at time.Time) artifact.PushOptions {
	if s.signer == nil {
		return artifact.PushOptions{At: at, Attach: s.referrers}
	}
	return artifact.PushOptions{At: at, Sealed: s.seal}
}

// referrers are what is attached to a render that is not signed.
func (s sealing) referrers(ctx context.Context, pushed artifact.Pushed) ([]artifact.Referrer, error) {
	whole := ocispec.Descriptor{MediaType: artifact.TypeManifest, Digest: digest.Digest(pushed.Digest)}
	var out []artifact.Referrer
	err := s.statements(whole, func(predicate string, text []byte) error {
		out = append(out, artifact.StatementReferrer(text, predicate))
		return nil
	})
	if err != nil {
		return nil, err
	}
	plan, err := planReferrer(ctx, s.to, whole, desired(s.in, pushed))
	if plan != nil {
		out = append(out, *plan)
	}
	return out, err
}

// seal is for a render that was just pushed, and is signed.
func (s sealing) seal(ctx context.Context, pushed artifact.Pushed) error {
	whole, err := s.whole(ctx, pushed)
	if err != nil {
		return err
	}
	err = s.statements(whole, func(predicate string, text []byte) error {
		_, err := artifact.AttachStatement(ctx, s.to, whole, text, predicate, s.signer)
		return err
	})
	if err != nil {
		return err
	}
	return s.finish(ctx, whole, pushed)
}

// keep is for a render that was there already.
func (s sealing) keep(ctx context.Context, pushed artifact.Pushed) error {
	whole, err := s.whole(ctx, pushed)
	if err != nil {
		return err
	}
	return s.finish(ctx, whole, pushed)
}

// finish attaches the plan and signs; signing again changes nothing.
func (s sealing) finish(ctx context.Context, whole ocispec.Descriptor, pushed artifact.Pushed) error {
	if err := attachPlan(ctx, s.to, whole, desired(s.in, pushed)); err != nil || s.signer == nil {
		return err
	}
	_, err := artifact.SignSet(ctx, s.to, pushed.Digest, s.signer)
	return err
}

func (s sealing) whole(ctx context.Context, pushed artifact.Pushed) (ocispec.Descriptor, error) {
	d, err := s.to.Resolve(ctx, pushed.Digest)
	return bare(d), err
}

// statements are the graph, the provenance and the SBOM.
func (s sealing) statements(whole ocispec.Descriptor, attach func(predicate string, text []byte) error) error {
	if !s.attest {
		return nil
	}
	about := statement.Subject{Digest: whole.Digest.String()}
	if len(s.in.Graph) > 0 {
		text, err := statement.Graph(s.in.Graph, about)
		if err != nil {
			return err
		}
		if err := attach(statement.PredicateGraph, text); err != nil {
			return err
		}
	}
	if s.in.Build.Project != "" {
		text, err := statement.Provenance(s.in.Build, about)
		if err != nil {
			return err
		}
		if err := attach(statement.PredicateProvenance, text); err != nil {
			return err
		}
	}
	if s.in.Images == nil {
		return nil
	}
	text, err := statement.SBOM(s.in.Images(), about)
	if err != nil {
		return err
	}
	return attach(statement.PredicateSBOM, text)
}
