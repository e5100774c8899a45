// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
)

// shelf is a store of plans that counts how often it is read.
type shelf struct {
	publish.Store
	err   error
	reads int
}

// Desired returns a plan of a digest.
func (s *shelf) Desired(_ context.Context, digest string) (delivery.Desired, error) {
	s.reads++
	return delivery.Desired{Digest: digest}, s.err
}

func TestAPlanIsReadFromTheStoreOnce(t *testing.T) {
	kept, store, of := newPlans(1<<20), &shelf{}, &v1alpha1.Transform{}
	of.UID = "1"
	for range 2 {
		want, err := kept.find(t.Context(), of, store, "sha256:1")
		require.NoError(t, err)
		require.Equal(t, "sha256:1", want.Digest)
	}
	require.Equal(t, 1, store.reads)
	kept.forget(of, "sha256:1")
	store.err = errors.New("no")
	for range 2 {
		_, err := kept.find(t.Context(), of, store, "sha256:1")
		require.ErrorIs(t, err, store.err)
	}
	require.Equal(t, 3, store.reads, "what failed is read again")

	// What no engine delivers has no plan.
	of.Spec.Delivery = &v1alpha1.Delivery{Type: v1alpha1.EngineNone}
	of.Spec.Output = &v1alpha1.Output{OCI: &v1alpha1.OCIOutput{}}
	want, err := kept.find(t.Context(), of, nil, "sha256:2")
	require.NoError(t, err)
	require.Equal(t, delivery.Desired{Digest: "sha256:2"}, want)
}

func TestOnlyADeliveryThatIsNotDoneGoesOnDespiteAMistake(t *testing.T) {
	published := func(change func(*v1alpha1.Transform)) *v1alpha1.Transform {
		of := &v1alpha1.Transform{}
		of.Status.Artifact = &v1alpha1.Artifact{Digest: "sha256:1"}
		of.Status.Layers = []v1alpha1.LayerStatus{{State: v1alpha1.LayerReady}, {State: v1alpha1.LayerRetiring}}
		change(of)
		return of
	}
	for name, c := range map[string]struct {
		of    *v1alpha1.Transform
		store publish.Store
		want  bool
	}{
		"a layer retires":            {published(func(*v1alpha1.Transform) {}), &shelf{}, true},
		"no layer was delivered":     {published(func(of *v1alpha1.Transform) { of.Status.Layers = nil }), &shelf{}, true},
		"all layers are Ready":       {published(func(of *v1alpha1.Transform) { of.Status.Layers = of.Status.Layers[:1] }), &shelf{}, false},
		"nothing was published":      {published(func(of *v1alpha1.Transform) { of.Status.Artifact = nil }), &shelf{}, false},
		"a rollback names another":   {published(func(of *v1alpha1.Transform) { of.Spec.Rollback = &v1alpha1.Rollback{} }), &shelf{}, false},
		"the store cannot be opened": {published(func(*v1alpha1.Transform) {}), nil, false},
		"the store does not have it": {published(func(*v1alpha1.Transform) {}), &shelf{err: delivery.ErrGone}, false},
	} {
		t.Run(name, func(t *testing.T) {
			want, ok := newPlans(1<<20).findUnfinished(t.Context(), c.of, c.store)
			require.Equal(t, c.want, ok)
			if ok {
				require.Equal(t, "sha256:1", want.Digest)
			}
		})
	}
}
