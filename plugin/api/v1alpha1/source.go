// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Source is a source that is made with a Transform, and deleted with it.
type Source struct {
	// Git makes a GitRepository of Flux with the name of the Transform.
	// +required
	Git GitSource `json:"git"`
	// Path is the folder or the file in the source that is rendered, or, with a
	// cueRef of the type path, the folder that its ref is relative to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`
	// Environment is one of those of the project.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Environment string `json:"environment,omitempty"`
}

// GitSource is a Git repository, with the fields of a GitRepository of Flux.
type GitSource struct {
	// URL of the repository, by HTTP or SSH.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern="^(http|https|ssh)://.*$"
	URL string `json:"url"`
	// Reference is what of it is checked out; the branch master, as in Flux, where it is
	// absent.
	// +optional
	Reference *GitReference `json:"ref,omitempty"`
	// SecretRef names a Secret of this namespace with the credentials: username and
	// password, bearerToken, or identity and known_hosts, and ca.crt.
	// +optional
	SecretRef *LocalObjectReference `json:"secretRef,omitempty"`
	// Interval is how often Flux looks for commits.
	// +kubebuilder:default:="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Interval metav1.Duration `json:"interval,omitempty"`
}

// GitReference is a revision of a Git repository. Of several fields, Flux takes commit first, then
// name, semver, tag and branch.
//
// +kubebuilder:validation:MinProperties=1
type GitReference struct {
	// Branch to check out.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Branch string `json:"branch,omitempty"`
	// Tag to check out.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Tag string `json:"tag,omitempty"`
	// SemVer is a range of tags that are versions, such as ">=1.2.0 <2.0.0"; the highest is
	// checked out.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	SemVer string `json:"semver,omitempty"`
	// Name of a reference, such as refs/pull/12/head.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern="^refs/[^ ~^:?*]+$"
	Name string `json:"name,omitempty"`
	// Commit is a hash; with branch, one of that branch.
	// +optional
	// +kubebuilder:validation:Pattern="^[0-9a-f]{40,64}$"
	Commit string `json:"commit,omitempty"`
}

// SourceRef returns the source that a Transform reads, be it named or made with it; nil where it
// has none.
func (t *Transform) SourceRef() *SourceReference {
	own := t.Spec.Source
	if own == nil {
		return t.Spec.SourceRef
	}
	return &SourceReference{Kind: "GitRepository", Name: t.Name, Path: own.Path, Environment: own.Environment}
}
