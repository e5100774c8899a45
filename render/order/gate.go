// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// verdict is what an edge means for the waves.
type verdict struct {
	// gate is whether its end must be in an earlier wave than its start.
	gate bool
	// free edges do not bind the waves of their ends at all.
	free bool
	// loose edges bind waves, but not the order inside one.
	loose bool
	// why is for people; it is written only where it is asked for.
	why reason
}

// reason is why an edge gates, or does not.
type reason int

const (
	// Gating.
	whyReady reason = iota
	whyAuthored
	whyWorkload
	whyOrder
	whyRefused
	// Not gating.
	whyInWave
	whySettles
	whyTrap
	whyClaim
)

// named is the verdict on an edge that an author wrote from one node to
// another.
func (e *engine) named(from, to nature, uses bool) verdict {
	switch {
	case to.trap == TrapClaim && uses:
		return verdict{loose: true, why: whyClaim}
	case to.authored:
		return verdict{gate: true, why: whyAuthored}
	case to.ready:
		return verdict{gate: true, why: whyReady}
	case e.before(to, from):
		return verdict{why: whyInWave}
	}
	return verdict{gate: true, why: whyOrder}
}

// broad is the verdict on one pair of a dependency between specs or sets. It
// asks for all nodes of a spec at once, so it does not mean those that may hang:
// only a dependency that names such a node waits for it. A Service is meant all
// the same, because others reach pods through it.
func (e *engine) broad(from, to nature) verdict {
	if skips(to) {
		return verdict{free: true, why: whyTrap}
	}
	return e.named(from, to, false)
}

// skips reports whether a dependency on a whole spec leaves the node out.
func skips(to nature) bool { return to.trap != TrapNone && to.trap != TrapLoadBalancer }

// inferred is the verdict on an edge that follows from the objects.
func (e *engine) inferred(rule graph.Rule, from, to nature) verdict {
	switch {
	case to.trap == TrapClaim:
		return verdict{loose: true, why: whyClaim}
	case to.trap != TrapNone:
		return verdict{free: true, loose: true, why: whyTrap}
	case rule == graph.RuleWebhook && to.ready:
		return verdict{gate: true, why: whyWorkload}
	case to.authored && to.custom && needsReady(rule):
		return verdict{gate: true, why: whyAuthored}
	case e.before(to, from) || rule == graph.RuleNamespace || rule == graph.RuleCRD:
		return verdict{why: whyInWave}
	case from.ref.GroupKind() == "Pod" && rule == graph.RuleClass:
		// The API server refuses a Pod at once, where the controller of a
		// workload tries again.
		return verdict{gate: true, why: whyRefused}
	}
	return verdict{loose: true, why: whySettles}
}

// needsReady reports whether the start of an inferred edge is of no use until
// its end is ready, where the author says when that is.
func needsReady(rule graph.Rule) bool {
	switch rule {
	case graph.RuleSecret, graph.RuleReference, graph.RuleConfigMap, graph.RuleClass, graph.RuleService:
		return true
	default:
		return false
	}
}

// sentence says for people what a verdict on the edge from -> to rests on.
func (e *engine) sentence(v verdict, from, to nature, id object.ID) string {
	switch v.why {
	case whyReady:
		return fmt.Sprintf("%s, %s, must be ready first", id, a(to.ref.Kind))
	case whyAuthored:
		return fmt.Sprintf("%s, %s, must meet its readyWhen first", id, a(to.ref.Kind))
	case whyWorkload:
		return fmt.Sprintf("%s, %s, answers the calls and must be ready first", id, a(to.ref.Kind))
	case whyOrder:
		return fmt.Sprintf("%s, %s, has no readiness to wait for, but inside a wave %s %s",
			id, a(to.ref.Kind), e.Name, e.contrary(from, to))
	case whyRefused:
		return fmt.Sprintf("the API server refuses a Pod without its %s, which %s applies later inside a wave", to.ref.Kind, e.Name)
	case whyInWave:
		if e.KeepsOrder {
			return fmt.Sprintf("%s comes first inside a wave", id)
		}
		return fmt.Sprintf("inside a wave %s applies %s before %s", e.Name, a(to.ref.Kind), a(from.ref.Kind))
	case whyTrap:
		return fmt.Sprintf("nothing waits for %s: %s", id, to.trap)
	case whyClaim:
		return fmt.Sprintf("%s shares the wave of its first user: %s", id, to.trap)
	case whySettles:
	}
	return fmt.Sprintf("the order of %s and %s inside a wave is open, and settles by itself", from.ref.Kind, to.ref.Kind)
}

// contrary says how the engine's own order fails an edge.
func (e *engine) contrary(from, to nature) string {
	switch {
	case from.ref.Kind == to.ref.Kind && !e.Serial:
		return fmt.Sprintf("applies every %s at once", from.ref.Kind)
	case e.before(from, to):
		return fmt.Sprintf("applies %s before it", a(from.ref.Kind))
	}
	return fmt.Sprintf("does not say whether %s comes before it", a(from.ref.Kind))
}

// a puts the article before a kind.
func a(kind string) string {
	if kind == "" {
		return "an object"
	}
	if strings.ContainsRune("AEIO", rune(kind[0])) || strings.HasPrefix(kind, "HTTP") || strings.HasPrefix(kind, "HPA") {
		return "an " + kind
	}
	return "a " + kind
}
