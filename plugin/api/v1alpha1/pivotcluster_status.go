// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PivotClusterPhase is where a PivotCluster is, in one word.
type PivotClusterPhase string

// The phases.
const (
	// PhasePending: nothing is provisioned yet.
	PhasePending PivotClusterPhase = "Pending"
	// PhaseProvisioning: machines are being made, and the agent is awaited.
	PhaseProvisioning PivotClusterPhase = "Provisioning"
	// PhasePivoting: the agent is there, and the Cluster API objects move.
	PhasePivoting PivotClusterPhase = "Pivoting"
	// PhaseReady: the cluster is in charge of itself.
	PhaseReady PivotClusterPhase = "Ready"
	// PhaseDegraded: it was Ready, and its agent, or a node, is not.
	PhaseDegraded PivotClusterPhase = "Degraded"
	// PhaseFailed: a user has to change something; see the conditions.
	PhaseFailed PivotClusterPhase = "Failed"
)

// PivotClusterStatus is what became of a PivotCluster.
type PivotClusterStatus struct {
	// ObservedGeneration is the generation of the spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase is where it is, in one word.
	// +kubebuilder:validation:Enum=Pending;Provisioning;Pivoting;Ready;Degraded;Failed
	// +optional
	Phase PivotClusterPhase `json:"phase,omitempty"`
	// Conditions: Ready, Reconciling, Stalled, Provisioned (the API server of the cluster
	// answers), Enrolled (the agent has a certificate), Connected (it is on the link),
	// Bootstrapped (its GitOps has begun) and Pivoted (it is in charge of itself).
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Enrolment is that of the agent.
	// +optional
	Enrolment *EnrolmentStatus `json:"enrolment,omitempty"`
	// Pivot is the move of the Cluster API objects.
	// +optional
	Pivot *PivotStatus `json:"pivot,omitempty"`
	// Agent is what the agent last said.
	// +optional
	Agent *AgentStatus `json:"agent,omitempty"`
	// Nodes of the cluster.
	// +optional
	Nodes *NodeCounts `json:"nodes,omitempty"`
}

// EnrolmentStatus is how the agent of a cluster gets its certificate. Nothing in it is
// secret: of the token there is the sum.
type EnrolmentStatus struct {
	// TokenHash is the SHA-256 sum of the token, in hex. It is for one key.
	// +optional
	TokenHash string `json:"tokenHash,omitempty"`
	// Expires is when the token ends.
	// +optional
	Expires *metav1.Time `json:"expires,omitempty"`
	// PublicKey is the SHA-256 sum, in hex, of the public key that the token was used with;
	// another key is turned away.
	// +optional
	PublicKey string `json:"publicKey,omitempty"`
	// Certificate is what was issued for that key last, in PEM.
	// +optional
	Certificate string `json:"certificate,omitempty"`
	// NotAfter is when it ends.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
	// Rejoin is the value of spec.agent.rejoin that this is about.
	// +optional
	Rejoin string `json:"rejoin,omitempty"`
}

// PivotStatus mirrors the receipt of a pivot, which decides.
type PivotStatus struct {
	// ID of the pivot.
	// +optional
	ID string `json:"id,omitempty"`
	// Step that was finished last.
	// +optional
	Step string `json:"step,omitempty"`
	// StepTime is when it was finished.
	// +optional
	StepTime *metav1.Time `json:"stepTime,omitempty"`
	// Digest of what moves.
	// +optional
	Digest string `json:"digest,omitempty"`
	// Objects is how many move.
	// +optional
	Objects int32 `json:"objects,omitempty"`
	// Tombstone is the digest of the artifact by which a parent that is rebuilt knows that
	// the cluster is its own.
	// +optional
	Tombstone string `json:"tombstone,omitempty"`
}

// AgentStatus is what the agent last said.
type AgentStatus struct {
	// LastSeen is the time of the last heartbeat, to about a minute.
	// +optional
	LastSeen *metav1.Time `json:"lastSeen,omitempty"`
	// State is what it does; absent where it is of a version that does not say so, and Unknown
	// where it is of a later version than this parent.
	// +kubebuilder:validation:Enum=Unknown;Waiting;Bootstrapping;Bootstrapped;Importing;InCharge
	// +optional
	State AgentState `json:"state,omitempty"`
	// Version of the agent.
	// +optional
	Version string `json:"version,omitempty"`
	// KubernetesVersion of its API server.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// Session counts the sessions: of two connections with the certificate of the cluster,
	// that of the higher number counts, and the other one is closed.
	// +optional
	Session int64 `json:"session,omitempty"`
	// Pins are the SHA-256 sums of the keys of the authorities that the agent trusts, in base64:
	// first the one that has issued its certificate.
	// +optional
	Pins []string `json:"pins,omitempty"`
}

// AgentState is what an agent does.
type AgentState string

// The states of agents.
const (
	// AgentUnknown: the agent is of a later version, and does what this parent has no word for.
	AgentUnknown AgentState = "Unknown"
	// AgentWaiting: it waits for its PivotCluster.
	AgentWaiting AgentState = "Waiting"
	// AgentBootstrapping: what the cluster begins with is applied, and its GitOps has not begun.
	AgentBootstrapping AgentState = "Bootstrapping"
	// AgentBootstrapped: the GitOps has begun.
	AgentBootstrapped AgentState = "Bootstrapped"
	// AgentImporting: a pivot brings the Cluster API objects.
	AgentImporting AgentState = "Importing"
	// AgentInCharge: the cluster is in charge of itself.
	AgentInCharge AgentState = "InCharge"
)

// NodeCounts are nodes of a cluster.
type NodeCounts struct {
	// Ready nodes.
	Ready int32 `json:"ready"`
	// Wanted nodes: those of the control plane and of all pools.
	Wanted int32 `json:"wanted"`
}

// Conditions of a PivotCluster, beside Ready, Reconciling and Stalled.
const (
	ProvisionedCondition  = "Provisioned"
	EnrolledCondition     = "Enrolled"
	ConnectedCondition    = "Connected"
	BootstrappedCondition = "Bootstrapped"
	PivotedCondition      = "Pivoted"
)
