// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// waited is a node that a layer waits for, and its rule; "" where Flux's own health of
// the kind applies.
type waited struct {
	node *object.Node
	rule string
}

// fluxRule joins the rules of n into one expression. It is false where a field is
// missing: Flux then checks again.
func (w *writer) fluxRule(n *object.Node, exprs []*ruleText) string {
	var parts []string
	for i, e := range exprs {
		flux, err := e.flux()
		if err != nil {
			w.reportProblems(n, []problem{{rule: i, fatal: true, err: err}})
			continue
		}
		if len(flux.lost) > 0 {
			//nolint:staticcheck // Flux is a name
			err := fmt.Errorf("Flux cannot express %q: it has no variable for %s", e.text, strings.Join(flux.lost, ", nor for "))
			w.reportProblems(n, []problem{{rule: i, err: err, hint: "read a field below it, such as has(status.phase)"}})
		}
		if flux.text != "true" {
			parts = append(parts, flux.text)
		}
	}
	switch {
	case len(n.ReadyWhen) == 0:
		return ""
	case len(parts) == 0:
		return "true"
	case len(parts) == 1:
		return parts[0]
	}
	return "(" + strings.Join(parts, ") && (") + ")"
}

// healthExpr returns the expression of one kind in one layer. It returns nil if Flux's own health
// applies to all of its nodes.
//
// Flux accepts one expression for a kind and evaluates it on every object of that kind that it
// checks. Nodes with different rules are distinguished by their names in metadata. They thus stay
// in one layer and one Kustomization: each more costs a poll of its dependency.
func (w *writer) healthExpr(nodes []waited) map[string]any {
	// Group the nodes by their rule; those without one keep the health of Flux.
	slices.SortFunc(nodes, func(a, b waited) int { return a.node.Object.Ref().Compare(b.node.Object.Ref()) })
	groups := map[string][]object.Ref{}
	ruled := false
	for _, n := range nodes {
		groups[n.rule] = append(groups[n.rule], n.node.Object.Ref())
		ruled = ruled || n.rule != ""
	}
	if !ruled {
		return nil
	}
	if bare := groups[""]; len(bare) > 0 {
		w.addNativeRule(nodes, groups, bare)
	}

	// One rule holds for all nodes, several hold for the nodes that they name.
	current := ""
	switch rules := object.SortedKeys(groups); len(rules) {
	case 1:
		current = rules[0]
	default:
		var cases []string
		for _, rule := range rules {
			cases = append(cases, named(groups[rule], rule)...)
		}
		current = strings.Join(cases, " || ")
	}
	first := nodes[0].node.Object
	expr := map[string]any{"apiVersion": first.APIVersion(), "kind": first.Kind(), "current": current}
	// Flux checks for failure first; an object that is ready by existing cannot fail.
	if failed := nativeFailure(first.Ref()); failed != "" && groups["true"] == nil {
		expr["failed"] = failed
	}
	return expr
}

// addNativeRule spells out Flux's own health for the nodes of a kind that have no rule
// beside others that do: the expression of the kind is evaluated on them too.
func (w *writer) addNativeRule(nodes []waited, groups map[string][]object.Ref, bare []object.Ref) {
	rule, exact := nativeReady(bare[0])
	delete(groups, "")
	groups[rule] = append(groups[rule], bare...)
	if exact {
		return
	}
	for _, n := range nodes {
		if n.rule == "" {
			w.warn(n.node, "readyWhen", "set readyWhen on it",
				"flux checks %s by its condition Ready, because another %s of the layer has readyWhen", n.node.Object.Ref(), n.node.Object.Kind())
		}
	}
}

// named returns a rule for the objects of refs only: one case for each namespace.
func named(refs []object.Ref, rule string) []string {
	spaces := map[string][]string{}
	for _, r := range refs {
		spaces[r.Namespace] = append(spaces[r.Namespace], strconv.Quote(r.Name))
	}
	var out []string
	for _, space := range object.SortedKeys(spaces) {
		names := spaces[space]
		slices.Sort(names)
		guard := "metadata.name in [" + strings.Join(names, ", ") + "]"
		if space != "" {
			guard = "metadata.namespace == " + strconv.Quote(space) + " && " + guard
		}
		out = append(out, guard+" && ("+rule+")")
	}
	return out
}

// nativeReady returns when Flux itself counts an object as ready, in CEL. It returns false for a
// kind of which only the usual conditions are known. Sources: fluxcd/cli-utils,
// pkg/kstatus/status.
func nativeReady(r object.Ref) (rule string, exact bool) {
	has := func(condition string) string {
		return `has(status.conditions) && status.conditions.exists(c, c.type == "` + condition + `" && c.status == "True")`
	}
	switch r.GroupKind() {
	case "Deployment.apps":
		return `has(status.observedGeneration) && (spec.replicas == 0 || has(status.updatedReplicas) && status.updatedReplicas >= spec.replicas` +
			` && status.replicas <= status.updatedReplicas && has(status.availableReplicas) && status.availableReplicas >= spec.replicas) && ` + has("Available"), true
	case "StatefulSet.apps":
		return `has(status.observedGeneration) && (spec.replicas == 0 || has(status.readyReplicas) && status.readyReplicas >= spec.replicas)` +
			` && (spec.updateStrategy.type == "OnDelete" || has(status.updateRevision) && status.updateRevision == status.currentRevision)`, true
	case "DaemonSet.apps":
		return `has(status.observedGeneration) && (status.desiredNumberScheduled == 0 || has(status.updatedNumberScheduled) && status.updatedNumberScheduled >= status.desiredNumberScheduled` +
			` && has(status.numberAvailable) && status.numberAvailable >= status.desiredNumberScheduled && status.numberReady >= status.desiredNumberScheduled)`, true
	case "ReplicaSet.apps":
		return `has(status.observedGeneration) && (spec.replicas == 0 || has(status.readyReplicas) && status.readyReplicas >= spec.replicas)`, true
	case "Job.batch":
		return has("Complete"), true
	case "Pod":
		return `has(status.phase) && status.phase == "Succeeded" || ` + has("Ready"), true
	case "PersistentVolumeClaim":
		return `has(status.phase) && status.phase == "Bound"`, true
	case "Service":
		return `spec.type != "LoadBalancer" || has(spec.clusterIP)`, true
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return has("Established"), true
	}
	if !object.IsCustom(r.Group) {
		return "true", true
	}
	return has("Ready"), false
}

// nativeFailure returns when an object of a kind has failed, or "" if that cannot be expressed.
func nativeFailure(r object.Ref) string {
	switch r.GroupKind() {
	case "Deployment.apps":
		return `has(status.conditions) && status.conditions.exists(c, c.type == "Progressing" && has(c.reason) && c.reason == "ProgressDeadlineExceeded")`
	case "Job.batch":
		return `has(status.conditions) && status.conditions.exists(c, c.type == "Failed" && c.status == "True")`
	}
	return ""
}
