// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ropewalk/ropewalk/internal/printable"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// Admission is the artifact that may be delivered now.
type Admission struct {
	// Digest is the digest of the artifact, "" if nothing may be delivered.
	Digest string
	// Waiting is a message about an artifact that waits for a window, or "".
	Waiting string
	// Overridden is the reason by which a revision was let through outside of its windows.
	Overridden string
}

// Begin prepares the status of a Transform before anything new is published. The artifact that was
// delivered when its first window was written stays admitted, and a Transform without windows has no
// status of them.
func Begin(t *v1alpha1.Transform) {
	switch {
	case t.Spec.Delivery == nil || len(t.Spec.Delivery.Windows) == 0:
		t.Status.Window = nil
	case t.Status.Window == nil:
		t.Status.Window = &v1alpha1.WindowStatus{}
		if t.Status.Artifact != nil {
			t.Status.Window.Admitted = t.Status.Artifact.Digest
		}
	}
}

// Admit decides whether the artifact of a digest may be delivered now, and shows that in the
// status. If it has to wait, the artifact that was admitted before goes on. A rollback is not held
// back: it repairs the delivery.
func Admit(t *v1alpha1.Transform, digest string, now time.Time) (Admission, error) {
	Begin(t)
	s := t.Status.Window
	if s == nil {
		return Admission{Digest: digest}, nil
	}
	windows, err := Parse(t.Spec.Delivery.Windows)
	if err != nil {
		return Admission{}, err
	}

	// A reason counts once, for the artifact that is wanted when it is seen first.
	reason := t.Annotations[v1alpha1.AnnotationOverrideWindow]
	overrides := reason != "" && reason != s.Override
	s.Override = reason

	// An artifact that is admitted already needs no open window.
	opens, foreseen := windows.Opens(now)
	open := foreseen && !opens.After(now)
	goesBack := t.Spec.Rollback != nil || t.Status.Rollout != nil && t.Status.Rollout.Failed != ""
	isAdmitted := digest == s.Admitted
	if open || overrides || isAdmitted || goesBack {
		out := Admission{Digest: digest}
		if overrides && !open && !isAdmitted {
			out.Overridden = reason
		}
		*s = v1alpha1.WindowStatus{Admitted: digest, Override: reason}
		return out, nil
	}

	// It waits since the first artifact that was not delivered.
	s.Waiting = digest
	s.Until = nil
	if s.Since == nil {
		s.Since = &metav1.Time{Time: now.UTC().Truncate(time.Second)}
	}
	until := ", and no window opens that can be foreseen"
	if foreseen {
		s.Until = &metav1.Time{Time: opens.UTC()}
		until = " until " + stamp(*s.Until)
	}
	message := fmt.Sprintf("%s is published, and waits for a window of spec.delivery.windows since %s%s: "+
		"the annotation %s with a reason lets it through",
		printable.Revision(digest), stamp(*s.Since), until, v1alpha1.AnnotationOverrideWindow)
	return Admission{Digest: s.Admitted, Waiting: message}, nil
}

// stamp returns a time as messages have it, in UTC.
func stamp(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }
