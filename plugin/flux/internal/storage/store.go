// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/render/emit"
)

// Store is the storage as one Transform has it, for one reconciliation.
type Store struct {
	storage   *Storage
	client    client.Client
	transform *v1alpha1.Transform
	owner     types.NamespacedName

	// plan is that of the whole that is being delivered, once it is known.
	plan Plan
}

var (
	_ publish.Store = (*Store)(nil)
)

// For is the storage for a Transform. The client reads and writes its
// ExternalArtifacts, with their status.
func (s *Storage) For(c client.Client, t *v1alpha1.Transform) *Store {
	return &Store{
		storage: s, client: c, transform: t,
		owner: types.NamespacedName{Namespace: t.Namespace, Name: t.Name},
	}
}

// Release stores a render, and then has the ExternalArtifact of the whole lead to
// it. Those of the layers are the engine's to write, one after the other.
func (s *Store) Release(ctx context.Context, r publish.Render) (publish.Published, error) {
	if _, err := foreign(ctx, s.client, Event(s.transform)); err != nil {
		return publish.Published{}, err
	}
	changed := false
	plan := Plan{Origins: map[string]Origin{}}
	put := func(files []emit.File) (Stored, error) {
		stored, err := s.storage.Put(s.owner, files)
		plan.Origins[stored.Digest] = s.origin(stored.Digest, Origin{Source: r.Source, Revision: r.Revision})
		changed = changed || stored.New
		return stored, err
	}
	for _, layer := range r.Layers {
		stored, err := put(layer.Files)
		if err != nil {
			return publish.Published{}, fmt.Errorf("layer %q: %w", layer.Name, err)
		}
		layer.Digest, layer.Files = stored.Digest, nil
		plan.Desired.Layers = append(plan.Desired.Layers, layer)
	}
	whole, err := put(r.Files)
	if err != nil {
		return publish.Published{}, err
	}
	plan.Desired.Digest, plan.Desired.Revision = whole.Digest, plan.Origins[whole.Digest].Revision
	if err := s.storage.PutPlan(s.owner, plan); err != nil {
		return publish.Published{}, err
	}
	s.plan = plan
	location, err := s.announce(ctx, whole)
	plan.Desired.Revision = r.Revision
	return publish.Published{Desired: plan.Desired, Tree: whole.Tree, Location: location, Changed: changed}, err
}

// origin is where an artifact was published from first: what the plans that are
// there say, and otherwise now.
func (s *Store) origin(digest string, now Origin) Origin {
	if len(s.plan.Origins) == 0 {
		s.current()
	}
	if first, ok := s.plan.Origins[digest]; ok {
		return first
	}
	return now
}

// current reads the plan of what is delivered by the status. Where it is gone,
// origins are not known, which costs no more than the words about them.
func (s *Store) current() {
	if a := s.transform.Status.Artifact; a != nil {
		if plan, err := s.storage.Plan(s.owner, a.Digest); err == nil {
			s.plan = plan
		}
	}
}

// announce has the ExternalArtifact of the whole lead to an artifact, and gives its URL.
func (s *Store) announce(ctx context.Context, whole Stored) (string, error) {
	object, err := s.storage.external(s.transform, "", whole, s.origin(whole.Digest, Origin{}))
	if err != nil {
		return "", err
	}
	return object.Status.Artifact.URL, Announce(ctx, s.client, object)
}

// Point has the ExternalArtifact of the whole lead to an earlier artifact, as a
// rollback needs it.
func (s *Store) Point(ctx context.Context, digest string) error {
	stored, err := s.storage.Stat(s.owner, digest)
	if err != nil {
		return err
	}
	_, err = s.announce(ctx, stored)
	return err
}

// Pack is what Release would store. Digests are exactly those.
func (s *Store) Pack(_ context.Context, r publish.Render) (publish.Published, error) {
	var out publish.Published
	for _, layer := range r.Layers {
		packed, err := s.storage.pack(layer.Files)
		if err != nil {
			return publish.Published{}, fmt.Errorf("layer %q: %w", layer.Name, err)
		}
		layer.Digest, layer.Files = packed.Layer.Digest.String(), nil
		out.Desired.Layers = append(out.Desired.Layers, layer)
	}
	whole, err := s.storage.pack(r.Files)
	if err != nil {
		return publish.Published{}, err
	}
	out.Desired.Digest, out.Desired.Revision, out.Tree = whole.Layer.Digest.String(), r.Revision, whole.Tree
	name, err := file(s.owner, out.Desired.Digest, archiveSuffix)
	out.Location = s.storage.url + "/" + name
	return out, err
}

// Desired is what was stored with a whole. It is gone where an artifact of it is:
// the storage may have been on a disk that was lost.
func (s *Store) Desired(_ context.Context, digest string) (delivery.Desired, error) {
	plan, err := s.storage.Plan(s.owner, digest)
	if err != nil {
		return delivery.Desired{}, err
	}
	for _, needed := range plan.digests() {
		if _, err := s.storage.Stat(s.owner, needed); err != nil {
			return delivery.Desired{}, err
		}
	}
	s.plan = plan
	return plan.Desired, nil
}

// Publish stores what a hand-over needs between two renders.
func (s *Store) Publish(_ context.Context, _ string, files []emit.File) (string, error) {
	stored, err := s.storage.Put(s.owner, files)
	return stored.Digest, err
}

// Files are those of an artifact.
func (s *Store) Files(ctx context.Context, _, digest string) ([]emit.File, error) {
	return s.storage.Files(ctx, s.owner, digest)
}

// Source is the ExternalArtifact of a layer, with the status by which it leads to
// an artifact that is stored.
func (s *Store) Source(t *v1alpha1.Transform, layer, digest string) (client.Object, string, error) {
	stored, err := s.storage.Stat(s.owner, digest)
	if err != nil {
		return nil, "", err
	}
	object, err := s.storage.external(t, layer, stored, s.origin(digest, Origin{Revision: s.plan.Desired.Revision}))
	if err != nil {
		return nil, "", err
	}
	object.Labels = nil
	return object, object.Status.Artifact.Revision, nil
}

// Prune leaves everything: the Sweeper removes what neither a status nor an
// ExternalArtifact names.
func (s *Store) Prune(context.Context, []v1alpha1.Artifact, []v1alpha1.Artifact) (string, error) {
	return "", nil
}

// Remove deletes the ExternalArtifact of the whole. The files go when nothing in the
// cluster leads to them for longer than the TTL.
func (s *Store) Remove(ctx context.Context) error {
	whole := Event(s.transform)
	live, err := foreign(ctx, s.client, whole)
	if err != nil || live == nil {
		return ignore(err, ErrForeign)
	}
	return client.IgnoreNotFound(s.client.Delete(ctx, live, client.Preconditions{UID: &live.UID}))
}

// needed are the complete artifacts that a Transform may still deliver.
func needed(t *v1alpha1.Transform) []string {
	var out []string
	for _, a := range t.Status.History {
		out = append(out, a.Digest)
	}
	for _, a := range []*v1alpha1.Artifact{t.Status.Artifact, t.Status.Rendered} {
		if a != nil {
			out = append(out, a.Digest)
		}
	}
	if t.Spec.Rollback != nil {
		out = append(out, t.Spec.Rollback.Digest)
	}
	return out
}
