// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// putReplicas adds a fixed number, 1 if none is set, or the bounds of the autoscaler, which then
// owns the number.
func (l *lowering) putReplicas(m *members) {
	r := l.spec.Replicas
	switch {
	case !l.runs():
	case r == nil:
		m.put("replicas", object.NumberAt(1, object.Pos{}))
	case r.Max <= r.Min && !r.Triggered():
		m.put("replicas", object.NumberAt(r.Min, r.Pos))
	default:
		m.put("autoscaling", l.autoscaling(r))
	}
}

// scale returns what provisioners merge over the input, after what the author wrote on the number
// of pods: a fixed number is the least that an autoscaler keeps, zero stays zero, and a budget of
// the author is kept.
func (l *lowering) scale(patch object.Value) object.Value {
	if _, own := l.spec.Passed.Get(resource.PartDisruption); own {
		patch = patch.Without(object.Fields(resource.PartDisruption))
	}

	// Some workloads have no replicas, or an autoscaler that belongs to KEDA.
	scaling, ok := patch.Get(resource.PartAutoscaling)
	if n, fixed := patch.Get(resource.PartReplicas); !l.runs() && (ok || fixed) {
		l.fail(cmp.Or(scaling.Pos, n.Pos), l.at("resources"), "remove the resource", "a %s has no replicas that a resource could change", l.kind)
		return patch
	} else if l.spec.Replicas.Triggered() {
		return l.mergeTriggered(patch, scaling, ok, fixed)
	} else if !ok || fixed {
		return patch
	}

	// Combine the bounds of both.
	r := l.spec.Replicas
	switch {
	case r == nil:
	case r.Max > r.Min:
		l.warn(r.Pos, l.extra("replicas"), "remove one of them", "replicas and a resource both configure an autoscaler: that of the resource is used")
	case r.Min == 0:
		return patch.Without(object.Fields(resource.PartAutoscaling))
	default:
		scaling = l.atLeast(scaling, r)
	}
	if least, most := bound(scaling, "min"), bound(scaling, "max"); most > 0 && least > most && (r == nil || r.Min != least) {
		l.fail(scaling.Pos, l.at("resources"), "", "an autoscaler with a min of %d and a max of %d", least, most)
	}
	return withPart(patch, resource.PartAutoscaling, scaling)
}

// atLeast returns scaling with the fixed number of the author as its minimum.
func (l *lowering) atLeast(scaling object.Value, r *score.Replicas) object.Value {
	most := bound(scaling, "max")
	if most > 0 && r.Min > most {
		l.fail(r.Pos, l.extra("replicas"), "write fewer replicas, or raise the most that the resource allows",
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
func (l *lowering) checkRequests(input object.Value) {
	scaling, _ := input.Get("autoscaling")
	_, memory := scaling.Get("memory")
	_, cpu := scaling.Get("cpu")
	severity := object.SeverityWarning
	usual := true
	if l.spec.Replicas.Triggered() {
		severity = object.SeverityError
		usual = false
	}
	for i := range l.r.Containers {
		c := &l.r.Containers[i].Spec
		if strongest(c) == score.ReadyComplete {
			continue
		}
		for _, want := range []struct {
			name     string
			measured bool
		}{{"cpu", cpu || usual && !memory}, {"memory", memory}} {
			if want.measured && !hasPair(c.Requests, want.name) && !hasPair(c.Limits, want.name) {
				l.report(severity, c.Pos, l.at("containers", c.Name, "resources", "requests"), "write resources.requests."+want.name,
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
func (l *lowering) checkBudget(budget object.Value, least int) {
	if least == 0 {
		return
	}
	pos := budget.Pos
	if v, ok := budget.Get("minAvailable"); ok {
		n, err := strconv.Atoi(v.Text)
		if v.Text == "100%" || err == nil && n >= least {
			l.warn(cmp.Or(v.Pos, pos), l.extra("disruption", "minAvailable"), "write maxUnavailable: 1",
				"%s of %d pods must stay available: a node that runs one cannot be drained", v.Text, least)
		}
	}
	if v, ok := budget.Get("maxUnavailable"); ok && (v.Text == "0" || v.Text == "0%") {
		l.warn(cmp.Or(v.Pos, pos), l.extra("disruption", "maxUnavailable"), "write maxUnavailable: 1",
			"no pod may be evicted: a node that runs one cannot be drained")
	}
}

// checkSingle warns of several pods that share a claim which only one node at a time can mount:
// all pods on other nodes wait for ever.
func (l *lowering) checkSingle(input object.Value) {
	fixed, _ := input.Get("replicas")
	most, _ := strconv.Atoi(fixed.Text)
	if scaling, ok := input.Get("autoscaling"); ok {
		most = bound(scaling, "max")
	}
	if most < 2 {
		return
	}
	seen := map[string]bool{}
	for i := range l.r.Containers {
		c := &l.r.Containers[i]
		for _, m := range c.Mounts {
			if !m.Single || seen[m.Resource] {
				continue
			}
			seen[m.Resource] = true
			l.warn(cmp.Or(m.Spec.Source.Pos, m.Spec.Pos), l.at("containers", c.Spec.Name, "volumes", m.Spec.Target),
				"write accessModes: [ReadWriteMany], or run one pod",
				"up to %d pods share the volume %q, which only the pods of one node can mount at a time", most, m.Resource)
		}
	}
}
