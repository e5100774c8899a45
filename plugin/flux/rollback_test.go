// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
)

func TestAPreviewThatFailedIsInOneConditionAndAnEventOnce(t *testing.T) {
	of := &v1alpha1.Transform{}
	of.Spec.Rollback = &v1alpha1.Rollback{Digest: "sha256:1"}
	of.Status.Rendered = &v1alpha1.Artifact{}
	setEngineConditions(of, delivery.Progress{Ready: true})
	setPinned(of, "")

	// What may pass by itself leaves what is known of the last render.
	away := atRequest.at(errors.New("no answer"))
	require.Equal(t, &notice{kind: typeWarning, reason: v1alpha1.FetchFailedReason, text: "no answer", refused: true}, setPreviewFailed(of, away))
	require.NotNil(t, of.Status.Rendered)
	require.Nil(t, setPreviewFailed(of, away), "it is no news")

	wrong := block(stalled, v1alpha1.InvalidReason, "no such field")
	require.Equal(t, v1alpha1.InvalidReason, setPreviewFailed(of, wrong).reason)
	require.Nil(t, of.Status.Rendered)
	require.Equal(t, "spec.rollback pins sha256:1; the present spec cannot be rendered: no such field", conditions.GetMessage(of, v1alpha1.RenderedCondition))
	require.Equal(t, v1alpha1.RolledBackReason, conditions.GetReason(of, v1alpha1.RenderedCondition))
	require.True(t, conditions.IsTrue(of, meta.ReadyCondition), "the delivery is what it was")
}

func TestAPreviewWaitsForTheDelivery(t *testing.T) {
	of := &v1alpha1.Transform{}
	for name, c := range map[string]struct {
		rollback *v1alpha1.Rollback
		progress delivery.Progress
	}{
		"there is no rollback": {nil, delivery.Progress{Ready: true}},
		"a layer is applied":   {&v1alpha1.Rollback{Digest: "sha256:1"}, delivery.Progress{}},
	} {
		t.Run(name, func(t *testing.T) {
			of.Spec.Rollback = c.rollback
			// A previewer without stages fails where it renders.
			failed, err := previewer{}.preview(t.Context(), &subject{transform: of}, access{}, c.progress)
			require.NoError(t, failed)
			require.NoError(t, err)
			require.Empty(t, of.Status.Conditions)
		})
	}
}

func TestWhatIsNotReadyInTimeGivesWayToTheLastThatWas(t *testing.T) {
	// The status is that of a delivery which began an hour ago.
	now := time.Now()
	of := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", Generation: 1}}
	of.Spec.Delivery = &v1alpha1.Delivery{Type: v1alpha1.EngineNone, RollbackAfter: &metav1.Duration{Duration: time.Minute}}
	of.Status.Artifact = &v1alpha1.Artifact{Digest: "sha256:bad", Checksum: "key"}
	of.Status.History = []v1alpha1.Artifact{{Digest: "sha256:bad"}, {Digest: "sha256:good"}}
	of.Status.Rollout = &v1alpha1.RolloutStatus{Digest: "sha256:bad", Ready: "sha256:good", Generation: 1, Since: metav1.NewTime(now.Add(-time.Hour))}
	b := newBench(t, inprocess.New(inprocess.Options{}), of)
	s := begin(b.Client, of, now)

	// Another store is asked to lead to the artifact.
	p := b.newPipeline()
	store := &pointed{}
	progress, err := p.keeper.keep(t.Context(), s, access{as: b.Client, store: store}, &delivery.Progress{Failed: true, Message: "layer-00: a pod crashes"})
	require.NoError(t, err)
	require.True(t, progress.Ready, "the engine delivered the other artifact")
	require.Equal(t, []string{"sha256:good"}, store.digests)
	require.Equal(t, "sha256:good", of.Status.Artifact.Digest)
	text := "sha256:bad was not Ready within 1m0s (layer-00: a pod crashes): sha256:good is delivered until the spec or what it renders changes"
	require.Equal(t, "Warning RolledBack "+text, strings.SplitN(<-b.events.Events, " map[", 2)[0])

	// It is no success, and says what to do.
	setEngineConditions(of, *progress)
	for _, condition := range []string{meta.ReadyCondition, v1alpha1.RenderedCondition} {
		require.True(t, conditions.IsFalse(of, condition))
		require.Equal(t, v1alpha1.RolledBackReason, conditions.GetReason(of, condition))
		require.Equal(t, text, conditions.GetMessage(of, condition))
	}
	require.True(t, conditions.IsStalled(of))
	require.True(t, conditions.IsTrue(of, v1alpha1.RolledBackCondition))

	// Nothing of the history goes while an older artifact is delivered.
	of.Spec.History = new(int32(1))
	p.deliverer.prune(t.Context(), of, access{store: store}, progress)
	require.Len(t, of.Status.History, 2)

	// It stays so.
	again, err := p.keeper.keep(t.Context(), s, access{as: b.Client, store: store}, &delivery.Progress{Failed: true})
	require.NoError(t, err)
	require.False(t, again.Ready)
	require.Len(t, store.digests, 1)
}

// pointed is a store that records which artifacts its name led to.
type pointed struct {
	shelf
	digests []string
}

// Point records a digest.
func (p *pointed) Point(_ context.Context, digest string) error {
	p.digests = append(p.digests, digest)
	return nil
}
