// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// lowerReplicas returns a fixed number, which is 1 by default, or the bounds of the autoscaler, which
// then owns the number.
func lowerReplicas(errs *mistakes, r *Resolved) (fixed, scaling object.Value) {
	switch n := r.Workload.Replicas; {
	case !r.runs():
	case n == nil:
		fixed = object.NumberAt(1, object.Pos{})
	case n.Max <= n.Min && !n.Triggered():
		fixed = object.NumberAt(n.Min, n.Pos)
	default:
		scaling = lowerAutoscaling(errs, r, n)
	}
	return fixed, scaling
}

// mergeScaling returns the changes of provisioners, after the author's number of pods is applied: a
// fixed number is the minimum of an autoscaler, zero stays zero, and the author's budget is kept.
func mergeScaling(errs *mistakes, r *Resolved) object.Value {
	patch, n := r.Patch, r.Workload.Replicas
	if _, ofAuthor := r.Workload.Passed.Get(resource.PartDisruption); ofAuthor {
		patch = patch.Without(object.Fields(resource.PartDisruption))
	}

	// Some workloads have no replicas, or an autoscaler that belongs to KEDA.
	scaling, ok := patch.Get(resource.PartAutoscaling)
	number, fixed := patch.Get(resource.PartReplicas)
	if !r.runs() && (ok || fixed) {
		errs.fail(cmp.Or(scaling.Pos, number.Pos), errs.path("resources"), "remove the resource",
			"a %s has no replicas that a resource could change", r.Workload.Kind.Value)
		return patch
	}
	if n.Triggered() {
		return mergeTriggered(errs, n, patch, scaling, ok, fixed)
	}
	if !ok || fixed {
		return patch
	}

	// Combine the bounds of both.
	switch {
	case n == nil:
	case n.Max > n.Min:
		errs.warn(n.Pos, errs.extra("replicas"), "remove one of them",
			"replicas and a resource both configure an autoscaler: that of the resource is used")
	case n.Min == 0:
		return patch.Without(object.Fields(resource.PartAutoscaling))
	default:
		scaling = atLeast(errs, scaling, n)
	}
	lowest, highest := bound(scaling, "min"), bound(scaling, "max")
	impossible := highest > 0 && lowest > highest
	if impossible && (n == nil || n.Min != lowest) {
		errs.fail(scaling.Pos, errs.path("resources"), "", "an autoscaler with a min of %d and a max of %d", lowest, highest)
	}
	return withPart(patch, resource.PartAutoscaling, scaling)
}

// atLeast returns scaling with the fixed number of the author as its minimum.
func atLeast(errs *mistakes, scaling object.Value, r *score.Replicas) object.Value {
	highest := bound(scaling, "max")
	if highest > 0 && r.Min > highest {
		errs.fail(r.Pos, errs.extra("replicas"), "write fewer replicas, or raise the most that the resource allows",
			"%d replicas are more than the %d that the autoscaler of a resource keeps at most", r.Min, highest)
		return scaling
	}
	if bound(scaling, "min") < r.Min {
		scaling = withPart(scaling, "min", object.NumberAt(r.Min, r.Pos))
	}
	return scaling
}

// leastPods returns the lowest number of pods.
func leastPods(input object.Value) int {
	value, found := input.Lookup(object.Fields("autoscaling", "min"))
	if found < 2 {
		value, _ = input.Get("replicas")
	}
	n, _ := strconv.Atoi(value.Text)
	return n
}

// checkRequests warns of containers without the requests that the autoscaler measures by: it then
// does nothing at all, and KEDA refuses the ScaledObject. Without a request the limit counts.
func checkRequests(errs *mistakes, r *Resolved, input object.Value) {
	scaling, _ := input.Get("autoscaling")
	_, memory := scaling.Get("memory")
	_, cpu := scaling.Get("cpu")
	severity := object.SeverityWarning
	cpuByDefault := true
	if r.Workload.Replicas.Triggered() {
		severity = object.SeverityError
		cpuByDefault = false
	}
	for i := range r.Containers {
		c := &r.Containers[i].Spec
		if strongest(c) == score.ReadyComplete {
			continue
		}
		for _, want := range []struct {
			name     string
			measured bool
		}{{"cpu", cpu || (cpuByDefault && !memory)}, {"memory", memory}} {
			if want.measured && !hasPair(c.Requests, want.name) && !hasPair(c.Limits, want.name) {
				errs.report(severity, c.Pos, errs.path("containers", c.Name, "resources", "requests"), "write resources.requests."+want.name,
					"no request of %s: the autoscaler measures by it and does nothing without", want.name)
			}
		}
	}
}

func hasPair(pairs []score.Pair, name string) bool {
	return slices.ContainsFunc(pairs, func(p score.Pair) bool { return p.Name == name })
}

// checkBudget warns of a budget that allows no eviction: the drain of a node waits for it without end.
func checkBudget(errs *mistakes, budget object.Value, least int) {
	if least == 0 {
		return
	}
	pos := budget.Pos
	if v, ok := budget.Get("minAvailable"); ok {
		if available, ok := podsOf(v.Text, least); ok && available >= least {
			errs.warn(cmp.Or(v.Pos, pos), errs.extra("disruption", "minAvailable"), "write maxUnavailable: 1",
				"%s of %d pods must stay available: a node that runs one cannot be drained", v.Text, least)
		}
	}
	if v, ok := budget.Get("maxUnavailable"); ok && (v.Text == "0" || v.Text == "0%") {
		errs.warn(cmp.Or(v.Pos, pos), errs.extra("disruption", "maxUnavailable"), "write maxUnavailable: 1",
			"no pod may be evicted: a node that runs one cannot be drained")
	}
}

// podsOf returns the number of pods for an amount: a number, or a share in percent, which the
// controller of budgets rounds up, so that 90% of 3 pods are all of them. It returns false for
// anything else.
func podsOf(amount string, pods int) (int, bool) {
	share, isShare := strings.CutSuffix(amount, "%")
	n, err := strconv.Atoi(share)
	if isShare {
		n = (n*pods + 99) / 100
	}
	return n, err == nil
}

// checkSingle warns of several pods that share a claim which only one node at a time can mount:
// all pods on other nodes wait forever.
func checkSingle(errs *mistakes, containers []Container, input object.Value) {
	fixed, _ := input.Get("replicas")
	highest, _ := strconv.Atoi(fixed.Text)
	if scaling, ok := input.Get("autoscaling"); ok {
		highest = bound(scaling, "max")
	}
	if highest < 2 {
		return
	}
	seen := map[string]bool{}
	for i := range containers {
		c := &containers[i]
		for _, m := range c.Mounts {
			if !m.Single || seen[m.Resource] {
				continue
			}
			seen[m.Resource] = true
			errs.warn(cmp.Or(m.Spec.Source.Pos, m.Spec.Pos), errs.path("containers", c.Spec.Name, "volumes", m.Spec.Target),
				"write accessModes: [ReadWriteMany], or run one pod",
				"up to %d pods share the volume %q, which only the pods of one node can mount at a time", highest, m.Resource)
		}
	}
}
