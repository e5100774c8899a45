// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TransformKind is the kind of a Transform.
const TransformKind = "Transform"

// Transform renders typed configuration into an artifact, and has a GitOps engine
// apply it in order.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rwt,categories={ropewalk,gitops}
// +kubebuilder:metadata:labels="app.kubernetes.io/part-of=ropewalk"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason"
// +kubebuilder:printcolumn:name="Layers",type="string",JSONPath=".status.progress"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Suspended",type="boolean",JSONPath=".spec.suspend",priority=1
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",priority=1
// +kubebuilder:printcolumn:name="Revision",type="string",JSONPath=".status.artifact.revision",priority=1
// +kubebuilder:printcolumn:name="Digest",type="string",JSONPath=".status.artifact.digest",priority=1
type Transform struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TransformSpec `json:"spec,omitempty"`
	// Before the controller has seen a Transform it is not known to be Ready: kstatus takes
	// an object without conditions for one that is.
	// +kubebuilder:default:={"observedGeneration":-1}
	Status TransformStatus `json:"status,omitempty"`
}

// TransformList is a list of Transforms.
//
// +kubebuilder:object:root=true
type TransformList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Transform `json:"items"`
}

// TransformSpec says what is rendered, where it is published, and which engine applies it.
//
// +kubebuilder:validation:XValidation:rule="has(self.sourceRef) || has(self.source) || has(self.cueRef) || has(self.component)",message="one of sourceRef, source, cueRef and component is needed: a source with a project in it, a module, or a component"
// +kubebuilder:validation:XValidation:rule="!(has(self.sourceRef) && has(self.source))",message="source makes a GitRepository, and sourceRef names one that is there: take one of them away"
// +kubebuilder:validation:XValidation:rule="!has(self.component) || !(has(self.cueRef) || has(self.tags) || has(self.input))",message="a component has neither cueRef nor tags nor input"
// +kubebuilder:validation:XValidation:rule="!has(self.component) || !has(self.component.source) || self.component.source.type != 'path' || has(self.sourceRef) || has(self.source)",message="a source of type path is a folder in a source: name it in sourceRef"
// +kubebuilder:validation:XValidation:rule="!has(self.cueRef) || self.cueRef.type != 'path' || has(self.sourceRef) || has(self.source)",message="a cueRef of type path is a folder in a source: name it in sourceRef"
// +kubebuilder:validation:XValidation:rule="has(self.cueRef) || has(self.component) || !(has(self.input) || has(self.inputsFrom) && self.inputsFrom.exists(i, !has(i.spec)))",message="without a cueRef the source has several specs: an input there names its spec (inputsFrom[].spec), and input is that of its documents"
// +kubebuilder:validation:XValidation:rule="!(has(self.cueRef) || has(self.component)) || (!has(self.sourceRef) || !has(self.sourceRef.environment)) && (!has(self.source) || !has(self.source.environment))",message="an environment is one of a project: take it away, or take cueRef or component away"
// +kubebuilder:validation:XValidation:rule="!has(self.delivery) || !has(self.delivery.type) || self.delivery.type != 'ArgoCD' || !has(self.output) || !has(self.output.externalArtifact)",message="Argo CD cannot read an ExternalArtifact: set spec.output.oci"
type TransformSpec struct {
	// SourceRef is a Flux source that holds a project, or the module that cueRef
	// names by a path.
	// +optional
	SourceRef *SourceReference `json:"sourceRef,omitempty"`

	// Source is made with the Transform, in place of a source that sourceRef names, and
	// deleted with it. It is written by the account of the Transform.
	// +optional
	Source *Source `json:"source,omitempty"`

	RenderSpec `json:",inline"`

	// DependsOn names Transforms of the same namespace that must be Ready first.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	DependsOn []TransformName `json:"dependsOn,omitempty"`

	// InputsFrom is laid over the input, in order. Values come from ConfigMaps; a
	// Secret is only referred to, its values are never read.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	InputsFrom []InputReference `json:"inputsFrom,omitempty"`

	// Context is what modules are told of their surroundings; it wins over that of
	// a project.
	// +optional
	Context *Context `json:"context,omitempty"`

	// Strict makes every warning an error.
	// +optional
	Strict bool `json:"strict,omitempty"`

	// AllowEmpty accepts a render without a spec or an object, which deletes what was
	// applied before. Without it such a render is refused, and what is there stays.
	// +optional
	AllowEmpty bool `json:"allowEmpty,omitempty"`

	// Interval is how often everything is looked at again without an event: modules
	// that a tag leads to, and objects of Flux that were changed in the cluster.
	// +kubebuilder:default:="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	Interval metav1.Duration `json:"interval,omitempty"`

	// RetryInterval is how long to wait after a failure; the controller backs off by
	// itself where it is not set.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	RetryInterval *metav1.Duration `json:"retryInterval,omitempty"`

	// Suspend stops the work on this Transform. What was delivered stays, also when the
	// Transform is deleted, and its engine goes on.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Output is where the artifact goes; an ExternalArtifact where nothing is said.
	// +optional
	Output *Output `json:"output,omitempty"`

	// Delivery is the engine that applies the artifact; Flux by default.
	// +optional
	Delivery *Delivery `json:"delivery,omitempty"`

	// Rollback pins what is delivered to an earlier digest, as a whole, until it is
	// taken away. Rendering goes on; what it gives is not published.
	// +optional
	Rollback *Rollback `json:"rollback,omitempty"`

	// History is how many artifacts can be rolled back to, and are kept in the
	// repository.
	// +kubebuilder:default:=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	History *int32 `json:"history,omitempty"`

	// ServiceAccountName is the account of this namespace by which everything is read
	// and written for this Transform, and by which Flux applies. The controller's
	// flag --default-service-account says which, where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$"
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// RenderSpec is the part of a TransformSpec that a spec document in a repository has too:
// render/spec decodes it.
type RenderSpec struct {
	// CueRef names the CUE module that makes the objects. Without it, everything that
	// sourceRef leads to is rendered, as `ropewalk render` would.
	// +optional
	CueRef *CueReference `json:"cueRef,omitempty"`

	// Component says how the objects are built without CUE, in place of cueRef.
	// +optional
	Component *Component `json:"component,omitempty"`

	// Overlays lay readyWhen, dependsOn, needs, apply and patch over the objects that each selects
	// by kind, name, namespace, group and labels.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Overlays []Overlay `json:"overlays,omitempty"`

	// Tags are the values of the module's @tag, @if and @timoni(runtime:TYPE:NAME)
	// attributes. Without a cueRef they are those of the last kind in the modules and the
	// Timoni bundle that sourceRef leads to.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Tags map[string]string `json:"tags,omitempty"`

	// Input is what the module gets: a map of free form.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Input *apiextensionsv1.JSON `json:"input,omitempty"`

	// Policies judge the input and the objects, beside those of a project. One that
	// is violated keeps the artifact from being published.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Policies []Policy `json:"policies,omitempty"`

	// PolicyOverrides loosen policies of the project that sourceRef leads to, for all of its
	// specs that do not loosen them themselves. The project must allow it with
	// overridable: true. What is loosened is in status.violations as a note.
	// +optional
	// +listType=map
	// +listMapKey=policy
	// +kubebuilder:validation:MaxItems=64
	PolicyOverrides []PolicyOverride `json:"policyOverrides,omitempty"`

	// Adopt is what happens to objects that exist in the cluster with another
	// owner: Never lists them and applies nothing until they are gone, TakeOwnership takes
	// them over, Mirror leaves them alone. Mirror creates what does not exist, and changes
	// nothing that does, what it has created included; Argo CD cannot, so that such
	// objects are left out with a warning. Nodes of a module may say otherwise.
	// +optional
	// +kubebuilder:validation:Enum=Never;TakeOwnership;Mirror
	Adopt string `json:"adopt,omitempty"`

	// AllowSecrets names the Secrets that may be rendered with data in them, by their names
	// or by patterns of them, such as "app-*" (* stands for any characters, ? for one).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	AllowSecrets []string `json:"allowSecrets,omitempty"`
}

// TransformName is the name of a Transform of the same namespace.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
type TransformName string

// Rollback says what to roll back to.
type Rollback struct {
	// Digest is that of an artifact in status.history.
	// +kubebuilder:validation:Pattern="^sha256:[0-9a-f]{64}$"
	// +required
	Digest string `json:"digest"`
}

// Context is what modules are told of their surroundings.
type Context struct {
	// Namespace is where objects go that name none; that of the project, else of
	// the Transform.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Namespace string `json:"namespace,omitempty"`
	// ClusterDomain is the domain of Services; cluster.local where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClusterDomain string `json:"clusterDomain,omitempty"`
	// KubeVersion is the version to render for, such as 1.36; that of this cluster
	// where it is empty, whatever the project says.
	// +optional
	// +kubebuilder:validation:Pattern="^v?1\\.[0-9]+(\\.[0-9]+)?$"
	KubeVersion string `json:"kubeVersion,omitempty"`
}

// Policy asks a policy module to judge what is rendered.
type Policy struct {
	// Name tells policies apart, in violations too.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// CueRef names the module.
	// +required
	CueRef CueReference `json:"cueRef"`
	// Input is what the policy takes.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Input *apiextensionsv1.JSON `json:"input,omitempty"`
}

// PolicyOverride loosens a policy of a project.
type PolicyOverride struct {
	// Policy is its name in the project.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Policy string `json:"policy"`
	// Action is what the errors of the policy become: warning, or ignore, which keeps them
	// as notes.
	// +required
	// +kubebuilder:validation:Enum=warning;ignore
	Action string `json:"action"`
	// Reason is why, for the record.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
}

// GetConditions returns the conditions of the status.
func (t *Transform) GetConditions() []metav1.Condition { return t.Status.Conditions }

// SetConditions replaces the conditions of the status.
func (t *Transform) SetConditions(conditions []metav1.Condition) { t.Status.Conditions = conditions }

// GetRequeueAfter returns how long until everything is reconciled again.
func (t *Transform) GetRequeueAfter() time.Duration { return t.Spec.Interval.Duration }

// GetRetryInterval returns how long to wait after a failure; zero if the controller decides.
func (t *Transform) GetRetryInterval() time.Duration {
	if t.Spec.RetryInterval == nil {
		return 0
	}
	return t.Spec.RetryInterval.Duration
}

// GetHistory returns how many artifacts are kept.
func (t *Transform) GetHistory() int {
	if t.Spec.History == nil {
		return DefaultHistory
	}
	return int(*t.Spec.History)
}

// DefaultHistory is how many artifacts are kept where a spec says nothing.
const DefaultHistory = 5

// GetLastHandledReconcileRequest returns the last value of the annotation by which the annotation
// requested a reconciliation.
func (t *Transform) GetLastHandledReconcileRequest() string {
	return t.Status.GetLastHandledReconcileRequest()
}

// SetLastHandledReconcileAt remembers that value.
func (t *Transform) SetLastHandledReconcileAt(at string) { t.Status.SetLastHandledReconcileRequest(at) }

var (
	_ meta.ObjectWithConditions       = &Transform{}
	_ meta.ObjectWithConditionsSetter = &Transform{}
)
