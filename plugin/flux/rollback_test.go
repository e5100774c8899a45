// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"errors"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
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
