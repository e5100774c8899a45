// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollout decides when an artifact that is not Ready in time gives way to the artifact that
// was Ready last: spec.delivery.rollbackAfter of a Transform.
//
// It decides by the status alone, so that a process which is killed loses nothing. A digest that was
// Ready once is never gone back from, so that a rollback happens once and does not alternate. It
// ends when the generation of the spec changes, or its render.
package rollout

import (
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ropewalk/ropewalk/internal/printable"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// Failed returns the digest that was not Ready in time, so that an earlier digest is delivered in
// its place, or "" if there is no rollback.
func Failed(t *v1alpha1.Transform) string {
	if t.Status.Rollout == nil {
		return ""
	}
	return t.Status.Rollout.Failed
}

// Begin ends a rollback of an earlier generation of the spec.
func Begin(t *v1alpha1.Transform) {
	if r := t.Status.Rollout; r != nil && r.Generation != t.Generation {
		End(t)
	}
}

// End ends a rollback: the render of the spec is delivered again.
func End(t *v1alpha1.Transform) {
	if t.Status.Rollout != nil {
		t.Status.Rollout.Failed = ""
	}
	conditions.Delete(t, v1alpha1.RolledBackCondition)
}

// Observe records the state of the delivery of status.artifact. It returns the digest to go back to,
// or "" while nothing is to be done. The argument before is the Transform with which the
// reconciliation began. The argument refused says that nothing was applied, because a user has to
// change something first: such a delivery is not begun.
func Observe(t, before *v1alpha1.Transform, ready, refused bool, now time.Time) string {
	after := limit(t)
	if after == 0 || t.Status.Artifact == nil {
		t.Status.Rollout = nil
		return ""
	}

	// An artifact that is Ready when the field is set can be gone back to.
	r := t.Status.Rollout
	if r == nil {
		r = &v1alpha1.RolloutStatus{}
		if before.Status.Artifact != nil && conditions.IsTrue(before, meta.ReadyCondition) {
			r.Ready = before.Status.Artifact.Digest
		}
		t.Status.Rollout = r
	}

	// The time begins anew with another digest, and with another spec.
	digest := t.Status.Artifact.Digest
	if refused {
		r.Digest = ""
		return ""
	}
	if r.Digest != digest || r.Generation != t.Generation {
		r.Digest = digest
		r.Generation = t.Generation
		r.Since = metav1.NewTime(now.UTC().Truncate(time.Second))
	}
	if ready {
		r.Ready = digest
	}
	if !isPending(t) || now.Before(r.Since.Add(after)) {
		return ""
	}
	return r.Ready
}

// Wait returns the time until a delivery is to be looked at again, or 0 if there is no such time.
func Wait(t *v1alpha1.Transform, now time.Time) time.Duration {
	if limit(t) == 0 || !isPending(t) {
		return 0
	}
	return max(time.Second, t.Status.Rollout.Since.Add(limit(t)).Sub(now))
}

// limit returns the time in which an artifact has to be Ready, or 0 if there is no limit.
func limit(t *v1alpha1.Transform) time.Duration {
	if d := t.Spec.Delivery; d != nil && d.RollbackAfter != nil {
		return d.RollbackAfter.Duration
	}
	return 0
}

// isPending reports whether an artifact has not been Ready yet, and another one was. A rollback
// that the user asks for is not undone.
func isPending(t *v1alpha1.Transform) bool {
	r := t.Status.Rollout
	if r == nil || t.Spec.Rollback != nil {
		return false
	}
	return r.Failed == "" && r.Digest != "" && r.Ready != "" && r.Ready != r.Digest
}

// GoBack puts into the status that the artifact of a digest is delivered in place of the present
// artifact, and why. It returns an error if the history does not have it any more.
func GoBack(t *v1alpha1.Transform, digest, why string) error {
	i := slices.IndexFunc(t.Status.History, func(a v1alpha1.Artifact) bool { return a.Digest == digest })
	if i < 0 {
		return fmt.Errorf("spec.delivery.rollbackAfter: %s, which was Ready last, is not in status.history any more: raise spec.history", digest)
	}
	failed := t.Status.Artifact
	t.Status.Rollout.Failed = failed.Digest
	t.Status.Rendered = failed
	t.Status.Artifact = t.Status.History[i].DeepCopy()
	t.Status.Artifact.Checksum = "" // Without it, the spec is rendered and published when the rollback ends.
	conditions.MarkTrue(t, v1alpha1.RolledBackCondition, v1alpha1.RolledBackReason,
		"%s was not Ready within %s (%s): %s is delivered until the spec or what it renders changes",
		printable.Revision(failed.Digest), limit(t), why, printable.Revision(digest))
	return nil
}
