// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// verdict is the meaning of an edge for the waves.
type verdict struct {
	// gate is whether its end must be in an earlier wave than its start.
	gate bool
	// free edges do not constrain the waves of their ends at all.
	free bool
	// loose edges constrain waves, but not the order inside a wave.
	loose bool
	// why is for people; it becomes text only where that is read.
	why why
}

// why is why an edge gates, or does not.
type why int

const (
	// Gating.
	whyReady why = iota
	whyAuthored
	whyWorkload
	whyOrder
	whyRejected
	// Not gating.
	whyInWave
	whyRetried
	whyNeverReady
	whyClaim
)

// explicit returns the verdict on an edge that an author wrote from one node to another.
func (e *engine) explicit(dependent, dependency traits, uses bool) verdict {
	switch {
	case dependency.neverReady == dialect.ClaimUnbound && uses:
		return verdict{loose: true, why: whyClaim}
	case dependency.authored:
		return verdict{gate: true, why: whyAuthored}
	case dependency.ready:
		return verdict{gate: true, why: whyReady}
	case e.before(dependency, dependent):
		return verdict{why: whyInWave}
	}
	return verdict{gate: true, why: whyOrder}
}

// pair returns the verdict on one pair of a join. A join is about all nodes of a spec at once, so
// it leaves out those that are never ready: only a dependency that names such a node waits for
// it.
func (e *engine) pair(dependent, dependency traits) verdict {
	if leftOut(dependency) {
		return verdict{free: true, why: whyNeverReady}
	}
	return e.explicit(dependent, dependency, false)
}

// leftOut reports whether a join leaves the node out. A LoadBalancer it does not, because
// pods reach each other through it.
func leftOut(dependency traits) bool {
	return dependency.neverReady != "" && dependency.neverReady != dialect.LoadBalancerAddress
}

// inferred returns the verdict on an edge that follows from the objects.
func (e *engine) inferred(rule graph.Rule, dependent, dependency traits) verdict {
	switch {
	case dependency.neverReady == dialect.ClaimUnbound:
		return verdict{loose: true, why: whyClaim}
	case dependency.neverReady != "":
		return verdict{free: true, loose: true, why: whyNeverReady}
	case rule == graph.RuleWebhook && dependency.ready:
		return verdict{gate: true, why: whyWorkload}
	case dependency.authored && dependency.custom && needsReady(rule):
		return verdict{gate: true, why: whyAuthored}
	case e.before(dependency, dependent) || rule == graph.RuleNamespace || rule == graph.RuleCRD:
		return verdict{why: whyInWave}
	case dependent.ref.GroupKind() == "Pod" && rule == graph.RuleClass:
		// The API server rejects a Pod at once, where the controller of a workload
		// tries again.
		return verdict{gate: true, why: whyRejected}
	}
	return verdict{loose: true, why: whyRetried}
}

// needsReady reports whether the start of an inferred edge is of no use until its end
// is ready, where the author defines when that is.
func needsReady(rule graph.Rule) bool {
	switch rule {
	case graph.RuleSecret, graph.RuleReference, graph.RuleConfigMap, graph.RuleClass, graph.RuleService:
		return true
	default:
		return false
	}
}

// sentence explains to people a verdict on the edge from -> to.
func (e *engine) sentence(v verdict, dependent, dependency traits, id object.ID) string {
	name := fmt.Sprintf("%s (%s)", id, dependency.ref.Kind)
	switch v.why {
	case whyReady:
		return name + " must be ready first"
	case whyAuthored:
		return name + " must meet its readyWhen first"
	case whyWorkload:
		return name + " answers the calls of the API server and must be ready first"
	case whyOrder:
		return fmt.Sprintf("%s has no readiness to wait for, but in the same wave %s %s", name, e.Title, e.contrary(dependent, dependency))
	case whyRejected:
		return fmt.Sprintf("the API server rejects a Pod without its %s, which %s applies later in the same wave", dependency.ref.Kind, e.Title)
	case whyInWave:
		if e.KeepsOrder {
			return name + " is written first in the same wave"
		}
		return fmt.Sprintf("in the same wave %s applies %s before %s", e.Title, withArticle(dependency.ref.Kind), withArticle(dependent.ref.Kind))
	case whyNeverReady:
		return fmt.Sprintf("no object waits for %s: %s", name, dependency.neverReady)
	case whyClaim:
		return fmt.Sprintf("%s is in the wave of its first user: %s", name, dependency.neverReady)
	case whyRetried:
	}
	return fmt.Sprintf("%s and %s may be applied in either order: the cluster retries until both exist",
		withArticle(dependent.ref.Kind), withArticle(dependency.ref.Kind))
}

// contrary returns how the engine's own order fails an edge.
func (e *engine) contrary(dependent, dependency traits) string {
	switch {
	case dependent.ref.Kind == dependency.ref.Kind && !e.Serial:
		return fmt.Sprintf("applies every %s at the same time", dependent.ref.Kind)
	case e.before(dependent, dependency):
		return fmt.Sprintf("applies %s before it", withArticle(dependent.ref.Kind))
	}
	return fmt.Sprintf("may apply %s before it", withArticle(dependent.ref.Kind))
}

// withArticle puts the article before a kind.
func withArticle(kind string) string {
	if kind == "" {
		return "an object"
	}
	if strings.ContainsRune("AEIO", rune(kind[0])) || strings.HasPrefix(kind, "HTTP") || strings.HasPrefix(kind, "HPA") {
		return "an " + kind
	}
	return "a " + kind
}
