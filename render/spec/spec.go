// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"context"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/render/object"
)

// APIVersion is the apiVersion of every document of Ropewalk.
const APIVersion = "ropewalk.dev/v1alpha1"

// The kinds of documents that are not workloads.
const (
	KindTransform    = "Transform"
	KindProject      = "Project"
	KindPivotCluster = "PivotCluster"
	KindGateway      = "Gateway"
	KindComponent    = "Component"
)

// ScoreVersion is the apiVersion of a Score file.
const ScoreVersion = scoreGroup + "/v1b1"

// ProjectFile is the name of the file with the project of a folder.
const ProjectFile = "ropewalk.yaml"

// File is the content of one file of a user.
type File struct {
	// Name is the path as the user would write it, for messages.
	Name string
	Data []byte
	// Found is set if a search found the file and no user named it: without a document of
	// Ropewalk it is skipped silently.
	Found bool

	// manifests is set for objects of the cluster, which kubectl reads.
	manifests bool
	// values is set for values that Helm might read.
	values bool
	// structured is set for a document that was never text, which has no Data.
	structured *parsed
	// ended returns the error of the context that bounds the reading, or is nil.
	ended func() error
}

// Until returns f with its reading bounded by ctx, whose error it then returns: reading a large file
// takes seconds.
func (f File) Until(ctx context.Context) File {
	f.ended = ctx.Err
	return f
}

// Documents holds the documents of a set of files.
type Documents struct {
	// Projects are all Project documents; several are an error of
	// [Documents.OneProject].
	Projects []Project
	// Transforms are in the order of the files and documents, PivotClusters, Gateways and
	// Components among them.
	Transforms []Transform
	// Workloads are Score files, Workload and Function documents, as they stand, in the
	// order of the files and documents.
	Workloads []Document
	// Sources are documents and files of other formats that become workloads: documents of the kinds
	// Apps and Compose, and compose files, func.yaml and apps.yaml that a user named.
	Sources []Document
	// ConfigMaps are core v1 ConfigMap manifests, as they stand.
	ConfigMaps []Manifest
	// Incomplete is set if a document of Ropewalk could not be read, so that a name
	// that is not here may still exist.
	Incomplete bool
	// Warnings are about documents that look like documents of Ropewalk, and are skipped.
	Warnings object.Errors
}

// Manifest is a Kubernetes manifest that a project brings along.
type Manifest struct {
	Pos   object.Pos
	Value object.Value
	// Blocks maps the position of each block scalar to the position of its text.
	Blocks map[object.Pos]Block
	// Module is set if a document of Ropewalk refers to it as a module.
	Module bool
}

// TextAt returns the place of the text of a string of m: below its indicator for a block scalar, at
// its own position otherwise.
func (m Manifest) TextAt(v object.Value) Block {
	if b, ok := m.Blocks[v.Pos]; ok {
		return b
	}
	return Block{Pos: v.Pos}
}

// Transform is a spec that sends an input through a CUE module: a Transform, or a PivotCluster or
// Gateway, whose spec is the input. A Component needs no module.
type Transform struct {
	// Kind is the kind of the document.
	Kind      string
	Name      string
	Namespace string // "" for the namespace of the project's context
	Pos       object.Pos
	NamePos   object.Pos
	CueRef    CueRef
	// Tags are the values of the module's @tag and @if attributes.
	Tags map[string]string
	// TagPos are the positions of their names.
	TagPos    map[string]object.Pos
	DependsOn []object.SpecDependency
	Input     object.Value
	// InputUnsure is set if a mistake in the document may hide part of the
	// input: what a module reports on the input would repeat that mistake.
	InputUnsure bool
	Policies    []Policy
	// PolicyOverrides loosen policies of the project for this spec.
	PolicyOverrides []PolicyOverride
	// Adopt is the default of the nodes' apply.adopt; "" if not given.
	Adopt string
	// Instance is the path to an instance of a bundle of Timoni, in the file of the bundle:
	// bundle.instances.app. It is nil for a document.
	Instance object.Path
	// AllowSecrets names the Secrets that may be rendered with data in them, by patterns
	// of path.Match: "app-tls", "app-*".
	AllowSecrets []string
	// AllowSecretsPos has the position of each of them.
	AllowSecretsPos []object.Pos
	// Written maps errors on the input to the text of the author; nil if the author wrote the
	// input itself.
	Written func(object.Errors) object.Errors
	// Component describes the objects without CUE, in place of CueRef and Input;
	// it is of KindNone for other specs. See [DecodeComponent].
	Component object.Value
	// HelmSets are arguments of Helm that an engine has for the chart of Component.
	HelmSets []HelmSet
	// OfUnit is the field of [Component].
	OfUnit bool
	// Blocks are the block scalars of the document of a component, see [Manifest].
	Blocks map[object.Pos]Block
	// Overlays are laid over the objects, in order.
	Overlays []Overlay
}

// ComponentPath returns the path to Component in the document.
func (t Transform) ComponentPath() object.Path {
	if t.Kind == KindComponent {
		return object.Fields("spec")
	}
	return object.Fields("spec", "component")
}

// InputPath returns the path to the input in the document.
func (t Transform) InputPath() object.Path {
	if t.Kind == KindPivotCluster || t.Kind == KindGateway {
		return object.Fields("spec")
	}
	return object.Fields("spec", "input")
}

// RefPath returns the path to the reference to the module in the document.
func (t Transform) RefPath() object.Path {
	if t.Kind == KindPivotCluster {
		return object.Fields("spec", clusterModule)
	}
	if t.Kind == KindGateway {
		return object.Fields("spec", moduleField)
	}
	return object.Fields("spec", "cueRef")
}

// RefType is the type of the source of a module.
type RefType string

// Names of types that code has to distinguish; package reftype is the table of all.
const (
	RefPath      RefType = reftype.Path
	RefEmbedded  RefType = reftype.Embedded
	RefInline    RefType = reftype.Inline
	RefConfigMap RefType = reftype.ConfigMap
)

// CueRef names a module.
type CueRef struct {
	Type    RefType
	TypePos object.Pos
	// Ref is a path relative to the file of the spec (path), a name (embedded,
	// configmap), CUE text (inline) or a URL.
	Ref string
	// Path is a sub-path inside what Ref names, for every type.
	Path    string
	PathPos object.Pos
	// PullSecretRef is the name of a Secret with credentials.
	PullSecretRef string
	Verify        *Verify
	Pos           object.Pos
	// RefPos is the position of Ref. For an inline module it is the position of the
	// first line of the text, and RefIndent the indentation of later lines.
	RefPos    object.Pos
	RefIndent int
	// Generated is set if the program wrote the text of an inline module. All of it is at RefPos.
	Generated bool
	// VersionPos is the position of the version if it is a field of its own, as for charts
	// and in bundles of Timoni.
	VersionPos object.Pos
	// DigestPos is the position of the digest beside the version in a bundle.
	DigestPos object.Pos
}

// Verify requires a signature.
type Verify struct {
	Provider  string // cosign, pgp, ssh
	SecretRef string
}

// Policy is a policy module that checks a spec.
type Policy struct {
	Name   string
	CueRef CueRef
	Input  object.Value
	Pos    object.Pos
	// Overridable allows specs to loosen a policy of a project.
	Overridable bool
}

// The actions by which a spec loosens the errors of a policy.
const (
	ActionWarning = "warning"
	ActionIgnore  = "ignore"
)

// PolicyOverride loosens a policy of the project for one spec.
type PolicyOverride struct {
	Policy, Action, Reason string
	// Pos and Path are its place in the document.
	Pos  object.Pos
	Path object.Path
}

// Project defines the specs that are rendered together, and their context.
type Project struct {
	Name string
	Pos  object.Pos
	// Specs are paths or globs relative to the file of the project. Without any, every
	// spec below its folder belongs to it.
	Specs    []Pattern
	Context  Context
	Policies []Policy
	// WorkloadDefaults is the field workloads, as it was written; see
	// [Project.Workloads].
	WorkloadDefaults object.Value
	// Environments are by name.
	Environments map[string]Environment
	// Previews are the rules of its previews; the zero value allows none.
	Previews Previews
}

// Previews are the rules for the namespaces and hosts of a preview: a text with ${preview}, and
// ${namespace} or ${host} for the value without a preview.
type Previews struct {
	Pos object.Pos
	// Namespace must be given; Host is "" if nothing is served.
	Namespace, Host Text
}

// Pattern is a path or a glob.
type Pattern struct {
	Glob string
	Pos  object.Pos
}

// Context is the environment that objects are rendered for; "" means not given.
type Context struct {
	Namespace     string
	ClusterDomain string
	KubeVersion   string
	Engine        string
	Pos           object.Pos
}

// Environment overlays a project.
type Environment struct {
	Name    string
	Pos     object.Pos
	Context Context
	// Inputs overlays the input of the spec of that name, leaf by leaf.
	Inputs map[string]Input
	// Workloads is merged over the workloads of the project, leaf by leaf.
	Workloads object.Value
	Isolation Isolation
	// Clusters are the names of its Installations, in which * stands for any text; an empty list
	// allows all.
	Clusters []Text
}

// Isolation separates the namespace of an environment from others; the zero value separates
// nothing.
type Isolation struct {
	Pos object.Pos
	// Namespace makes the Namespace, with labels for the standard PodSecurity, or without labels if "".
	Namespace   bool
	PodSecurity string
	// Quota limits the requests of all pods together; "" means no limit.
	Quota struct{ CPU, Memory, Pods string }
	// DefaultDeny denies all traffic that no policy allows; DenyPos is its place.
	DefaultDeny bool
	DenyPos     object.Pos
}

// Input is an input that an environment merges over the input of a spec.
type Input struct {
	Pos   object.Pos
	Value object.Value
}
