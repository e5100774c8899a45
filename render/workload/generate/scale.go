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

// bound returns a number of an autoscaler, or 0 if it is not given.
func bound(scaling object.Value, name string) int {
	v, _ := scaling.Get(name)
	n, _ := strconv.Atoi(v.Text)
	return n
}

// withPart returns v, a map, with another value of one member. It does not change v.
func withPart(v object.Value, name string, value object.Value) object.Value {
	return addMember(v.Without(object.Fields(name)), name, value)
}

// finish decides what depends on the complete input, after provisioners merged their part over
// it: the owner of the number of pods, the budget of disruption and the hash. Two pods or more
// get a budget if the author gives none, so that the drain of a node takes one at a time. One pod
// gets none, because any budget for it would keep its node from ever being drained or mean
// nothing.
func (l *lowering) finish(input object.Value) object.Value {
	if _, ok := input.Get("autoscaling"); ok && l.runs() {
		_, fixed := l.r.Patch.Get("replicas")
		_, scaled := l.r.Patch.Get("autoscaling")
		if fixed && !scaled {
			input = input.Without(object.Fields("autoscaling"))
		} else {
			input = input.Without(object.Fields("replicas"))
			l.checkRequests(input)
		}
	}

	// Check what is known only now.
	l.checkKnative(input)
	input = fixedCanary(input)
	l.checkCanaryPorts(input)
	l.checkProbes(input)
	l.checkSingle(input)

	// Add the budget and the hash.
	if budget, ok := input.Get("disruption"); ok {
		l.checkBudget(budget, leastPods(input))
	} else if l.runs() && leastPods(input) > 1 {
		input = addMember(input, "disruption", MapOf(object.Pos{}, IntMember("maxUnavailable", 1, object.Pos{})))
	}
	if h := hash(input); h != "" {
		input = addMember(input, "hash", object.TextAt(h, object.Pos{}))
	}
	return input
}

// fixedCanary returns input with an autoscaler that holds a canary at its fixed number of pods.
// Flagger scales what it has to release down to zero when nothing is being released, and an
// engine would scale it up again to the number that the object states.
func fixedCanary(input object.Value) object.Value {
	_, canary := input.Get("canary")
	_, scaled := input.Get("autoscaling")
	n, ok := input.Get("replicas")
	if !canary || scaled || !ok || n.Text == "0" {
		return input
	}
	input = input.Without(object.Fields("replicas"))
	return addMember(input, "autoscaling", MapOf(n.Pos,
		object.Member{Name: "min", Pos: n.Pos, Value: n}, object.Member{Name: "max", Pos: n.Pos, Value: n}))
}

// addMember returns v, a map, with one more member. It does not change v.
func addMember(v object.Value, name string, value object.Value) object.Value {
	v.Members = append(slices.Clip(v.Members), object.Member{Name: name, Value: value})
	return v
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

// checkProbes warns of a canary whose pods have no readiness probe.
func (l *lowering) checkProbes(input object.Value) {
	probed := func(c Container) bool { return c.Spec.ReadinessProbe.Kind != object.KindNone }
	if _, ok := input.Get("canary"); ok && !slices.ContainsFunc(l.r.Containers, probed) {
		l.warn(l.spec.Deploy.Pos, l.extra("deploy"), "write a readinessProbe",
			"no container has a readiness probe: Flagger sends traffic to pods that do not serve yet")
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
