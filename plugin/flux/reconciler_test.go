// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/renders"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
)

// A process that has just started knows of no claims, and looks at what was published.
func TestAStoreThatCannotBeOpenedIsSaidOfWhatWasPublished(t *testing.T) {
	of := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", Generation: 1}}
	of.Spec.CueRef = &v1alpha1.CueReference{}
	of.Status.Artifact = &v1alpha1.Artifact{Digest: "sha256:1"}
	b := newBench(t, inprocess.New(inprocess.Options{}), of)
	b.claims = delivery.NewClaims(delivery.ClaimOptions{})
	require.Contains(t, b.reconcile(t, "web"), "the controller has no storage for ExternalArtifacts")
}

func TestWhatATransformWantsIsSettledUnlessOthersHoldItBack(t *testing.T) {
	name := types.NamespacedName{Namespace: "shop", Name: "web"}
	for about, c := range map[string]struct {
		out   outcome
		known bool
	}{
		"it was delivered before":   {outcome{found: resolved{access: access{store: &shelf{}}}}, true},
		"it cannot be rendered":     {outcome{found: resolved{access: access{store: &shelf{}}}, err: block(stalled, "Invalid", "x")}, true},
		"it waits for a slot":       {outcome{err: renders.ErrNoSlot}, false},
		"it waits for another one":  {outcome{err: block(waiting, v1alpha1.DependencyNotReadyReason, "x")}, false},
		"the Transform is gone":     {outcome{gone: true, err: errors.New("x")}, false},
		"it has no store":           {outcome{err: block(stalled, v1alpha1.FeatureDisabledReason, "x")}, false},
		"the store does not answer": {outcome{found: resolved{access: access{store: &shelf{err: errors.New("x")}}}}, false},
	} {
		t.Run(about, func(t *testing.T) {
			of := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: "1"}}
			of.Status.Artifact = &v1alpha1.Artifact{Digest: "sha256:1"}
			b := newBench(t, inprocess.New(inprocess.Options{}), of)
			b.claims = delivery.NewClaims(delivery.ClaimOptions{})
			c.out.found.as = b.Client
			b.newPipeline().claim(t.Context(), of, b.claims.Begin(name), c.out)
			require.Equal(t, c.known, b.claims.Known(name))
		})
	}
}
