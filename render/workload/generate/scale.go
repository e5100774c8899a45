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

// lowerReplicas returns a fixed number, 1 if none is set, or the bounds of the autoscaler, which
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

// mergeScaling returns what provisioners merge over the input, after what the author wrote on the number
// of pods: a fixed number is the least that an autoscaler keeps, zero stays zero, and a budget of
// the author is kept.
func mergeScaling(errs *mistakes, r *Resolved) object.Value {
	patch, n := r.Patch, r.Workload.Replicas
	if _, own := r.Workload.Passed.Get(resource.PartDisruption); own {
		patch = patch.Without(object.Fields(resource.PartDisruption))
	}

	// Some workloads have no replicas, or an autoscaler that belongs to KEDA.
	scaling, ok := patch.Get(resource.PartAutoscaling)
	if number, fixed := patch.Get(resource.PartReplicas); !r.runs() && (ok || fixed) {
		errs.fail(cmp.Or(scaling.Pos, number.Pos), errs.at("resources"), "remove the resource", "a %s has no replicas that a resource could change", r.Workload.Kind.Value)
		return patch
	} else if n.Triggered() {
		return mergeTriggered(errs, n, patch, scaling, ok, fixed)
	} else if !ok || fixed {
		return patch
	}

	// Combine the bounds of both.
	switch {
	case n == nil:
	case n.Max > n.Min:
		errs.warn(n.Pos, errs.extra("replicas"), "remove one of them", "replicas and a resource both configure an autoscaler: that of the resource is used")
	case n.Min == 0:
		return patch.Without(object.Fields(resource.PartAutoscaling))
	default:
		scaling = atLeast(errs, scaling, n)
	}
	if least, most := bound(scaling, "min"), bound(scaling, "max"); most > 0 && least > most && (n == nil || n.Min != least) {
		errs.fail(scaling.Pos, errs.at("resources"), "", "an autoscaler with a min of %d and a max of %d", least, most)
	}
	return withPart(patch, resource.PartAutoscaling, scaling)
}

// atLeast returns scaling with the fixed number of the author as its minimum.
func atLeast(errs *mistakes, scaling object.Value, r *score.Replicas) object.Value {
	most := bound(scaling, "max")
	if most > 0 && r.Min > most {
		errs.fail(r.Pos, errs.extra("replicas"), "write fewer replicas, or raise the most that the resource allows",
			"%d replicas are more than the %d that the autoscaler of a resource keeps at most", r.Min, most)
		return scaling
	}
	if bound(scaling, "min") < r.Min {
		scaling = withPart(scaling, "min", object.NumberAt(r.Min, r.Pos))
	}
	return scaling
}

// leastPods returns how many pods there are at least.
func leastPods(input object.Value) int {
	at, found := input.Lookup(object.Fields("autoscaling", "min"))
	if found < 2 {
		at, _ = input.Get("replicas")
	}
	n, _ := strconv.Atoi(at.Text)
	return n
}

// checkRequests warns of containers without the requests that the autoscaler measures by: it then
// does nothing at all, and KEDA refuses the ScaledObject. A limit counts as a request if there is
// no other.
func checkRequests(errs *mistakes, r *Resolved, input object.Value) {
	scaling, _ := input.Get("autoscaling")
	_, memory := scaling.Get("memory")
	_, cpu := scaling.Get("cpu")
	severity := object.SeverityWarning
	usual := true
	if r.Workload.Replicas.Triggered() {
		severity = object.SeverityError
		usual = false
	}
	for i := range r.Containers {
		c := &r.Containers[i].Spec
		if strongest(c) == score.ReadyComplete {
			continue
		}
		for _, want := range []struct {
			name     string
			measured bool
		}{{"cpu", cpu || usual && !memory}, {"memory", memory}} {
			if want.measured && !hasPair(c.Requests, want.name) && !hasPair(c.Limits, want.name) {
				errs.report(severity, c.Pos, errs.at("containers", c.Name, "resources", "requests"), "write resources.requests."+want.name,
					"no request of %s: the autoscaler measures by it and does nothing without", want.name)
			}
		}
	}
}

func hasPair(pairs []score.Pair, name string) bool {
	return slices.ContainsFunc(pairs, func(p score.Pair) bool { return p.Name == name })
}

// checkBudget warns of a budget that no eviction ever meets: the drain of a node
// waits for it without end.
func checkBudget(errs *mistakes, budget object.Value, least int) {
	if least == 0 {
		return
	}
	pos := budget.Pos
	if v, ok := budget.Get("minAvailable"); ok {
		if stay, ok := podsOf(v.Text, least); ok && stay >= least {
			errs.warn(cmp.Or(v.Pos, pos), errs.extra("disruption", "minAvailable"), "write maxUnavailable: 1",
				"%s of %d pods must stay available: a node that runs one cannot be drained", v.Text, least)
		}
	}
	if v, ok := budget.Get("maxUnavailable"); ok && (v.Text == "0" || v.Text == "0%") {
		errs.warn(cmp.Or(v.Pos, pos), errs.extra("disruption", "maxUnavailable"), "write maxUnavailable: 1",
			"no pod may be evicted: a node that runs one cannot be drained")
	}
}

// podsOf returns how many of all pods an amount is: a number, or a share in percent, which the
// controller of budgets rounds up, so that 90% of 3 pods are all of them. It returns false for
// anything else.
func podsOf(amount string, all int) (int, bool) {
	share, isShare := strings.CutSuffix(amount, "%")
	n, err := strconv.Atoi(share)
	if isShare {
		n = (n*all + 99) / 100
	}
	return n, err == nil
}

// checkSingle warns of several pods that share a claim which only one node at a time can mount:
// all pods on other nodes wait for ever.
func checkSingle(errs *mistakes, containers []Container, input object.Value) {
	fixed, _ := input.Get("replicas")
	most, _ := strconv.Atoi(fixed.Text)
	if scaling, ok := input.Get("autoscaling"); ok {
		most = bound(scaling, "max")
	}
	if most < 2 {
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
			errs.warn(cmp.Or(m.Spec.Source.Pos, m.Spec.Pos), errs.at("containers", c.Spec.Name, "volumes", m.Spec.Target),
				"write accessModes: [ReadWriteMany], or run one pod",
				"up to %d pods share the volume %q, which only the pods of one node can mount at a time", most, m.Resource)
		}
	}
}
