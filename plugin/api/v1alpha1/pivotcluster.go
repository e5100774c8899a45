// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PivotClusterKind is the kind of a PivotCluster.
const PivotClusterKind = "PivotCluster"

// PivotCluster is a cluster that a parent provisions through Cluster API, and that then takes
// over its own Cluster API objects and its own GitOps. The same object is on the parent and,
// after the pivot, on the cluster itself, where an edit scales and upgrades.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=rwp,categories={ropewalk,gitops}
// +kubebuilder:metadata:labels="app.kubernetes.io/part-of=ropewalk"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="Pivot",type="string",JSONPath=".status.pivot.step"
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.nodes.ready"
// +kubebuilder:printcolumn:name="Nodes",type="integer",JSONPath=".status.nodes.wanted"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".spec.kubernetesVersion"
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",priority=1
// +kubebuilder:printcolumn:name="Agent",type="string",JSONPath=".status.agent.version",priority=1
// +kubebuilder:printcolumn:name="Seen",type="date",JSONPath=".status.agent.lastSeen",priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name is a prefix of that of machines: at most 40 of a-z, 0-9 and -, a letter first"
type PivotCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec PivotClusterSpec `json:"spec"`
	// +kubebuilder:default:={"observedGeneration":-1}
	Status PivotClusterStatus `json:"status,omitempty"`
}

// PivotClusterList is a list of PivotClusters.
//
// +kubebuilder:object:root=true
type PivotClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PivotCluster `json:"items"`
}

// PivotClusterSpec says what is provisioned, and how the cluster becomes its own. All of it
// is the input of the cluster module.
//
// +kubebuilder:validation:XValidation:rule="self.provider.type == oldSelf.provider.type",message="a cluster stays with its provider: make another PivotCluster"
// +kubebuilder:validation:XValidation:rule="self.networking == oldSelf.networking || (self.networking.podCIDR == oldSelf.networking.podCIDR && self.networking.serviceCIDR == oldSelf.networking.serviceCIDR)",message="the CIDRs of a cluster cannot be changed"
// +kubebuilder:validation:XValidation:rule="!has(self.delivery) || !has(self.delivery.type) || self.delivery.type != 'None'",message="the engine that delivers a cluster is Flux or ArgoCD"
// +kubebuilder:validation:XValidation:rule="has(self.output.oci)",message="the tombstone of a pivot is kept in a registry: set output.oci"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cell) || has(self.cell)",message="a cell cannot be removed, as children may call it: set cell.serviceType to ClusterIP, and nothing outside of the cluster reaches it"
type PivotClusterSpec struct {
	// Provider is where the machines are.
	// +required
	Provider Provider `json:"provider"`
	// KubernetesVersion of all nodes, such as v1.36.3. A later one upgrades: the control
	// plane, then the workers.
	// +required
	// +kubebuilder:validation:Pattern="^v1\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.-]+)?$"
	// +kubebuilder:validation:MaxLength=63
	KubernetesVersion string `json:"kubernetesVersion"`
	// CertSANs are further names and addresses in the certificate of the API server.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:MinLength=1
	CertSANs []string `json:"certSANs,omitempty"`
	// ControlPlane are the machines with the API server and etcd.
	// +kubebuilder:default:={replicas:1}
	// +optional
	ControlPlane ControlPlane `json:"controlPlane,omitempty"`
	// Workers are pools of machines for all else.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Workers []WorkerPool `json:"workers,omitempty"`
	// Networking of the cluster.
	// +kubebuilder:default:={podCIDR:"10.244.0.0/16",serviceCIDR:"10.96.0.0/12"}
	// +optional
	Networking Networking `json:"networking,omitempty"`

	// Cell, where it is present, allows this cluster to have children, and says where they
	// reach it. A change counts for new children; those before go on calling where they were
	// told to, and are answered there too.
	// +optional
	Cell *Cell `json:"cell,omitempty"`
	// CellRef is the PivotCluster, with a cell, that is the parent of this one: that of the
	// cluster on which this object was created, and no other. It need not be named.
	// +optional
	CellRef *LocalObjectReference `json:"cellRef,omitempty"`

	// GitOps is what the cluster begins with.
	// +required
	GitOps GitOps `json:"gitOps"`
	// Agent is how the cluster calls home.
	// +optional
	Agent AgentPolicy `json:"agent,omitempty"`

	// ClusterModule makes the Cluster API objects; the module cluster of the program where
	// it is absent.
	// +optional
	ClusterModule *CueReference `json:"clusterModule,omitempty"`
	// Output is where the rendered objects go, and the tombstone.
	// +required
	Output Output `json:"output"`
	// Delivery is the engine that applies them; Flux by default.
	// +optional
	Delivery *Delivery `json:"delivery,omitempty"`

	// Suspend stops the work on this PivotCluster. A pivot that is under way stays at its
	// step.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// Networking of a cluster.
type Networking struct {
	// PodCIDR is the range of pods.
	// +kubebuilder:default:="10.244.0.0/16"
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="expected a CIDR such as 10.244.0.0/16"
	// +optional
	PodCIDR string `json:"podCIDR,omitempty"`
	// ServiceCIDR is the range of Services.
	// +kubebuilder:default:="10.96.0.0/12"
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="expected a CIDR such as 10.96.0.0/12"
	// +optional
	ServiceCIDR string `json:"serviceCIDR,omitempty"`
	// LoadBalancerPools are ranges that Cilium gives to Services of the type LoadBalancer
	// (LB-IPAM). They are rendered by the cluster itself, after the pivot.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	LoadBalancerPools []LoadBalancerPool `json:"loadBalancerPools,omitempty"`
}

// LoadBalancerPool is a CiliumLoadBalancerIPPool.
type LoadBalancerPool struct {
	// Name of the pool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Name string `json:"name"`
	// CIDRs of the pool.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="self.all(c, isCIDR(c))",message="expected CIDRs such as 192.0.2.0/28"
	CIDRs []string `json:"cidrs"`
}

// Cell is where children reach a cluster: the registration endpoint and the link.
//
// +kubebuilder:validation:XValidation:rule="self.port != self.linkPort",message="port and linkPort are two ports"
type Cell struct {
	// Host is the name or the address that children call.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[A-Za-z0-9:.-]+$"
	Host string `json:"host"`
	// Port of the registration endpoint (HTTPS).
	// +kubebuilder:default:=8443
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`
	// LinkPort is that of the link (gRPC).
	// +kubebuilder:default:=8444
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	LinkPort int32 `json:"linkPort,omitempty"`
	// ServiceType is that of the Service of both, ropewalk-cell in the namespace of the
	// controller.
	// +kubebuilder:default:=LoadBalancer
	// +kubebuilder:validation:Enum=LoadBalancer;NodePort;ClusterIP
	// +optional
	ServiceType string `json:"serviceType,omitempty"`
}

// GitOps is what a cluster begins with: its engine, and what that applies first, in which
// all that the cluster needs before the pivot is: the network of its pods, Cluster API with
// the providers of the parent, and this controller.
//
// +kubebuilder:validation:XValidation:rule="has(self.artifact) != has(self.source)",message="exactly one of artifact and source is needed"
// +kubebuilder:validation:XValidation:rule="self.engine == 'Flux' || !has(self.source)",message="a source is one of Flux: Argo CD begins with an artifact"
type GitOps struct {
	// Engine of the cluster.
	// +kubebuilder:default:=Flux
	// +kubebuilder:validation:Enum=Flux;ArgoCD
	// +optional
	Engine Engine `json:"engine,omitempty"`
	// Artifact is an OCI artifact of manifests, by its digest.
	// +optional
	Artifact *GitOpsArtifact `json:"artifact,omitempty"`
	// Source is a source of Flux that is made on the cluster.
	// +optional
	Source *GitOpsSource `json:"source,omitempty"`
	// Path is the folder of the artifact, or of the source, that is applied.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(p, p == '..')",message="expected a folder below the root"
	Path string `json:"path,omitempty"`
	// PullSecretRef names a Secret of the namespace of the cluster with which its engine
	// logs in; it is sent over the link as Credentials are.
	// +optional
	PullSecretRef *LocalObjectReference `json:"pullSecretRef,omitempty"`
}

// GitOpsArtifact is an OCI artifact.
type GitOpsArtifact struct {
	// Repository is oci://HOST/NAME, without a tag.
	// +required
	// +kubebuilder:validation:Pattern="^oci://[A-Za-z0-9.:\\[\\]-]+(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$"
	// +kubebuilder:validation:MaxLength=1024
	Repository string `json:"repository"`
	// Digest of the manifest.
	// +required
	// +kubebuilder:validation:Pattern="^sha256:[0-9a-f]{64}$"
	Digest string `json:"digest"`
	// Insecure speaks plain http with the registry.
	// +optional
	Insecure bool `json:"insecure,omitempty"`
}

// GitOpsSource is a source of Flux.
type GitOpsSource struct {
	// Kind of the source.
	// +required
	// +kubebuilder:validation:Enum=GitRepository;OCIRepository;Bucket
	Kind string `json:"kind"`
	// Spec of the source, as Flux has it.
	// +required
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Spec apiextensionsv1.JSON `json:"spec"`
}

// AgentPolicy is how the cluster calls home.
type AgentPolicy struct {
	// BlockedKeys are the SHA-256 sums, in hex, of public keys of agents that are turned away
	// at once, also where they are connected: those of stolen certificates. It is
	// status.enrolment.publicKey of the agent that had it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:Pattern="^[0-9a-f]{64}$"
	BlockedKeys []string `json:"blockedKeys,omitempty"`
	// Rejoin, where it is changed to another value, allows a new agent with a new key: a
	// token is made, and the certificate of the one before is not renewed any more.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Rejoin string `json:"rejoin,omitempty"`
}

// ClusterNamespace returns the namespace of the Cluster API objects of this cluster, on the parent
// and on the cluster itself. There is nothing else in it.
func (c *PivotCluster) ClusterNamespace() string { return ClusterNamespacePrefix + c.Name }

// ClusterNamespacePrefix is what namespaces of PivotClusters begin with.
const ClusterNamespacePrefix = "rw-"

// GetConditions returns the conditions of the status.
func (c *PivotCluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions of the status.
func (c *PivotCluster) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }
