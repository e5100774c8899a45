// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/fluxcd/pkg/apis/meta"

// LocalObjectReference names an object of the same namespace.
type LocalObjectReference struct {
	// Name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
	Name string `json:"name"`
}

// Flux returns the reference as Flux defines it; nil for nil.
func (r *LocalObjectReference) Flux() *meta.LocalObjectReference {
	if r == nil {
		return nil
	}
	return &meta.LocalObjectReference{Name: r.Name}
}

// SourceReference names a Flux source, and what in it is rendered.
type SourceReference struct {
	// APIVersion of the source; that of the kind where it is empty.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// Kind of the source.
	// +kubebuilder:validation:Enum=GitRepository;OCIRepository;Bucket;ExternalArtifact
	// +required
	Kind string `json:"kind"`
	// Name of the source.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
	Name string `json:"name"`
	// Namespace of the source; that of the Transform where it is empty. The
	// controller may be told to refuse others.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
	Namespace string `json:"namespace,omitempty"`
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

// CueReference names a CUE module.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.pullSecretRef) || has(self.verify)) || self.type in ['git', 'oci']",message="pullSecretRef and verify are for modules of the types git and oci"
// +kubebuilder:validation:XValidation:rule="self.type != 'configmap' || !self.ref.contains('/')",message="ref is the name of a ConfigMap in the namespace of the Transform"
// +kubebuilder:validation:XValidation:rule="self.type != 'source' || !self.ref.contains('..')",message="ref is Kind/name or Kind/namespace/name"
type CueReference struct {
	// Type says how ref is read: path, a folder in the source; embedded, a module of
	// the program; inline, CUE text; configmap, a ConfigMap of this namespace; git
	// and oci, a URL; source, a Flux source as Kind/name or Kind/namespace/name.
	// +kubebuilder:validation:Enum=path;embedded;inline;configmap;git;oci;source
	// +required
	Type string `json:"type"`
	// Ref names the module, or is its text.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=262144
	Ref string `json:"ref"`
	// Path is a folder inside of what ref names.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`
	// PullSecretRef names a Secret of this namespace with credentials: a docker
	// config, username and password, bearerToken, identity and known_hosts, ca.crt.
	// +optional
	PullSecretRef *LocalObjectReference `json:"pullSecretRef,omitempty"`
	// Verify asks for a signature.
	// +optional
	Verify *Verify `json:"verify,omitempty"`
}

// Verify asks for a signature of a module.
type Verify struct {
	// Provider is cosign for artifacts, pgp or ssh for Git.
	// +kubebuilder:validation:Enum=cosign;pgp;ssh
	// +required
	Provider string `json:"provider"`
	// SecretRef names a Secret of this namespace with the public keys.
	// +optional
	SecretRef *LocalObjectReference `json:"secretRef,omitempty"`
}

// InputReference is a part of an input that stands elsewhere.
//
// +kubebuilder:validation:XValidation:rule="self.kind != 'Secret' || has(self.runtime) || has(self.targetPath)",message="a Secret is only referred to: targetPath says where in the input its name goes"
// +kubebuilder:validation:XValidation:rule="self.kind != 'Secret' || !has(self.runtime)",message="no value of a Secret may enter a render: have the module refer to the Secret by its name"
// +kubebuilder:validation:XValidation:rule="!has(self.runtime) || has(self.key) && !has(self.targetPath) && !has(self.spec)",message="runtime takes one entry: it wants a key, and neither targetPath nor spec"
type InputReference struct {
	// Kind is ConfigMap or Secret.
	// +kubebuilder:validation:Enum=ConfigMap;Secret
	// +required
	Kind string `json:"kind"`
	// Name of the ConfigMap or Secret in this namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
	Name string `json:"name"`
	// Key of the entry. Of a ConfigMap it is values.yaml where it is empty; of a
	// Secret the whole is meant then.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[-._a-zA-Z0-9]*$"
	Key string `json:"key,omitempty"`
	// TargetPath is where it goes in the input, such as database.password; the text
	// of a ConfigMap is then taken as it stands, and parsed as YAML, and laid over the
	// whole input, where it is empty. Of a Secret the module gets {name, key}.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	TargetPath string `json:"targetPath,omitempty"`
	// Runtime gives the text of the entry to attributes @timoni(runtime:TYPE:NAME) of
	// that name, in modules and bundles of Timoni, instead of the input. It wins over tags.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^[A-Za-z0-9_.-]+$"
	Runtime string `json:"runtime,omitempty"`
	// Spec is the spec of the project whose input is meant; it is empty with cueRef.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Spec string `json:"spec,omitempty"`
	// Optional says that it may be missing.
	// +optional
	Optional bool `json:"optional,omitempty"`
}
