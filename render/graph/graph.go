// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"iter"

	"github.com/ropewalk/ropewalk/render/object"
)

// Rule names the reason for an edge.
type Rule string

// Rules of explicit edges.
const (
	// RuleDependsOn is a dependsOn of a node on a node, or on a complete spec.
	RuleDependsOn Rule = "dependsOn"
	// RuleSpec is a dependsOn of a spec on a spec.
	RuleSpec Rule = "spec"
	// RuleSet is the order of the apply sets of a module.
	RuleSet Rule = "set"
	// RuleAnnotation is config.kubernetes.io/depends-on on an object.
	RuleAnnotation Rule = "annotation"
)

// Rules of inferred edges.
const (
	RuleNamespace      Rule = "namespace"
	RuleCRD            Rule = "crd"
	RuleServiceAccount Rule = "serviceAccount"
	RuleConfigMap      Rule = "configMap"
	RuleSecret         Rule = "secret" // a Secret, or the object that produces it
	RuleClaim          Rule = "persistentVolumeClaim"
	RuleVolume         Rule = "persistentVolume"
	RuleClass          Rule = "class" // StorageClass, IngressClass, PriorityClass, RuntimeClass, GatewayClass
	RuleRole           Rule = "role"  // binding -> role and subjects; workload -> bindings of its account
	RuleService        Rule = "service"
	RuleWebhook        Rule = "webhook"     // webhook or APIService -> the workload behind it; custom resource -> its webhook
	RuleScaleTarget    Rule = "scaleTarget" // autoscaler or Canary -> what it scales
	RuleSelector       Rule = "selector"    // PodDisruptionBudget -> the pods it selects
	RuleReference      Rule = "reference"   // custom resource -> the one it names: issuer, store, gateway
	RuleOwner          Rule = "owner"
	RuleQuota          Rule = "quota"
)

// Edge makes To come before From.
type Edge struct {
	From, To object.ID
	Rule     Rule
	// Explicit edges were written by an author.
	Explicit bool
	// Path is the field of the object of From that makes the edge, for inferred
	// edges and annotations.
	Path object.Path
	// Pos is the line of an explicit edge.
	Pos object.Pos
}

// Join makes every node of To come before every node of From. A dependency of a complete spec or
// apply set is kept in this form: the product of two large specs would be most of the graph, and no
// reader wants it pair by pair. [Graph.All] gives the pairs. Joins are explicit.
type Join struct {
	// Rule is RuleSpec, RuleSet, or RuleDependsOn for a node on a complete spec.
	Rule Rule
	// FromName and ToName name the two sides for people: the name of a spec, of a set as spec[set],
	// or the id of a node.
	FromName, ToName string
	// From and To are sorted. They are shared between joins: read only.
	From, To []object.ID
	// Pos is the line that declares it; not valid for sets.
	Pos object.Pos
}

// Graph is all nodes of a render and the edges between them.
type Graph struct {
	// Nodes are sorted by id.
	Nodes []*object.Node
	// Edges are sorted by From, To and Rule; there is at most one edge for each
	// From, To and Rule, and no cycle, not with the joins either.
	Edges []Edge
	// Joins are sorted by FromName, ToName and Rule.
	Joins []Join
	// Dropped are the inferred edges that are left out because they would close
	// a cycle; sorted like Edges.
	Dropped []Edge
	// Warnings are about references that nothing answers to; sorted.
	Warnings object.Errors
	// Needs are the objects that must be in the cluster already; sorted by what they are.
	Needs []Need
}

// All returns every edge, and every pair of every join as an edge. That is a product of specs, so
// it is for tests and small graphs.
func (g *Graph) All() iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		for _, e := range g.Edges {
			if !yield(e) {
				return
			}
		}
		for _, j := range g.Joins {
			for _, from := range j.From {
				for _, to := range j.To {
					if !yield(Edge{From: from, To: to, Rule: j.Rule, Explicit: true, Pos: j.Pos}) {
						return
					}
				}
			}
		}
	}
}

// Spec holds what the graph needs of a spec besides its nodes.
type Spec struct {
	Name string
	Pos  object.Pos
	// DependsOn names other specs of the project.
	DependsOn []object.SpecDependency
	// Broken means that mistakes of its own hide the nodes of the spec: what
	// depends on it or on its nodes is not checked.
	Broken bool
}
