// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

// The parts of the input that provisioners may change. All else follows from
// what the author wrote: a provisioner that could merge its own containers, names
// or secrets over it would take the workload away from its author, and lists
// would lose what is in them.
const (
	PartAnnotations     = "annotations"
	PartAutoscaling     = "autoscaling"
	PartDisruption      = "disruption"
	PartLabels          = "labels"
	PartPod             = "pod"
	PartPodAnnotations  = "podAnnotations"
	PartReplicas        = "replicas"
	PartSecurityContext = "securityContext"
	PartServiceAccount  = "serviceAccount"
)

// PatchParts returns the names of the parts, sorted.
func PatchParts() []string {
	return []string{
		PartAnnotations, PartAutoscaling, PartDisruption, PartLabels, PartPod, PartPodAnnotations,
		PartReplicas, PartSecurityContext, PartServiceAccount,
	}
}
