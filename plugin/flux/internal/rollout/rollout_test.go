// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// start is when the deliveries of these tests begin.
func start() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// delivering returns a Transform that goes back after ten minutes and delivers this digest.
func delivering(digest string) *v1alpha1.Transform {
	t := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	t.Spec.Delivery = &v1alpha1.Delivery{RollbackAfter: &metav1.Duration{Duration: 10 * time.Minute}}
	t.Status.Artifact = &v1alpha1.Artifact{Digest: digest, Checksum: "of-" + digest}
	t.Status.History = []v1alpha1.Artifact{{Digest: digest}, {Digest: "sha256:good", Revision: "main"}}
	return t
}

func TestAnArtifactThatIsNotReadyInTimeGivesWayOnce(t *testing.T) {
	of := delivering("sha256:bad")
	of.Status.Rollout = &v1alpha1.RolloutStatus{Digest: "sha256:good", Ready: "sha256:good", Generation: 1}
	require.Empty(t, Observe(of, of, false, false, start()))
	require.Equal(t, 10*time.Minute, Wait(of, start()))
	require.Empty(t, Observe(of, of, false, false, start().Add(9*time.Minute)))
	require.Equal(t, time.Minute, Wait(of, start().Add(9*time.Minute)))

	require.Equal(t, "sha256:good", Observe(of, of, false, false, start().Add(10*time.Minute)))
	require.NoError(t, GoBack(of, "sha256:good", "a layer fails"))
	require.Equal(t, "sha256:bad", Failed(of))
	require.Equal(t, &v1alpha1.Artifact{Digest: "sha256:bad", Checksum: "of-sha256:bad"}, of.Status.Rendered)
	require.Equal(t, &v1alpha1.Artifact{Digest: "sha256:good", Revision: "main"}, of.Status.Artifact)
	require.Equal(t, "sha256:bad was not Ready within 10m0s (a layer fails): sha256:good is delivered until the spec or what it renders changes",
		conditions.GetMessage(of, v1alpha1.RolledBackCondition))

	// The one before is not gone back from, whether it becomes Ready again or not.
	for _, ready := range []bool{false, true, false} {
		require.Empty(t, Observe(of, of, ready, false, start().Add(24*time.Hour)))
		require.Zero(t, Wait(of, start().Add(24*time.Hour)))
	}
	Begin(of)
	require.Equal(t, "sha256:bad", Failed(of), "the spec is the same")
	of.Generation++
	Begin(of)
	require.Empty(t, Failed(of))
	require.False(t, conditions.Has(of, v1alpha1.RolledBackCondition))

	// The new spec has all of its time, with the same artifact too.
	of.Status.Artifact = &v1alpha1.Artifact{Digest: "sha256:bad"}
	later := start().Add(48 * time.Hour)
	require.Empty(t, Observe(of, of, false, false, later))
	require.Equal(t, "sha256:good", Observe(of, of, false, false, later.Add(10*time.Minute)))
}

func TestNothingIsGoneBackFromWithoutAReason(t *testing.T) {
	for about, change := range map[string]func(*v1alpha1.Transform){
		"there is no limit":                  func(of *v1alpha1.Transform) { of.Spec.Delivery.RollbackAfter = nil },
		"there is no delivery":               func(of *v1alpha1.Transform) { of.Spec.Delivery = nil },
		"nothing was Ready before":           func(of *v1alpha1.Transform) { of.Status.Rollout.Ready = "" },
		"it was Ready, and is not any more":  func(of *v1alpha1.Transform) { of.Status.Rollout.Ready = "sha256:new" },
		"the user rolls back":                func(of *v1alpha1.Transform) { of.Spec.Rollback = &v1alpha1.Rollback{Digest: "sha256:new"} },
		"another one has just been released": func(of *v1alpha1.Transform) { of.Status.Artifact.Digest = "sha256:newer" },
		"the spec has just been changed":     func(of *v1alpha1.Transform) { of.Generation++ },
		"nothing is published":               func(of *v1alpha1.Transform) { of.Status.Artifact = nil },
	} {
		t.Run(about, func(t *testing.T) {
			of := delivering("sha256:new")
			of.Status.Rollout = &v1alpha1.RolloutStatus{Digest: "sha256:new", Ready: "sha256:good", Generation: 2, Since: metav1.NewTime(start())}
			later := start().Add(time.Hour)
			require.Equal(t, "sha256:good", Observe(of.DeepCopy(), of, false, false, later))
			change(of)
			require.Empty(t, Observe(of, of, false, false, later))
		})
	}
}

func TestTheTimeOfADeliveryThatIsRefusedHasNotBegun(t *testing.T) {
	of := delivering("sha256:new")
	of.Status.Rollout = &v1alpha1.RolloutStatus{Ready: "sha256:good"}
	for after := range 3 {
		require.Empty(t, Observe(of, of, false, true, start().Add(time.Duration(after)*time.Hour)))
		require.Zero(t, Wait(of, start()))
		require.True(t, of.Status.Rollout.Since.IsZero(), "the status stays as it is")
	}
	require.Empty(t, Observe(of, of, false, false, start()))
	require.Equal(t, start(), of.Status.Rollout.Since.UTC())
}

func TestWhatIsReadyWhenTheLimitIsSetCanBeGoneBackTo(t *testing.T) {
	before := delivering("sha256:good")
	conditions.MarkTrue(before, meta.ReadyCondition, v1alpha1.SucceededReason, "applied")
	of := delivering("sha256:new")
	require.Empty(t, Observe(of, before, false, false, start()))
	require.Equal(t, "sha256:good", of.Status.Rollout.Ready)

	conditions.MarkFalse(before, meta.ReadyCondition, v1alpha1.LayerNotReadyReason, "not applied")
	of.Status.Rollout = nil
	require.Empty(t, Observe(of, before, false, false, start()))
	require.Empty(t, of.Status.Rollout.Ready)
	require.Empty(t, Observe(of, before, true, false, start()))
	require.Equal(t, "sha256:new", of.Status.Rollout.Ready)
}

func TestWhatTheHistoryHasLostIsNotGoneBackTo(t *testing.T) {
	of := delivering("sha256:new")
	of.Status.Rollout = &v1alpha1.RolloutStatus{}
	require.ErrorContains(t, GoBack(of, "sha256:older", "x"), "sha256:older, which was Ready last, is not in status.history any more: raise spec.history")
	require.Equal(t, "sha256:new", of.Status.Artifact.Digest)
	require.Empty(t, Failed(of))
}
