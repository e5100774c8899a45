// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
)

// policyRules holds the rules of scaling, disruption and priority. The sources
// are the validation packages of autoscaling, policy and scheduling in
// k8s.io/kubernetes, pkg/apis.
func policyRules(component string) func(*at) {
	switch component {
	case "autoscaling.v2.HorizontalPodAutoscalerSpec", "autoscaling.v1.HorizontalPodAutoscalerSpec":
		return autoscaler
	case "autoscaling.v2.MetricSpec":
		return metric
	case "autoscaling.v2.MetricIdentifier":
		return func(a *at) { pathSegment(a.field("name")) }
	case "autoscaling.v2.ContainerResourceMetricSource":
		return func(a *at) {
			label(a.field("container"))
			if t := a.field("name"); t.text() != "" {
				resourceName(t, t.text())
			}
		}
	case "autoscaling.v2.MetricTarget":
		return metricTarget
	case "autoscaling.v2.HPAScalingRules":
		return scalingRules
	case "autoscaling.v2.CrossVersionObjectReference", "autoscaling.v1.CrossVersionObjectReference":
		return func(a *at) {
			pathSegment(a.field("kind"))
			pathSegment(a.field("name"))
			version := a.field("apiVersion")
			group, _, ok := strings.Cut(version.text(), "/")
			if a.step.Name == "scaleTargetRef" && a.field("kind").text() != "ReplicationController" && (!ok || group == "") {
				version.fail(RuleFormat, "expected a group and a version such as \"apps/v1\", found %s", version.show())
			}
		}
	case "policy.v1.PodDisruptionBudgetSpec":
		return disruption
	case "scheduling.v1.PriorityClass":
		return priority
	case "coordination.v1.LeaseSpec":
		return func(a *at) {
			atLeast(a.field("leaseDurationSeconds"), 1)
			notNegative(a, "leaseTransitions")
		}
	}
	return nil
}

func autoscaler(a *at) {
	least, most := a.field("minReplicas"), a.field("maxReplicas")
	atLeast(most, 1)
	low, ok := least.integer()
	high, bounded := most.integer()
	if ok && bounded && high > 0 && low > high {
		least.fail(RuleRange, "expected at most maxReplicas, which is %d, found %d", high, low)
	}
	if ok && low < 1 {
		least.fail(RuleRange, "expected at least 1, found %d", low)
	}
	if t := a.field("targetCPUUtilizationPercentage"); t.has() {
		atLeast(t, 1)
	}
}

// metric wants the source that the type names, and no other.
func metric(a *at) {
	kind := a.field("type").text()
	if kind == "" {
		return
	}
	want := strings.ToLower(kind[:1]) + kind[1:]
	for _, n := range [...]string{"containerResource", "external", "object", "pods", "resource"} {
		source := a.field(n)
		switch {
		case n == want && !source.has():
			a.missing(n).Message = "is required where the type is \"" + kind + "\""
		case n != want && source.has():
			source.fail(RuleExclusive, "must not be set where the type is %q", kind)
		}
	}
	target := a.in(want, "target")
	switch want {
	case "resource", "containerResource":
		if target.has() && !target.field("averageUtilization").has() && !target.field("averageValue").has() {
			target.fail(RuleExclusive, "needs averageUtilization or averageValue")
		}
		if target.has() && target.field("averageUtilization").has() && target.field("averageValue").has() {
			target.fail(RuleExclusive, "has averageUtilization and averageValue").Hint = "keep one"
		}
	case "pods":
		if target.has() && !target.field("averageValue").has() {
			target.missing("averageValue")
		}
	case "object", "external":
		if target.has() && !target.field("value").has() && !target.field("averageValue").has() {
			target.fail(RuleExclusive, "needs value or averageValue")
		}
		if want == "external" && target.field("value").has() && target.field("averageValue").has() {
			target.fail(RuleExclusive, "has value and averageValue").Hint = "keep one"
		}
	}
}

func metricTarget(a *at) {
	if t := a.field("type"); t.text() != "" && t.text() != "Utilization" && t.text() != "Value" && t.text() != "AverageValue" {
		t.fail(RuleEnum, "expected \"Utilization\", \"Value\" or \"AverageValue\", found %s", t.show())
	}
	atLeast(a.field("averageUtilization"), 1)
	for _, n := range [...]string{"value", "averageValue"} {
		if q, ok := amountOf(a.field(n)); ok && q.Sign() <= 0 {
			a.field(n).fail(RuleRange, "must be above 0, found %s", a.field(n).show())
		}
	}
}

func scalingRules(a *at) {
	between(a.field("stabilizationWindowSeconds"), 0, 3600)
	if p := a.field("policies"); p.has() && p.size() == 0 {
		p.fail(RuleRequired, "needs at least one policy").Hint = "leave policies out for the defaults"
	}
	for _, p := range a.field("policies").items() {
		if t := p.field("type"); t.text() != "" && t.text() != "Pods" && t.text() != "Percent" {
			t.fail(RuleEnum, "expected \"Pods\" or \"Percent\", found %s", t.show())
		}
		between(p.field("periodSeconds"), 1, 1800)
		atLeast(p.field("value"), 1)
	}
	if s := a.field("selectPolicy"); s.text() != "" && s.text() != "Max" && s.text() != "Min" && s.text() != "Disabled" {
		s.fail(RuleEnum, "expected \"Max\", \"Min\" or \"Disabled\", found %s", s.show())
	}
}

func disruption(a *at) {
	least, most := a.field("minAvailable"), a.field("maxUnavailable")
	switch {
	case least.has() && most.has():
		most.fail(RuleExclusive, "must not be set beside minAvailable").Hint = "keep one of the two"
	case !least.has() && !most.has():
		a.warn(RuleExclusive, "has neither minAvailable nor maxUnavailable, so that it protects nothing")
	}
	for _, v := range [...]*at{least, most} {
		numberOrPercent(v)
		if percent(v) > 100 {
			v.fail(RuleRange, "expected at most \"100%%\", found %s", v.show())
		}
	}
}

func priority(a *at) {
	name := a.in("metadata", "name").text()
	if strings.HasPrefix(name, "system-") && name != "system-node-critical" && name != "system-cluster-critical" {
		a.in("metadata", "name").fail(RuleName, "must not begin with \"system-\", found %q", name)
	}
	if i, ok := a.field("value").integer(); ok && i > 1_000_000_000 && !strings.HasPrefix(name, "system-") {
		a.field("value").fail(RuleRange, "expected at most 1000000000, found %d", i)
	}
}
