// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/check/finding"
)

// policyRules returns the rule of a component among the rules of scaling, disruption and
// priority, or nil if it has no rule. The sources are the validation packages of autoscaling, policy
// and scheduling in k8s.io/kubernetes, pkg/apis.
func policyRules(component string) func(*finding.Value) {
	switch component {
	case "autoscaling.v2.HorizontalPodAutoscalerSpec", "autoscaling.v1.HorizontalPodAutoscalerSpec":
		return checkAutoscaler
	case "autoscaling.v2.MetricSpec":
		return checkMetric
	case "autoscaling.v2.HPAScalingRules":
		return func(a *finding.Value) {
			if p := a.Field("policies"); p.Has() && p.Size() == 0 {
				p.Fail(finding.RuleRequired, "needs at least one policy").Hint = "leave policies out for the defaults"
			}
		}
	case "autoscaling.v2.CrossVersionObjectReference", "autoscaling.v1.CrossVersionObjectReference":
		return func(a *finding.Value) {
			version := a.Field("apiVersion")
			group, _, ok := strings.Cut(version.Text(), "/")
			hasGroup := ok && group != ""
			isTarget := a.Step.Name == "scaleTargetRef" && a.Field("kind").Text() != "ReplicationController"
			if isTarget && !hasGroup {
				version.Fail(finding.RuleFormat, "expected a group and a version such as \"apps/v1\", found %s", version.Show())
			}
		}
	case "policy.v1.PodDisruptionBudgetSpec":
		return checkDisruption
	case "scheduling.v1.PriorityClass":
		return checkPriority
	}
	return nil
}

// checkAutoscaler compares the bounds. A minimum of 0 is for servers with the feature gate, where only
// a metric that does not come from the pods can start the first of them; v1 has its metrics in annotations.
func checkAutoscaler(a *finding.Value) {
	least, most := a.Field("minReplicas"), a.Field("maxReplicas")
	low, ok := least.Int()
	high, bounded := most.Int()
	if ok && low == 0 {
		isOutside := func(m *finding.Value) bool { return m.Field("object").Has() || m.Field("external").Has() }
		if metrics := a.Field("metrics"); a.Root().Version() != "v1" && !slices.ContainsFunc(metrics.Items(), isOutside) {
			const message = "needs a metric of type \"Object\" or \"External\" where minReplicas is 0: without pods no other has a value"
			metrics.Fail(finding.RuleRequired, message)
		}
		least.Warn(finding.RuleRange, "0 is taken only where the cluster has the feature gate HPAScaleToZero, which is off by default")
	}
	bothSet := ok && bounded && high > 0
	if bothSet && low > high {
		least.Fail(finding.RuleRange, "expected at most maxReplicas, which is %d, found %d", high, low)
	}
}

// checkMetric requires the source that the type names, and no other.
func checkMetric(a *finding.Value) {
	kind := a.Field("type").Text()
	if kind == "" {
		return
	}

	// The name of the source is the type with a small first letter.
	want := strings.ToLower(kind[:1]) + kind[1:]
	for _, n := range [...]string{"containerResource", "external", "object", "pods", "resource"} {
		source := a.Field(n)
		switch {
		case n == want && !source.Has():
			a.Missing(n).Message = "is required where the type is \"" + kind + "\""
		case n != want && source.Has():
			source.Fail(finding.RuleExclusive, "must not be set where the type is %q", kind)
		}
	}

	// Each source has targets of its own.
	target := a.In(want, "target")
	switch want {
	case "resource", "containerResource":
		if target.Has() && !target.Field("averageUtilization").Has() && !target.Field("averageValue").Has() {
			target.Fail(finding.RuleExclusive, "needs averageUtilization or averageValue")
		}
		if target.Has() && target.Field("averageUtilization").Has() && target.Field("averageValue").Has() {
			target.Fail(finding.RuleExclusive, "has averageUtilization and averageValue").Hint = "keep one"
		}
	case "pods":
		if target.Has() && !target.Field("averageValue").Has() {
			target.Missing("averageValue")
		}
	case "object", "external":
		if target.Has() && !target.Field("value").Has() && !target.Field("averageValue").Has() {
			target.Fail(finding.RuleExclusive, "needs value or averageValue")
		}
		if want == "external" && target.Field("value").Has() && target.Field("averageValue").Has() {
			target.Fail(finding.RuleExclusive, "has value and averageValue").Hint = "keep one"
		}
	}
}

func checkDisruption(a *finding.Value) {
	least, most := a.Field("minAvailable"), a.Field("maxUnavailable")
	switch {
	case least.Has() && most.Has():
		most.Fail(finding.RuleExclusive, "must not be set together with minAvailable").Hint = "keep one of the two"
	case !least.Has() && !most.Has():
		a.Warn(finding.RuleExclusive, "has neither minAvailable nor maxUnavailable, so that it protects nothing")
	}
	for _, v := range [...]*finding.Value{least, most} {
		checkNumberOrPercent(v)
		if percent(v) > 100 {
			v.Fail(finding.RuleRange, "expected at most \"100%%\", found %s", v.Show())
		}
	}
}

func checkPriority(a *finding.Value) {
	name := a.In("metadata", "name").Text()
	if strings.HasPrefix(name, "system-") && name != "system-node-critical" && name != "system-cluster-critical" {
		a.In("metadata", "name").Fail(finding.RuleName, "must not begin with \"system-\", found %q", name)
	}
	if i, ok := a.Field("value").Int(); ok && i > 1_000_000_000 && !strings.HasPrefix(name, "system-") {
		a.Field("value").Fail(finding.RuleRange, "expected at most 1000000000, found %d", i)
	}
}
