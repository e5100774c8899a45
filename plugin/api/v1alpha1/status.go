// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TransformStatus is what became of a Transform.
type TransformStatus struct {
	meta.ReconcileRequestStatus `json:",inline"`

	// ObservedGeneration is the generation of the spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready (every layer is Ready at the published digest),
	// Reconciling, Stalled, Validated (input, objects and policies) and Rendered
	// (the artifact is published).
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Progress is how many layers are Ready, such as 2/3.
	// +optional
	Progress string `json:"progress,omitempty"`

	// Artifact is what is delivered now.
	// +optional
	Artifact *Artifact `json:"artifact,omitempty"`

	// Window is what spec.delivery.windows let through, and what waits for one.
	// +optional
	Window *WindowStatus `json:"window,omitempty"`

	// Rendered is what the spec gives, where it is not what is delivered: during a
	// rollback.
	// +optional
	Rendered *Artifact `json:"rendered,omitempty"`

	// Rollout is what delivery.rollbackAfter goes by.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// References are what the source and the modules led to.
	// +optional
	// +listType=atomic
	References []ResolvedReference `json:"references,omitempty"`

	// Layers are the barrier layers, in their order.
	// +optional
	// +listType=atomic
	Layers []LayerStatus `json:"layers,omitempty"`

	// Waves says how many nodes there are in each wave.
	// +optional
	// +listType=atomic
	Waves []WaveStatus `json:"waves,omitempty"`

	// Violations are those of policies and of the check, of the last render: errors
	// keep it from being published. The first 50 are here.
	// +optional
	// +listType=atomic
	Violations []Violation `json:"violations,omitempty"`

	// Nodes are what the engine says of objects that are not Ready. The first 50 are
	// here.
	// +optional
	// +listType=atomic
	Nodes []NodeStatus `json:"nodes,omitempty"`

	// NodesReadAt is when objects were read for delivery.flux.reportNodes.
	// +optional
	NodesReadAt *metav1.Time `json:"nodesReadAt,omitempty"`

	// NodeCount is how many nodes are rendered.
	// +optional
	NodeCount int32 `json:"nodeCount,omitempty"`

	// History is what was delivered, the newest first.
	// +optional
	// +listType=atomic
	History []Artifact `json:"history,omitempty"`
}

// Artifact is a published render.
type Artifact struct {
	// Digest is that of the manifest, or of the file that is served.
	// +required
	Digest string `json:"digest"`
	// Tree identifies the files, however they are packed.
	// +optional
	Tree string `json:"tree,omitempty"`
	// Revision is that of the source, or of the module where there is no source.
	// +optional
	Revision string `json:"revision,omitempty"`
	// Repository or URL is where it is.
	// +optional
	Repository string `json:"repository,omitempty"`
	// Time is when it was published first.
	// +optional
	Time metav1.Time `json:"time,omitempty"`
	// Layers are its barrier layers, in their order.
	// +optional
	// +listType=atomic
	Layers []ArtifactLayer `json:"layers,omitempty"`
	// Checksum is that of what was rendered; with the same there is nothing to do.
	// +optional
	Checksum string `json:"checksum,omitempty"`
}

// RolloutStatus is how far the artifact that is delivered is, for delivery.rollbackAfter.
type RolloutStatus struct {
	// Digest is that of the artifact that is delivered. There is none while nothing is
	// applied because a user has to change something first.
	// +optional
	Digest string `json:"digest,omitempty"`
	// Since is when its delivery began, with this generation of the spec.
	// +optional
	Since metav1.Time `json:"since,omitempty"`
	// Generation is that of the spec.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// Ready is the digest that was Ready last.
	// +optional
	Ready string `json:"ready,omitempty"`
	// Failed is the digest that was not Ready in time, in place of which the one
	// that was is delivered.
	// +optional
	Failed string `json:"failed,omitempty"`
}

// ArtifactLayer is a barrier layer of an artifact.
type ArtifactLayer struct {
	// Name of the layer.
	// +required
	Name string `json:"name"`
	// Digest is that of its manifest, or of the file that is served.
	// +required
	Digest string `json:"digest"`
}

// ResolvedReference is what a reference led to.
type ResolvedReference struct {
	// Name is spec, spec/policy or source.
	// +required
	Name string `json:"name"`
	// Reference as it was written.
	// +optional
	Reference string `json:"reference,omitempty"`
	// Revision that it led to.
	// +optional
	Revision string `json:"revision,omitempty"`
	// Digest of its content.
	// +optional
	Digest string `json:"digest,omitempty"`
	// Time is when it led there first.
	// +optional
	Time metav1.Time `json:"time,omitempty"`
}

// LayerStatus is the state of a barrier layer in the engine.
type LayerStatus struct {
	// Name of its Kustomization.
	// +required
	Name string `json:"name"`
	// Waves are those that it holds.
	// +optional
	// +listType=atomic
	Waves []int32 `json:"waves,omitempty"`
	// Digest that is wanted.
	// +optional
	Digest string `json:"digest,omitempty"`
	// Applied is the digest that the engine applied last.
	// +optional
	Applied string `json:"applied,omitempty"`
	// State is Waiting, Applying, Ready, Failed, Retiring or HandingOver.
	// +optional
	State string `json:"state,omitempty"`
	// Message is what the engine says.
	// +optional
	Message string `json:"message,omitempty"`
	// Objects is how many there are in it.
	// +optional
	Objects int32 `json:"objects,omitempty"`
	// ReadyObjects is how many of those that were read are ready, with
	// delivery.flux.reportNodes and while the layer is not Ready.
	// +optional
	ReadyObjects *int32 `json:"readyObjects,omitempty"`
	// ReadObjects is how many were read for that.
	// +optional
	ReadObjects int32 `json:"readObjects,omitempty"`
}

// WaveStatus is a wave.
type WaveStatus struct {
	// Wave is its number.
	// +required
	Wave int32 `json:"wave"`
	// Layer is the name of the barrier layer that it is in.
	// +optional
	Layer string `json:"layer,omitempty"`
	// Nodes is how many there are in it.
	// +optional
	Nodes int32 `json:"nodes,omitempty"`
}

// Violation is something that is wrong with an input or an object.
type Violation struct {
	// Policy that says so; empty for the check itself.
	// +optional
	Policy string `json:"policy,omitempty"`
	// Severity is error, warning or note; a note is what a spec ignores by
	// policyOverrides, and that it does.
	// +optional
	Severity string `json:"severity,omitempty"`
	// Position is the file, line and column in the user's own text, or the field of
	// this Transform.
	// +optional
	Position string `json:"position,omitempty"`
	// Message says what is wrong, and what to do.
	// +required
	Message string `json:"message"`
}

// NodeStatus is what the engine says of an object.
type NodeStatus struct {
	// ID is that of the node, SPEC/NODE.
	// +required
	ID string `json:"id"`
	// Object is group/kind namespace/name.
	// +optional
	Object string `json:"object,omitempty"`
	// Layer that it is in.
	// +optional
	Layer string `json:"layer,omitempty"`
	// State is Waiting, InProgress, Failed or Foreign.
	// +optional
	State string `json:"state,omitempty"`
	// Message says more.
	// +optional
	Message string `json:"message,omitempty"`
	// TimedOutAt is when the timeout of its readyWhen passed, if it was not ready by then.
	// Flux reports objects that are not ready when the timeout of their layer is over.
	// +optional
	TimedOutAt *metav1.Time `json:"timedOutAt,omitempty"`
}
