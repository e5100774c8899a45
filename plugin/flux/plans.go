// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/internal/lru"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
)

// plans keep the plans of deliveries in memory, by planKey, so that a step of a delivery reads no
// store.
type plans struct {
	kept *lru.Cache[string, delivery.Desired]
}

// newPlans returns plans that take this many bytes, about.
func newPlans(bytes int64) plans { return plans{lru.New[string, delivery.Desired](bytes)} }

// planKey returns the key of a plan.
func planKey(uid types.UID, digest string) string { return string(uid) + "@" + digest }

// find returns the plan of a complete artifact that was published.
func (p plans) find(ctx context.Context, t *v1alpha1.Transform, store publish.Store, digest string) (delivery.Desired, error) {
	if pushesOnly(t) {
		return delivery.Desired{Digest: digest}, nil // It is not delivered, and nothing here serves it.
	}
	if want, ok := p.kept.Get(planKey(t.UID, digest)); ok {
		return want, nil
	}
	want, err := store.Desired(ctx, digest)
	if err == nil {
		p.keep(t, want)
	}
	return want, err
}

// findUnfinished returns the plan of the artifact that was published last, and false if it is
// delivered already. The store is nil where it could not be opened.
func (p plans) findUnfinished(ctx context.Context, t *v1alpha1.Transform, store publish.Store) (delivery.Desired, bool) {
	if t.Status.Artifact == nil || store == nil || t.Spec.Rollback != nil {
		return delivery.Desired{}, false
	}
	done := !slices.ContainsFunc(t.Status.Layers, func(l v1alpha1.LayerStatus) bool { return l.State != v1alpha1.LayerReady })
	if done && len(t.Status.Layers) > 0 {
		return delivery.Desired{}, false
	}
	want, err := p.find(ctx, t, store, t.Status.Artifact.Digest)
	return want, err == nil
}

// keep keeps a plan in memory.
func (p plans) keep(t *v1alpha1.Transform, d delivery.Desired) {
	const perObject = 512 // bytes, about
	cost := int64(perObject)
	for _, layer := range d.Layers {
		cost += perObject * int64(1+len(layer.Objects))
	}
	p.kept.Put(planKey(t.UID, d.Digest), d, cost)
}

// forget removes the plan of an artifact that is lost.
func (p plans) forget(t *v1alpha1.Transform, digest string) { p.kept.Delete(planKey(t.UID, digest)) }
