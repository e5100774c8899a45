// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Component says how objects are built without CUE: of manifests, a kustomization, a Helm
// chart, or the artifact of another build.
//
// +kubebuilder:validation:XValidation:rule="[has(self.manifests), has(self.kustomize), has(self.helm), has(self.artifact)].filter(x, x).size() == 1",message="a component is built in one way: one of manifests, kustomize, helm and artifact"
// +kubebuilder:validation:XValidation:rule="!has(self.artifact) || !has(self.source)",message="ref of the artifact is its source"
type Component struct {
	// Source holds the files; that of sourceRef where it is empty.
	// +optional
	Source *CueReference `json:"source,omitempty"`
	// Manifests are objects as they are.
	// +optional
	Manifests *Manifests `json:"manifests,omitempty"`
	// Kustomize is a kustomization: path, enableHelm, loadRestrictor (rootOnly, none), and
	// fields of a kustomization that are laid over it (patches, components, images,
	// namespace, namePrefix, nameSuffix, labels, commonAnnotations, replacements, replicas).
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Kustomize *apiextensionsv1.JSON `json:"kustomize,omitempty"`
	// Helm is a chart with its values.
	// +optional
	Helm *HelmChart `json:"helm,omitempty"`
	// Artifact is an OCI artifact with manifests in it.
	// +optional
	Artifact *ManifestArtifact `json:"artifact,omitempty"`
}

// Manifests are Kubernetes objects as they are.
//
// +kubebuilder:validation:XValidation:rule="has(self.inline) || has(self.paths)",message="one of inline and paths is needed"
type Manifests struct {
	// Inline is YAML or JSON.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Inline string `json:"inline,omitempty"`
	// Paths are files, and folders with all that is below them, in the source.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Paths []string `json:"paths,omitempty"`
}

// HelmChart is a Helm chart with its values.
type HelmChart struct {
	// Chart is the path of a folder or an archive in the source, a reference oci://…, or the
	// name of a chart of repo.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Chart string `json:"chart"`
	// Repo is the URL of an HTTP repository.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Repo string `json:"repo,omitempty"`
	// Version is one or a range; the latest that is no prerelease where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`
	// PullSecretRef names a Secret of this namespace with credentials for the registry or
	// the repository.
	// +optional
	PullSecretRef *LocalObjectReference `json:"pullSecretRef,omitempty"`
	// Verify asks for a signature of a chart in a registry.
	// +optional
	Verify *Verify `json:"verify,omitempty"`
	// Values win over those of valuesFiles.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Values *apiextensionsv1.JSON `json:"values,omitempty"`
	// ValuesFiles are files in the source; a later one wins.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	ValuesFiles []string `json:"valuesFiles,omitempty"`
	// ReleaseName is that of the Transform where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=53
	// +kubebuilder:validation:Pattern="^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$"
	ReleaseName string `json:"releaseName,omitempty"`
	// Namespace is that of the context where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
	Namespace string `json:"namespace,omitempty"`
	// SkipCRDs leaves out the folder crds of the chart.
	// +optional
	SkipCRDs bool `json:"skipCRDs,omitempty"`
	// APIVersions are added to the capabilities that a chart asks for.
	// +optional
	// +kubebuilder:validation:MaxItems=1024
	APIVersions []string `json:"apiVersions,omitempty"`
	// Hooks of the chart become waves, or are refused; waves where it is empty.
	// +optional
	// +kubebuilder:validation:Enum=waves;reject
	Hooks string `json:"hooks,omitempty"`
}

// ManifestArtifact is an OCI artifact with manifests in it: of Flux, Argo CD, kustomize or
// Ropewalk.
type ManifestArtifact struct {
	// Ref is oci://HOST/REPOSITORY with a tag or a digest.
	// +required
	// +kubebuilder:validation:Pattern="^oci://"
	// +kubebuilder:validation:MaxLength=1024
	Ref string `json:"ref"`
	// Path is a folder in it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`
	// PullSecretRef names a Secret of this namespace with credentials.
	// +optional
	PullSecretRef *LocalObjectReference `json:"pullSecretRef,omitempty"`
	// Verify asks for a signature.
	// +optional
	Verify *Verify `json:"verify,omitempty"`
}

// Overlay is laid over the objects that it selects.
type Overlay struct {
	// Select says which: all that is given must match, and one object must.
	// +required
	Select Selector `json:"select"`
	// DependsOn names nodes that come first: of this spec ("node"), or of another one of the
	// render ("spec/node", "spec/").
	// +optional
	// +kubebuilder:validation:MaxItems=256
	DependsOn []string `json:"dependsOn,omitempty"`
	// ReadyWhen holds rules that must all hold, in place of those of the node.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	ReadyWhen []ReadyRule `json:"readyWhen,omitempty"`
	// Needs are objects outside of the render that must be in the cluster first.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Needs []Need `json:"needs,omitempty"`
	// Apply says how the objects are applied.
	// +optional
	Apply *ApplyPolicy `json:"apply,omitempty"`
	// Patch is a strategic merge patch, or a list of operations of RFC 6902.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Patch *apiextensionsv1.JSON `json:"patch,omitempty"`
}

// Selector selects objects. Texts are patterns, such as "app-*".
type Selector struct {
	// Kind of the object.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Kind string `json:"kind,omitempty"`
	// Name of the object.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// Namespace of the object, as it is written in it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`
	// Group of the object, such as apps.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// Labels that the object has.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
}

// ReadyRule says when an object is ready.
type ReadyRule struct {
	// Type of the rule.
	// +kubebuilder:validation:Enum=Exists;ConditionMatch;DeploymentAvailable;CEL
	// +required
	Type string `json:"type"`
	// Condition is the type of a condition, for ConditionMatch.
	// +optional
	// +kubebuilder:validation:MaxLength=316
	Condition string `json:"condition,omitempty"`
	// Status is that of the condition; True where it is empty.
	// +optional
	// +kubebuilder:validation:Enum="True";"False";Unknown
	Status string `json:"status,omitempty"`
	// Expr is an expression over object, for CEL.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Expr string `json:"expr,omitempty"`
	// Timeout is how long the object may take to be ready, from 1s to 24h. Flux waits for a
	// layer as long as the longest timeout in it says, and for at least 30s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// Need is an object outside of the render. The controller reads it as the account of the
// Transform before it releases the layer of the objects that need it.
type Need struct {
	// APIVersion of the object; v1 where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion,omitempty"`
	// Kind of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[A-Za-z][A-Za-z0-9]*$"
	Kind string `json:"kind"`
	// Name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[A-Za-z0-9][A-Za-z0-9_.:-]*$"
	Name string `json:"name"`
	// Namespace of the object; that of the object that needs it where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Namespace string `json:"namespace,omitempty"`
	// Ready is the type of a condition that must be True, such as Ready or Established.
	// Without it the object has to exist.
	// +optional
	// +kubebuilder:validation:MaxLength=316
	Ready string `json:"ready,omitempty"`
}

// ApplyPolicy says how an object is applied; what is empty stays as it is.
type ApplyPolicy struct {
	// Mode is how it is written.
	// +optional
	// +kubebuilder:validation:Enum=Apply;Create;Replace;Force
	Mode string `json:"mode,omitempty"`
	// Conflict is what happens to fields of others.
	// +optional
	// +kubebuilder:validation:Enum=Engine;Error
	Conflict string `json:"conflict,omitempty"`
	// Adopt is what happens to an object that exists with another owner.
	// +optional
	// +kubebuilder:validation:Enum=Never;TakeOwnership;Mirror
	Adopt string `json:"adopt,omitempty"`
	// Deletion is what happens to it when everything is deleted.
	// +optional
	// +kubebuilder:validation:Enum=Delete;Orphan
	Deletion string `json:"deletion,omitempty"`
	// Prune says whether it is deleted when it leaves the render.
	// +optional
	Prune *bool `json:"prune,omitempty"`
}

// One reports whether the Transform is one spec by itself, with a module or a component,
// and does not render the project in its source.
func (s *RenderSpec) One() bool { return s.CueRef != nil || s.Component != nil }

// References returns the references of the modules and of the component, which the caller may
// change.
func (s *RenderSpec) References() (out []NamedReference) {
	if s.CueRef != nil {
		out = append(out, NamedReference{"spec.cueRef", s.CueRef})
	}
	if s.Component != nil && s.Component.Source != nil {
		out = append(out, NamedReference{"spec.component.source", s.Component.Source})
	}
	return out
}

// NamedReference is a reference with its place in a Transform.
type NamedReference struct {
	At  string
	Ref *CueReference
}
