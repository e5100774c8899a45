// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"time"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/plugin/host/tracing"
)

// publication is a published render.
type publication struct {
	want delivery.Desired
	// changed says that the artifact is new, and revised that an artifact which was published
	// before has a new revision.
	changed, revised bool
}

// publisher publishes renders.
type publisher struct {
	plans    plans
	counters *counters
	now      func() time.Time
}

// publish publishes a render, and shows that in the status. A process that is killed afterwards
// finds it published.
func (p publisher) publish(ctx context.Context, s *subject, found resolved, out rendered) (publication, error) {
	// A push to a registry takes a while.
	t := s.transform
	if o := t.Spec.Output; o != nil && o.OCI != nil && s.isNew(found.key) && !s.isRetry() {
		if err := s.showBegun(ctx, "pushing the artifact to "+o.OCI.Repository); err != nil {
			return publication{}, err
		}
	}

	// The store writes only what it does not have.
	publishing, end := tracing.Start(ctx, "publish")
	done, err := found.store.Release(publishing, out.Render)
	end(err)
	p.counters.countPublication(done.Changed, err)
	if err != nil {
		if isPublished(ctx, s, found.store, out, err) {
			err = &outage{err}
		}
		return publication{}, atPublish.at(err)
	}

	// A publication is shown before it is delivered.
	p.plans.keep(t, done.Desired)
	changed, revised := showPublished(t, p.artifact(done, out))
	return publication{want: done.Desired, changed: changed, revised: revised}, s.patchStatus(ctx)
}

// isPublished reports whether a render was published before, so that the error of a registry changes
// nothing.
func isPublished(ctx context.Context, s *subject, store publish.Store, out rendered, err error) bool {
	last := s.before.Status.Artifact
	if last == nil || !s.staysReady(err) {
		return false
	}
	return isSame(ctx, store, out, last)
}

// isSame reports whether a render has the files of an artifact.
func isSame(ctx context.Context, store publish.Store, out rendered, artifact *v1alpha1.Artifact) bool {
	if artifact == nil {
		return false
	}
	packed, err := store.Pack(ctx, out.Render)
	return err == nil && packed.Tree == artifact.Tree
}

// pack shows in the status the artifact of a render, and publishes nothing.
func (p publisher) pack(ctx context.Context, t *v1alpha1.Transform, store publish.Store, out rendered) error {
	packed, err := store.Pack(ctx, out.Render)
	if err != nil {
		return atPublish.at(err)
	}
	a := p.artifact(packed, out)
	if old := t.Status.Rendered; old != nil && old.Tree == a.Tree {
		a.Time = old.Time
	}
	t.Status.Rendered = &a
	return nil
}

// artifact returns a publication as the status has it.
func (p publisher) artifact(published publish.Published, out rendered) v1alpha1.Artifact {
	a := v1alpha1.Artifact{
		Digest:     published.Desired.Digest,
		Tree:       published.Tree,
		Revision:   out.Revision,
		Repository: published.Location,
		Time:       timeOf(p.now()),
		Checksum:   out.key,
	}
	if len(published.Desired.Layers) > 1 {
		for _, u := range published.Desired.Layers {
			a.Layers = append(a.Layers, v1alpha1.ArtifactLayer{Name: u.Name, Digest: u.Digest})
		}
	}
	return a
}
