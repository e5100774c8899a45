// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// onWorkdays returns a Transform that was delivered before it got a window.
func onWorkdays() *v1alpha1.Transform {
	t := &v1alpha1.Transform{}
	t.Spec.Delivery = &v1alpha1.Delivery{Windows: []v1alpha1.Window{allow("0 9 * * 1-5", 8*time.Hour, "")}}
	t.Status.Artifact = &v1alpha1.Artifact{Digest: "sha256:one"}
	return t
}

// admit requires that a digest may be delivered, or waits, and returns the message.
func admit(t *testing.T, of *v1alpha1.Transform, digest string, now time.Time, want string) Admission {
	t.Helper()
	got, err := Admit(of, digest, now)
	require.NoError(t, err)
	require.Equal(t, want, got.Digest)
	require.Equal(t, want != digest, got.Waiting != "")
	return got
}

func TestARevisionWaitsForItsWindow(t *testing.T) {
	of := onWorkdays()
	Begin(of)
	of.Status.Artifact.Digest = "sha256:two" // It is published, outside of the window.
	got := admit(t, of, "sha256:two", at("7 12:00"), "sha256:one")
	require.Contains(t, got.Waiting, "waits for a window of spec.delivery.windows since 2026-11-07T12:00:00Z until 2026-11-09T09:00:00Z")
	require.Equal(t, "sha256:two", of.Status.Window.Waiting)

	// Another one takes its place, and they wait since the first one.
	got = admit(t, of, "sha256:three", at("8 12:00"), "sha256:one")
	require.Contains(t, got.Waiting, "since 2026-11-07T12:00:00Z until 2026-11-09T09:00:00Z")

	// What has begun in the window goes on after it.
	admit(t, of, "sha256:three", at("9 09:00"), "sha256:three")
	require.Equal(t, &v1alpha1.WindowStatus{Admitted: "sha256:three"}, of.Status.Window)
	admit(t, of, "sha256:three", at("9 18:00"), "sha256:three")
	admit(t, of, "sha256:four", at("9 18:00"), "sha256:three")

	// Without windows nothing is held back or remembered.
	of.Spec.Delivery.Windows = nil
	admit(t, of, "sha256:four", at("9 18:00"), "sha256:four")
	require.Nil(t, of.Status.Window)
}

func TestAFirstRevisionWaitsToo(t *testing.T) {
	of := onWorkdays()
	of.Status.Artifact = nil
	Begin(of)
	of.Status.Artifact = &v1alpha1.Artifact{Digest: "sha256:one"}
	admit(t, of, "sha256:one", at("7 12:00"), "")
}

func TestAnOverrideLetsOneRevisionThrough(t *testing.T) {
	of := onWorkdays()
	Begin(of)
	of.Annotations = map[string]string{v1alpha1.AnnotationOverrideWindow: "the shop is down"}
	require.Equal(t, "the shop is down", admit(t, of, "sha256:two", at("7 12:00"), "sha256:two").Overridden)
	require.Empty(t, admit(t, of, "sha256:two", at("7 12:01"), "sha256:two").Overridden, "it is told once")
	admit(t, of, "sha256:three", at("7 13:00"), "sha256:two")

	// Another reason lets the next one through, and so does the same one after it was removed.
	of.Annotations[v1alpha1.AnnotationOverrideWindow] = "still down"
	require.Equal(t, "still down", admit(t, of, "sha256:three", at("7 14:00"), "sha256:three").Overridden)
	delete(of.Annotations, v1alpha1.AnnotationOverrideWindow)
	admit(t, of, "sha256:four", at("7 15:00"), "sha256:three")
	of.Annotations[v1alpha1.AnnotationOverrideWindow] = "still down"
	admit(t, of, "sha256:four", at("7 16:00"), "sha256:four")

	// One that was written while nothing waited does not open the next freeze.
	of = onWorkdays()
	Begin(of)
	of.Annotations = map[string]string{v1alpha1.AnnotationOverrideWindow: "just in case"}
	require.Empty(t, admit(t, of, "sha256:two", at("2 12:00"), "sha256:two").Overridden)
	admit(t, of, "sha256:three", at("7 12:00"), "sha256:two")
}

func TestARollbackIsNotHeldBack(t *testing.T) {
	of := onWorkdays()
	Begin(of)
	of.Spec.Rollback = &v1alpha1.Rollback{Digest: "sha256:zero"}
	admit(t, of, "sha256:zero", at("7 12:00"), "sha256:zero")
	of.Spec.Rollback = nil
	admit(t, of, "sha256:one", at("7 12:00"), "sha256:zero")
}

// An artifact that goes back by itself repairs what was delivered too.
func TestARollbackByItselfIsNotHeldBack(t *testing.T) {
	of := onWorkdays()
	Begin(of)
	of.Status.Rollout = &v1alpha1.RolloutStatus{Failed: "sha256:one"}
	admit(t, of, "sha256:zero", at("7 12:00"), "sha256:zero")
	of.Status.Rollout.Failed = ""
	admit(t, of, "sha256:two", at("7 12:00"), "sha256:zero")
}
