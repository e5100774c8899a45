// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AnnotationOverrideWindow lets the revision that waits for a window through. Its value is the
// reason, and each value counts once.
const AnnotationOverrideWindow = "ropewalk.dev/override-window"

// Kinds of windows.
const (
	WindowAllow = "Allow"
	WindowDeny  = "Deny"
)

// Window is a time in which revisions may be delivered, or may not.
type Window struct {
	// Kind is Allow or Deny.
	// +required
	// +kubebuilder:validation:Enum=Allow;Deny
	Kind string `json:"kind"`
	// Schedule is when it opens: five fields of cron, for minute, hour, day, month and weekday.
	// +required
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=128
	Schedule string `json:"schedule"`
	// Duration is how long it stays open, from 1m to 8784h.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	Duration metav1.Duration `json:"duration"`
	// TimeZone is that of the schedule, such as Europe/Berlin; UTC where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
}

// WindowStatus is what the windows let through.
type WindowStatus struct {
	// Admitted is the digest of the artifact that may be delivered.
	// +optional
	Admitted string `json:"admitted,omitempty"`
	// Waiting is the digest of the artifact that waits for a window.
	// +optional
	Waiting string `json:"waiting,omitempty"`
	// Since is when the first of the revisions came that were held back.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Until is when the next window opens.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
	// Override is the last value of the annotation ropewalk.dev/override-window.
	// +optional
	Override string `json:"override,omitempty"`
}
