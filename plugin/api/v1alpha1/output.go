// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Output is where the artifact goes.
//
// +kubebuilder:validation:XValidation:rule="has(self.oci) != has(self.externalArtifact)",message="exactly one of oci and externalArtifact is needed"
type Output struct {
	// OCI is a repository in a registry.
	// +optional
	OCI *OCIOutput `json:"oci,omitempty"`
	// ExternalArtifact is served by the controller itself, for clusters without a
	// registry. Flux must have its feature gate ExternalArtifact on.
	// +optional
	ExternalArtifact *ExternalArtifactOutput `json:"externalArtifact,omitempty"`
}

// OCIOutput is a repository in a registry.
type OCIOutput struct {
	// Repository is oci://HOST/NAME, without a tag.
	// +required
	// +kubebuilder:validation:Pattern="^oci://[A-Za-z0-9.:\\[\\]-]+(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$"
	// +kubebuilder:validation:MaxLength=1024
	Repository string `json:"repository"`
	// Tags lead to the newest artifact, beside the tags that keep each digest.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	Tags []OCITag `json:"tags,omitempty"`
	// PushSecretRef names a Secret of this namespace with which the controller logs
	// in. Where it is empty, it does so with that of the ServiceAccount's
	// imagePullSecrets which is for the registry, then by the provider, and with the
	// docker config of the controller where that is generic.
	// +optional
	PushSecretRef *LocalObjectReference `json:"pushSecretRef,omitempty"`
	// PullSecretRef names a Secret of the namespace of the Flux objects with which
	// source-controller logs in.
	// +optional
	PullSecretRef *LocalObjectReference `json:"pullSecretRef,omitempty"`
	// Provider is the cloud whose registry it is: the controller pushes, and
	// source-controller pulls, with short-lived tokens of that cloud where no Secret
	// says otherwise. The identity is that of the ServiceAccount that the Transform
	// acts as, for which the feature gate ObjectLevelWorkloadIdentity of both must be
	// on, or else that of the controller. generic has none.
	// +kubebuilder:validation:Enum=generic;aws;azure;gcp
	// +kubebuilder:default:=generic
	// +optional
	Provider string `json:"provider,omitempty"`
	// CertSecretRef names a Secret with a ca.crt for both.
	// +optional
	CertSecretRef *LocalObjectReference `json:"certSecretRef,omitempty"`
	// Insecure speaks plain http with the registry.
	// +optional
	Insecure bool `json:"insecure,omitempty"`
	// SigningKeyRef names a Secret of this namespace with cosign.key and
	// cosign.password. Its cosign.pub, where it has one, makes Flux verify.
	// +optional
	SigningKeyRef *LocalObjectReference `json:"signingKeyRef,omitempty"`
	// Attest attaches the graph, the provenance and an SBOM.
	// +optional
	// +kubebuilder:default:=true
	Attest *bool `json:"attest,omitempty"`
	// DeletionPolicy says what becomes of the artifacts in the repository when the
	// Transform is deleted: Keep leaves them, for other clusters and for rollbacks; Delete
	// takes those of status.history away, with what is attached to them and their tags,
	// unless a tag of others leads to them. What cannot be deleted then, because the
	// registry is away or refuses, stays, with an event.
	// +kubebuilder:validation:Enum=Keep;Delete
	// +kubebuilder:default:=Keep
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
}

// DeletionDelete is the policy by which what was published or delivered is deleted.
const DeletionDelete = "Delete"

// OCITag is a tag.
//
// +kubebuilder:validation:Pattern="^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$"
type OCITag string

// ExternalArtifactOutput is an ExternalArtifact for each barrier layer, and one for
// the whole that has the name of the Transform.
type ExternalArtifactOutput struct{}

// Engine applies an artifact.
type Engine string

// The engines.
const (
	EngineFlux   Engine = "Flux"
	EngineArgoCD Engine = "ArgoCD"
	EngineNone   Engine = "None"
)

// Delivery is the engine that applies the artifact, and how.
//
// +kubebuilder:validation:XValidation:rule="!has(self.flux) || !has(self.type) || self.type == 'Flux'",message="flux is for the type Flux"
// +kubebuilder:validation:XValidation:rule="!has(self.windows) || !has(self.type) || self.type != 'None'",message="windows hold back what an engine delivers, and type None has none"
// +kubebuilder:validation:XValidation:rule="!has(self.argocd) || has(self.type) && self.type == 'ArgoCD'",message="argocd is for the type ArgoCD"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'ArgoCD' || has(self.argocd)",message="argocd says where the Application goes"
// +kubebuilder:validation:XValidation:rule="!has(self.rollbackAfter) || !has(self.type) || self.type != 'None'",message="with the type None nothing is delivered that could be Ready: take rollbackAfter away"
// +kubebuilder:validation:XValidation:rule="!has(self.rollbackAfter) || duration(self.rollbackAfter) >= duration('1s')",message="rollbackAfter is at least 1s"
type Delivery struct {
	// Type is Flux (objects of Flux that are ours), ArgoCD (an Application) or None:
	// the artifact is published, and applied by other means. Where it changes, the
	// engine that was before lets go first: its objects of ours are deleted, and what
	// it applied stays, as with deletionPolicy Orphan.
	// +kubebuilder:validation:Enum=Flux;ArgoCD;None
	// +kubebuilder:default:=Flux
	// +optional
	Type Engine `json:"type,omitempty"`
	// Flux is the template of the Flux objects.
	// +optional
	Flux *FluxDelivery `json:"flux,omitempty"`
	// ArgoCD is the template of the Application.
	// +optional
	ArgoCD *ArgoCDDelivery `json:"argocd,omitempty"`
	// Windows are when a revision may be delivered: in no Deny window, and in an Allow window
	// where there is one. Outside of them it is rendered, published and waits. What has begun
	// goes on, and rollbacks and deletions do not wait.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Windows []Window `json:"windows,omitempty"`
	// DeletionPolicy says what becomes of the delivered objects when the Transform is
	// deleted: Delete takes them away in the reverse order, waiting for each layer;
	// Orphan leaves them.
	// +kubebuilder:validation:Enum=Delete;Orphan
	// +kubebuilder:default:=Delete
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
	// SharedObjects is what happens to objects that another Transform, which came first,
	// delivers to the same cluster with Flux: Refuse reports them and applies nothing; Warn
	// applies them all the same, and the condition SharedObjects lists them. Namespaces and
	// CustomResourceDefinitions, which no Transform deletes, are never refused.
	// +kubebuilder:validation:Enum=Refuse;Warn
	// +kubebuilder:default:=Refuse
	// +optional
	SharedObjects string `json:"sharedObjects,omitempty"`
	// RollbackAfter is how long a new artifact may take to be Ready. After that the one
	// that was Ready last is delivered in its place, once, until the spec or what it
	// renders changes; the condition RolledBack says so. With it, Flux waits for all
	// Deployments, StatefulSets and DaemonSets to have rolled out. Where it is empty,
	// nothing is rolled back by itself.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	RollbackAfter *metav1.Duration `json:"rollbackAfter,omitempty"`
}

// SharedObjectsWarn is the value of Delivery.SharedObjects by which they are applied.
const SharedObjectsWarn = "Warn"

// FluxDelivery is the template of the Flux objects.
//
// +kubebuilder:validation:XValidation:rule="!has(self.reportNodes) || !self.reportNodes || !has(self.kubeConfig)",message="reportNodes reads objects of this cluster, and only Flux can read that of kubeConfig: take one of them away"
type FluxDelivery struct {
	// KubeConfig leads to the cluster to apply to; this one where it is empty.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(!has(self.secretRef) || !self.secretRef.name.contains('/')) && (!has(self.configMapRef) || !self.configMapRef.name.contains('/'))",message="a Secret or a ConfigMap is one of the namespace of the Transform: write its name"
	KubeConfig *meta.KubeConfigReference `json:"kubeConfig,omitempty"`
	// Decryption is that of the Kustomizations, for Secrets that SOPS encrypted.
	// +optional
	Decryption *Decryption `json:"decryption,omitempty"`
	// Interval is how often Flux looks for drift.
	// +kubebuilder:default:="1h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Interval metav1.Duration `json:"interval,omitempty"`
	// RetryInterval is how long Flux waits after a failure.
	// +kubebuilder:default:="1m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	RetryInterval metav1.Duration `json:"retryInterval,omitempty"`
	// Timeout is how long a layer may take to be healthy. Timeouts of readyWhen come before it.
	// +kubebuilder:default:="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Timeout metav1.Duration `json:"timeout,omitempty"`
	// Force recreates objects whose change the API server refuses.
	// +optional
	Force bool `json:"force,omitempty"`
	// ReportNodes has the controller read the objects of a layer while it is not Ready, as the
	// account of the Transform: status.layers[].readyObjects counts those that are ready, and
	// status.nodes names the others, and why. At most 200 objects are read, and again after
	// 10s at the earliest.
	// +optional
	ReportNodes bool `json:"reportNodes,omitempty"`
	// Shard is the value of sharding.fluxcd.io/key on the Flux objects.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"
	Shard string `json:"shard,omitempty"`
}

// Decryption says how Flux decrypts.
type Decryption struct {
	// Provider is sops.
	// +kubebuilder:validation:Enum=sops
	// +required
	Provider string `json:"provider"`
	// SecretRef names a Secret with keys.
	// +optional
	SecretRef *LocalObjectReference `json:"secretRef,omitempty"`
	// ServiceAccountName is the account whose workload identity has the keys.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$"
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// ArgoCDDelivery is the template of an Application. The controller delivers only to
// namespaces and projects that its flags allow.
type ArgoCDDelivery struct {
	// Namespace of the Application; argocd where it is empty.
	// +optional
	// +kubebuilder:default:=argocd
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
	Namespace string `json:"namespace,omitempty"`
	// Project of the Application; default where it is empty.
	// +optional
	// +kubebuilder:default:=default
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$"
	Project string `json:"project,omitempty"`
	// Server or Name of the destination; https://kubernetes.default.svc where both
	// are empty.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Server string `json:"server,omitempty"`
	// Name of the destination, as Argo CD knows the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// Automated syncs by itself.
	// +optional
	// +kubebuilder:default:=true
	Automated *bool `json:"automated,omitempty"`
	// Prune deletes what is not rendered any more.
	// +optional
	// +kubebuilder:default:=true
	Prune *bool `json:"prune,omitempty"`
	// SelfHeal undoes what others change.
	// +optional
	SelfHeal bool `json:"selfHeal,omitempty"`
}
