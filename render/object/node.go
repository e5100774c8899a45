// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// ID names a node of a project: <spec>/<node>.
type ID string

// MakeID returns the id of a node of a spec.
func MakeID(spec, node string) ID { return ID(spec + "/" + node) }

// Spec returns the part before the slash.
func (id ID) Spec() string {
	spec, _, _ := strings.Cut(string(id), "/")
	return spec
}

// Node returns the part after the slash.
func (id ID) Node() string {
	_, node, _ := strings.Cut(string(id), "/")
	return node
}

// Node is one object of a render, with the policies of its author.
type Node struct {
	ID     ID
	Object Object

	// DependsOn holds the explicit dependencies, as written.
	DependsOn []Dependency
	// ReadyWhen holds rules that must all hold; empty means what the engine
	// knows of the kind.
	ReadyWhen []Ready
	// Needs holds what must be in the cluster first and is not part of the render.
	Needs []Need
	// Apply holds the policies as written; see [Apply.WithDefaults].
	Apply Apply

	// Set is the number of the ordered apply set that the node belongs to,
	// from 1, for modules that order by sets (Timoni); 0 means none. Every node
	// of a set depends on every node of the set before it in the same spec.
	Set int
	// SetName is the name of that set in the module.
	SetName string

	// Pos is the line of the module that made the node.
	Pos Pos
	// SpecPos is the line of the spec that used the module.
	SpecPos Pos
}

// Dependency is a node that must come first. ID is always complete: a bare id
// was resolved to the spec of the node that named it. A Dependency on a complete
// spec has an ID without a node part and ends in a slash.
type Dependency struct {
	ID  ID
	Pos Pos
}

// SpecDependency is the name of a spec whose nodes come first.
type SpecDependency struct {
	Name string
	Pos  Pos
}

// Readiness rules.
const (
	ReadyExists              = "Exists"
	ReadyConditionMatch      = "ConditionMatch"
	ReadyDeploymentAvailable = "DeploymentAvailable"
	ReadyCEL                 = "CEL"
)

// Ready is one rule for when an object is ready.
type Ready struct {
	// Type is one of the Ready constants.
	Type string `json:"type"`
	// Condition and Status are for ConditionMatch; Status defaults to True.
	Condition string `json:"condition,omitempty"`
	Status    string `json:"status,omitempty"`
	// Expr is a CEL expression over object, for CEL. Flux calls the same value
	// by its fields (status.phase); both spellings are accepted.
	Expr string `json:"expr,omitempty"`
	// Timeout limits the time until the object is ready, as [ParseTimeout] reads it; "" leaves that
	// to the engine.
	Timeout string `json:"timeout,omitempty"`
	Pos     Pos    `json:"-" cbor:"pos"`
	// ExprPos is the position of the first character of Expr, if Expr is written as it is.
	ExprPos Pos `json:"-" cbor:"exprPos"`
}

// TimeoutWords describes a timeout of [Ready], for messages.
const TimeoutWords = "a duration from 1s to 24h, such as 10m"

// ParseTimeout reads a timeout of [Ready]: a duration of Go from 1s to 24h.
func ParseTimeout(text string) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= time.Second && d <= 24*time.Hour
}

// Timeout returns how long a node may take to be ready, or 0 if no rule says. All rules have to
// hold, so that the longest counts: with 1m for one rule and 10m for another the node has 10m.
func (n *Node) Timeout() time.Duration {
	var longest time.Duration
	for _, r := range n.ReadyWhen {
		if d, ok := ParseTimeout(r.Timeout); ok {
			longest = max(longest, d)
		}
	}
	return longest
}

// Need is an object outside of the render that must be in the cluster before a node is applied,
// such as a Secret that an operator of another team writes.
type Need struct {
	// APIVersion is v1 if the author wrote no version.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Namespace is the namespace of the node's object if the author wrote no namespace.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Ready is the type of a condition that must be True; with "" the object has to exist.
	Ready string `json:"ready,omitempty"`
	Pos   Pos    `json:"-" cbor:"pos"`
}

// MaxNeeds limits the needs of a node: the controller asks the API server for each of them.
const MaxNeeds = 16

// String returns how messages name the object, such as Secret shop/db.
func (n Need) String() string {
	if n.Namespace == "" {
		return n.Kind + " " + n.Name
	}
	return n.Kind + " " + n.Namespace + "/" + n.Name
}

// In returns the need of an object in a namespace, with what the author left out.
func (n Need) In(namespace string) Need {
	n.APIVersion = cmp.Or(n.APIVersion, "v1")
	n.Namespace = cmp.Or(n.Namespace, namespace)
	return n
}

// Apply policies. "" means that it is not set.
type Apply struct {
	Mode     string `json:"mode,omitempty"`     // Apply, Create, Replace, Force
	Conflict string `json:"conflict,omitempty"` // Engine, Error
	Adopt    string `json:"adopt,omitempty"`    // Never, TakeOwnership, Mirror
	Deletion string `json:"deletion,omitempty"` // Delete, Orphan
	Prune    *bool  `json:"prune,omitempty"`
}

// Values of the apply policies.
const (
	ModeApply   = "Apply"
	ModeCreate  = "Create"
	ModeReplace = "Replace"
	ModeForce   = "Force"

	ConflictEngine = "Engine"
	ConflictError  = "Error"

	AdoptNever         = "Never"
	AdoptTakeOwnership = "TakeOwnership"
	AdoptMirror        = "Mirror"

	DeletionDelete = "Delete"
	DeletionOrphan = "Orphan"
)

// WithDefaults fills what the author left out. Kinds that hold data or that
// other data hangs on (CustomResourceDefinition, Namespace, PersistentVolume,
// PersistentVolumeClaim) are neither pruned nor deleted unless the author requires
// for it.
func (a Apply) WithDefaults(r Ref) Apply {
	keep := HoldsData(r)
	a.Mode = cmp.Or(a.Mode, ModeApply)
	a.Conflict = cmp.Or(a.Conflict, ConflictEngine)
	a.Adopt = cmp.Or(a.Adopt, AdoptTakeOwnership)
	if a.Deletion == "" {
		a.Deletion = DeletionDelete
		if keep {
			a.Deletion = DeletionOrphan
		}
	}
	if a.Prune == nil {
		prune := !keep
		a.Prune = &prune
	}
	return a
}

// HoldsData reports whether losing an object of the kind loses data.
func HoldsData(r Ref) bool {
	switch r.GroupKind() {
	case "CustomResourceDefinition.apiextensions.k8s.io", "Namespace",
		"PersistentVolume", "PersistentVolumeClaim":
		return true
	}
	return false
}

// SortNodes orders nodes by id, in place.
func SortNodes(nodes []*Node) {
	slices.SortFunc(nodes, func(a, b *Node) int { return strings.Compare(string(a.ID), string(b.ID)) })
}

// Context describes the surroundings of a module; it mirrors #Context of the CUE schema.
type Context struct {
	Name          string `json:"name"`
	Namespace     string `json:"namespace"`
	Environment   string `json:"environment,omitempty"`
	Engine        string `json:"engine"` // plain, argocd, flux
	KubeVersion   string `json:"kubeVersion"`
	ClusterDomain string `json:"clusterDomain"`
}
