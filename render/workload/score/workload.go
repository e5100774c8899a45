// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Text is text with the position where a user wrote it. The zero value means that
// nothing was written.
type Text struct {
	Value string
	Pos   object.Pos
}

// Pair is a name with text.
type Pair struct {
	Name    string
	NamePos object.Pos
	Value   Text
}

// The kinds of Kubernetes object that a workload can become.
const (
	KindDeployment     = "Deployment"
	KindStatefulSet    = "StatefulSet"
	KindJob            = "Job"
	KindCronJob        = "CronJob"
	KindKnativeService = "KnativeService"
)

// Workload is a workload spec: a Score file or a document of kind Workload,
// decoded, defaulted where Score defines a default, and valid by itself.
type Workload struct {
	// Name is a DNS label of 2 to 63 letters (1 to 63 in a document of kind Workload).
	Name Text
	// Namespace is "" for the namespace of the project's context.
	Namespace Text
	// Environment is the environment that the document is for, or "" for all.
	Environment Text
	Pos         object.Pos
	// Score is set if the document is a Score file.
	Score bool
	// Metadata is the metadata of the document, which ${metadata…} reads.
	Metadata object.Value

	// Annotations stand on the workload object and on its pods, Labels on every
	// object and on the pods, PodAnnotations on the pods only. Sorted by name.
	Annotations    []Pair
	Labels         []Pair
	PodAnnotations []Pair
	// PodLabels stand on the pods only: the labels that the identity requires.
	PodLabels []Pair

	// Kind is one of the Kind constants; "" if none is set, so that claims decide between
	// Deployment and StatefulSet.
	Kind Text
	// Schedule is the cron expression of a CronJob.
	Schedule Text
	// Containers and Resources are sorted by name; [Container.Order] is the order of
	// containers in the document. A valid workload has at least one container.
	Containers []Container
	Resources  []Resource
	// Ports are the ports of the service, sorted by name.
	Ports []Port
	// Headless is the position of the field headless, which asks for a Service without an
	// address of its own: its name leads to the pods, at any port. Otherwise it is invalid.
	Headless object.Pos

	// Replicas is nil if none are set, and for a KnativeService.
	Replicas *Replicas
	// Serving is {concurrencyLimit, timeout in seconds} and, for a KnativeService, the
	// scaling: {min, max, cooldown in seconds, metric: concurrency | rps, target}. It is
	// KindNone if nothing is set.
	Serving        object.Value
	Deploy         Deploy
	ServiceAccount ServiceAccount
	// Network is the traffic that the author allows beside the calls between workloads,
	// or nil if the author wrote no rules.
	Network *Rules
	// Passed holds the fields that go into the input of the module as they are, sorted by
	// name (see Passed of render/document), or KindNone.
	Passed object.Value
	// Pod and Job hold further fields of the spec of the pod, and of the spec of the
	// Job or CronJob, in the shape of the Kubernetes API.
	Pod object.Value
	Job object.Value
	// AllowSecrets are names, or patterns, of Secrets that may hold data.
	AllowSecrets []Text
	// PolicyOverrides loosen policies of the project.
	PolicyOverrides []spec.PolicyOverride
	// DependsOn names other specs of the project whose nodes come first.
	DependsOn []Text
	// Overlays are laid over the objects of the workload and of the resources that it owns.
	Overlays []spec.Overlay
}

// Container is one container of a workload.
type Container struct {
	Name string
	Pos  object.Pos
	// Order is the index of the container in the document, from 0; containers that are
	// only merged over it come last.
	Order int
	// Image is "." if it is given at deployment.
	Image   Text
	Command []Text
	Args    []Text
	// Variables are sorted by name; values are not expanded yet.
	Variables []Pair
	// Secrets are the variables whose values are secrets, sorted by name.
	Secrets []SecretVariable
	// Files and Volumes are sorted by target.
	Files   []File
	Volumes []Mount
	// Before are the containers that wait for this one, sorted by name.
	Before []Before
	// Requests and Limits hold cpu and memory (and the other resources of a Workload),
	// sorted by name. Values are valid quantities of Kubernetes.
	Requests []Pair
	Limits   []Pair
	// LivenessProbe, ReadinessProbe and StartupProbe have the shape of the
	// Kubernetes API, with timing, or are KindNone.
	LivenessProbe  object.Value
	ReadinessProbe object.Value
	StartupProbe   object.Value
	// SecurityContext has the shape of the Kubernetes API.
	SecurityContext object.Value
	// Further holds further fields of the container in the shape of the
	// Kubernetes API (imagePullPolicy, workingDir, lifecycle, …).
	Further object.Value
}

// File is a file of a container. It has exactly one of Content, Binary and Source.
type File struct {
	// Target is the absolute path in the container.
	Target string
	Pos    object.Pos
	// Content is text that is expanded unless NoExpand.
	Content *Text
	// Indent is the number of columns before each line of Content in the document, for
	// positions inside of it; Content.Pos is the position of its first character.
	Indent int
	// Binary is used unchanged.
	Binary []byte
	// Source is a path relative to the document.
	Source *Text
	// Mode has the permission bits, or is nil if not given.
	Mode     *int
	ModePos  object.Pos
	NoExpand bool
	// Secret is the position of the field secret, which asks for a Secret, or invalid.
	Secret object.Pos
}

// Mount is a volume that is mounted into a container.
type Mount struct {
	// Target is the absolute path in the container.
	Target string
	Pos    object.Pos
	// Source names a volume resource, with a placeholder or by its name.
	Source   Text
	Path     Text
	ReadOnly bool
}

// The states of a container that others wait for.
const (
	ReadyStarted  = "started"
	ReadyHealthy  = "healthy"
	ReadyComplete = "complete"
)

// Before makes its container start before another container.
type Before struct {
	Container string
	Pos       object.Pos
	// Ready is one of the Ready constants.
	Ready string
}

// Port is a port of the service.
type Port struct {
	Name string
	Pos  object.Pos
	// Port is the port of the service, Target the port of the container, which is Port by
	// default. 1 to 65535.
	Port   int
	Target int
	// Protocol is TCP or UDP.
	Protocol string
}

// Directions of a resource.
const (
	DirectionOutbound = "outbound"
	DirectionInbound  = "inbound"
)

// Resource is something that a workload needs.
type Resource struct {
	Name string
	Pos  object.Pos
	Type Text
	// Class is "" if not given: the class is then "default".
	Class Text
	// ID is "" if the resource is not shared.
	ID Text
	// Metadata and Params are maps, or KindNone; Params may hold placeholders.
	Metadata object.Value
	Params   object.Value
	// Direction is one of the Direction constants, or "" if not given.
	Direction Text
	// Wait is set if the workload waits until the resource, or the other
	// workload, is ready: a service opens a wave only then.
	Wait bool
}

// Strategies of deployment.
const (
	StrategyRolling = "rolling"
	StrategyCanary  = "canary"
)

// Deploy configures the release of a new version.
type Deploy struct {
	Pos object.Pos
	// Strategy is one of the Strategy constants, or "" if not given.
	Strategy string
	Canary   Canary
}

// Canary configures a canary release; the zero value means the defaults of Ropewalk
// (interval 1m, threshold 5, maxWeight 50, stepWeight 10).
type Canary struct {
	// Interval is a duration in minutes or seconds, such as 1m or 30s.
	Interval                         string
	Threshold, MaxWeight, StepWeight int
}

// ServiceAccount is the account of the pods.
type ServiceAccount struct {
	// Name is "" for the name of the workload.
	Name        Text
	Annotations []Pair
	// Existing is set if the account exists already and is not made.
	Existing bool
	// MountToken lets the pods call the Kubernetes API.
	MountToken bool
}
