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

// Store is the part of the storage that belongs to one Transform, for one reconciliation.
type Store struct {
	storage   *Storage
	client    client.Client
	transform *v1alpha1.Transform
	owner     types.NamespacedName

	// plan is the plan of the complete artifact that is being delivered, once it is known.
	plan Plan
}

var _ publish.Store = (*Store)(nil)

// For returns the storage for a Transform. The client reads and writes its ExternalArtifacts, with
// their status.
func (s *Storage) For(c client.Client, t *v1alpha1.Transform) *Store {
	return &Store{
		storage: s, client: c, transform: t,
		owner: types.NamespacedName{Namespace: t.Namespace, Name: t.Name},
	}
}

// Release stores a render, and then makes the ExternalArtifact of the complete artifact lead to it.
// The engine writes the ExternalArtifacts of the layers, one after the other.
func (s *Store) Release(ctx context.Context, r publish.Render) (publish.Published, error) {
	// An object of another owner must not be changed.
	if _, err := readOwn(ctx, s.client, Event(s.transform)); err != nil {
		return publish.Published{}, err
	}

	// Each artifact keeps the origin that it was published from first.
	changed := false
	plan := Plan{Origins: map[string]Origin{}}
	put := func(files []emit.File) (Stored, error) {
		stored, err := s.storage.Put(s.owner, files)
		plan.Origins[stored.Digest] = s.origin(stored.Digest, Origin{Source: r.Source, Revision: r.Revision})
		changed = changed || stored.New
		return stored, err
	}

	// The layers are stored first, then the complete artifact.
	for _, layer := range r.Layers {
		stored, err := put(layer.Files)
		if err != nil {
			return publish.Published{}, fmt.Errorf("layer %q: %w", layer.Name, err)
		}
		layer.Digest = stored.Digest
		layer.Files = nil
		plan.Desired.Layers = append(plan.Desired.Layers, layer)
	}
	whole, err := put(r.Files)
	if err != nil {
		return publish.Published{}, err
	}
	plan.Desired.Digest = whole.Digest
	plan.Desired.Revision = plan.Origins[whole.Digest].Revision

	// The plan has to exist before an object leads to the artifact.
	if err := s.storage.PutPlan(s.owner, plan); err != nil {
		return publish.Published{}, err
	}
	s.plan = plan
	location, err := s.announce(ctx, whole)
	plan.Desired.Revision = r.Revision
	return publish.Published{Desired: plan.Desired, Tree: whole.Tree, Location: location, Changed: changed}, err
}

// origin returns the first origin of an artifact, as the plans have it, or else now.
func (s *Store) origin(digest string, now Origin) Origin {
	if len(s.plan.Origins) == 0 {
		s.readPlan()
	}
	if first, ok := s.plan.Origins[digest]; ok {
		return first
	}
	return now
}

// readPlan reads the plan of the artifact in the status. If it is gone, origins are not known, and
// are left out.
func (s *Store) readPlan() {
	if a := s.transform.Status.Artifact; a != nil {
		if plan, err := s.storage.Plan(s.owner, a.Digest); err == nil {
			s.plan = plan
		}
	}
}

// announce makes the ExternalArtifact of the complete artifact lead to an artifact, and returns
// its URL.
func (s *Store) announce(ctx context.Context, whole Stored) (string, error) {
	object, err := s.storage.external(s.transform, "", whole, s.origin(whole.Digest, Origin{}))
	if err != nil {
		return "", err
	}
	return object.Status.Artifact.URL, Announce(ctx, s.client, object)
}

// Point makes the ExternalArtifact of the complete artifact lead to an earlier artifact, as a
// rollback needs it.
func (s *Store) Point(ctx context.Context, digest string) error {
	stored, err := s.storage.Stat(s.owner, digest)
	if err != nil {
		return err
	}
	_, err = s.announce(ctx, stored)
	return err
}

// Pack returns what Release would store, with the same digests.
func (s *Store) Pack(_ context.Context, r publish.Render) (publish.Published, error) {
	var out publish.Published
	for _, layer := range r.Layers {
		packed, err := s.storage.pack(layer.Files)
		if err != nil {
			return publish.Published{}, fmt.Errorf("layer %q: %w", layer.Name, err)
		}
		layer.Digest = packed.Layer.Digest.String()
		layer.Files = nil
		out.Desired.Layers = append(out.Desired.Layers, layer)
	}
	whole, err := s.storage.pack(r.Files)
	if err != nil {
		return publish.Published{}, err
	}
	out.Desired.Digest = whole.Layer.Digest.String()
	out.Desired.Revision = r.Revision
	out.Tree = whole.Tree
	name, err := file(s.owner, out.Desired.Digest, archiveSuffix)
	out.Location = s.storage.url + "/" + name
	return out, err
}

// Desired returns the plan that was stored with a complete artifact. The error is delivery.ErrGone
// if an artifact of the plan is gone: the storage may have been on a disk that was lost.
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

// Publish stores an artifact that a hand-over needs between two renders.
func (s *Store) Publish(_ context.Context, _ string, files []emit.File) (string, error) {
	stored, err := s.storage.Put(s.owner, files)
	return stored.Digest, err
}

// Files returns the files of an artifact.
func (s *Store) Files(ctx context.Context, _, digest string) ([]emit.File, error) {
	return s.storage.Files(ctx, s.owner, digest)
}

// Source returns the ExternalArtifact of a layer, with the status by which it leads to an artifact
// that is stored.
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

// Prune deletes nothing: the Sweeper removes what neither a status nor an ExternalArtifact names.
func (s *Store) Prune(context.Context, []v1alpha1.Artifact, []v1alpha1.Artifact) (string, error) {
	return "", nil
}

// Remove deletes the ExternalArtifact of the complete artifact. The files go when nothing in the
// cluster has led to them for longer than the TTL.
func (s *Store) Remove(ctx context.Context) error {
	whole := Event(s.transform)
	live, err := readOwn(ctx, s.client, whole)
	if err != nil || live == nil {
		return ignore(err, ErrForeign)
	}
	return client.IgnoreNotFound(s.client.Delete(ctx, live, client.Preconditions{UID: &live.UID}))
}

// needed returns the complete artifacts that a Transform may still deliver.
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
