// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"strings"

	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
)

// GateAdvice is the advice for a message that GateMessage recognises.
const GateAdvice = "start kustomize-controller with --feature-gates=" + runtimectrl.FeatureGateExternalArtifact +
	"=true, which is off by default, or set spec.output.oci"

// GateMessage reports whether a message of kustomize-controller (v1.9.5, getSource) says
// that it does not take ExternalArtifacts because the feature gate is off.
func GateMessage(message string) bool {
	return strings.Contains(message, runtimectrl.FeatureGateExternalArtifact+" feature gate")
}
