// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/internal/scc"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// strongest returns the state that a container must reach before all that wait for it start. Complete
// is more than healthy, and healthy is more than started. It returns "" if no container waits.
func strongest(c *score.Container) string {
	out := ""
	for _, b := range c.Before {
		if out == "" || strength(b.Ready) > strength(out) {
			out = b.Ready
		}
	}
	return out
}

// strength returns the rank of a state that others wait for.
func strength(ready string) int {
	return slices.Index([]string{score.ReadyStarted, score.ReadyHealthy, score.ReadyComplete}, ready)
}

// firstSidecars is the minor version of Kubernetes that runs sidecars without a
// feature gate (KEP-753). An older version drops restartPolicy of a container, and
// the pod waits forever for the sidecar to end.
const firstSidecars = 29

// checkSidecar reports a sidecar that the cluster does not know.
func checkSidecar(errs *mistakes, c *score.Container, version string) {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return
	}
	if minor, err := strconv.Atoi(parts[1]); err == nil && minor < firstSidecars {
		errs.fail(c.Before[0].Pos, errs.path("containers", c.Name, "before"), "write ready: complete, or remove before",
			"Kubernetes %s has no sidecars: it has them since 1.%d", version, firstSidecars)
	}
}

// arrange returns the indexes of the containers that come before others, each before all that wait
// for it, and of the main containers, in the order of the document: tools such as kubectl logs use
// the first of them. Names decide if nothing else does.
func arrange(containers []Container) (before, main []int) {
	index := make(map[string]int, len(containers))
	for i, c := range containers {
		index[c.Spec.Name] = i
		if len(c.Spec.Before) == 0 {
			main = append(main, i)
		}
	}
	slices.SortStableFunc(main, func(a, b int) int {
		return cmp.Compare(containers[a].Spec.Order, containers[b].Spec.Order)
	})
	if len(main) == len(containers) {
		return nil, main
	}

	// A container comes after those that it waits for.
	earlier := make([][]int, len(containers))
	for i, c := range containers {
		for _, b := range c.Spec.Before {
			if j, ok := index[b.Container]; ok {
				earlier[j] = append(earlier[j], i)
			}
		}
	}
	for _, i := range slices.Concat(scc.Components(earlier)...) {
		if len(containers[i].Spec.Before) > 0 {
			before = append(before, i)
		}
	}
	return before, main
}

// lowerProbes returns the probes that a container can have at its position.
func lowerProbes(errs *mistakes, c *score.Container, ready string) (m members) {
	liveness, readiness, startup := c.LivenessProbe, c.ReadinessProbe, c.StartupProbe
	switch ready {
	case score.ReadyComplete:
		for _, p := range []struct {
			name  string
			value object.Value
		}{{"livenessProbe", liveness}, {"readinessProbe", readiness}, {"startupProbe", startup}} {
			if p.value.Kind != object.KindNone {
				errs.warn(p.value.Pos, errs.path("containers", c.Name, p.name), "",
					"left out: others wait until the container is complete, and Kubernetes probes no such container")
			}
		}
		return nil
	case score.ReadyHealthy:
		startup = startupProbe(c)
		if startup.Kind == object.KindNone {
			errs.fail(c.Before[0].Pos, errs.path("containers", c.Name, "before", c.Before[0].Container, "ready"),
				"add a readinessProbe, or write ready: started", "the container has no probe that could report it healthy")
		}
	}
	m.put("livenessProbe", liveness)
	m.put("readinessProbe", readiness)
	m.put("startupProbe", startup)
	return m
}

// The period of a generated startup probe in seconds, and the failures that it
// allows: waiting containers start soon, and a container has five minutes to start.
const (
	startupPeriod   = 2
	startupFailures = 150
)

// startupProbe returns the probe that reports a container healthy: its own startup probe, or the
// action of its readiness or liveness probe. Their timing is left out, because it suits a running
// container: three failures would end a container that still starts.
func startupProbe(c *score.Container) object.Value {
	if c.StartupProbe.Kind != object.KindNone {
		return c.StartupProbe
	}
	checked := c.ReadinessProbe
	if checked.Kind == object.KindNone {
		checked = c.LivenessProbe
	}
	if checked.Kind == object.KindNone {
		return checked
	}
	probe := checked
	probe.Members = make([]object.Member, 0, len(checked.Members)+2)
	for _, m := range checked.Members {
		if m.Name != "periodSeconds" && m.Name != "failureThreshold" && m.Name != "successThreshold" {
			probe.Members = append(probe.Members, m)
		}
	}
	probe.Members = append(probe.Members,
		IntMember("periodSeconds", startupPeriod, checked.Pos), IntMember("failureThreshold", startupFailures, checked.Pos))
	return probe
}
