// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"strings"

	"github.com/fluxcd/pkg/apis/acl"
	"github.com/fluxcd/pkg/apis/meta"
	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GateAdvice is what to do where GateOff.
const GateAdvice = "start kustomize-controller with --feature-gates=" + runtimectrl.FeatureGateExternalArtifact +
	"=true, which is off by default, or give output.oci"

// GateOff reports whether the conditions of a Kustomization say that its controller
// does not take ExternalArtifacts: it is Stalled, access denied, and names the
// feature gate (kustomize-controller v1.9.5, getSource). The same reason stands
// for a reference across namespaces, so the message is read too.
func GateOff(conditions []metav1.Condition) bool {
	for _, kind := range []string{meta.StalledCondition, meta.ReadyCondition} {
		c := apimeta.FindStatusCondition(conditions, kind)
		if c != nil && c.Reason == acl.AccessDeniedReason && GateMessage(c.Message) {
			return true
		}
	}
	return false
}

// GateMessage reports whether a message of Flux says that the gate is off.
func GateMessage(message string) bool {
	return strings.Contains(message, runtimectrl.FeatureGateExternalArtifact+" feature gate")
}
