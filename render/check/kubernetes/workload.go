// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"slices"

	"github.com/ropewalk/ropewalk/internal/timezone"
	"github.com/ropewalk/ropewalk/render/check/finding"
)

// workloadRules returns the rule of a component among the rules of what makes pods, or nil if it
// has no rule. Their sources are k8s.io/kubernetes, pkg/apis/apps/validation and
// pkg/apis/batch/validation.
func workloadRules(component string) func(*finding.Value) {
	switch component {
	case "apps.v1.DeploymentSpec":
		return checkDeployment
	case "apps.v1.StatefulSetSpec":
		return checkStatefulSet
	case "apps.v1.DaemonSetSpec":
		return checkDaemonSet
	case "apps.v1.ReplicaSetSpec":
		return func(a *finding.Value) {
			checkSelector(a)
			checkRestartAlways(a)
		}
	case "batch.v1.JobSpec":
		return checkJob
	case "batch.v1.CronJobSpec":
		return checkCronJob
	case "meta.v1.LabelSelectorRequirement":
		return checkSelectorValues
	}
	return nil
}

func checkDeployment(a *finding.Value) {
	ready, _ := a.Field("minReadySeconds").Int()
	deadline, ok := a.Field("progressDeadlineSeconds").Int()
	if !ok {
		deadline = 600
	}
	if deadline <= ready && deadline >= 0 {
		a.Field("progressDeadlineSeconds").Fail(finding.RuleRange, "expected more than minReadySeconds, which is %d, found %d", ready, deadline)
	}
	checkSelector(a)
	checkRestartAlways(a)
	strategy := a.Field("strategy")
	rolling := strategy.Field("rollingUpdate")
	if strategy.Field("type").Text() == "Recreate" {
		if rolling.Has() {
			rolling.Fail(finding.RuleExclusive, "must not be set where the type is \"Recreate\"")
		}
		return
	}
	checkRollingUpdate(rolling)
}

// checkRollingUpdate checks that an update can move at all.
func checkRollingUpdate(a *finding.Value) {
	surge, unavailable := a.Field("maxSurge"), a.Field("maxUnavailable")
	none := checkNumberOrPercent(surge)
	if !surge.Has() && a.Root().Kind() == "DaemonSet" {
		none = true // A DaemonSet has no surge by default.
	}
	if checkNumberOrPercent(unavailable) && none {
		unavailable.Fail(finding.RuleExclusive, "must not be 0 while maxSurge is 0: no pod could ever be replaced")
	}
	if percent(unavailable) > 100 {
		unavailable.Fail(finding.RuleRange, "expected at most \"100%%\", found %s", unavailable.Show())
	}
}

// checkRestartAlways requires pods that are started again.
func checkRestartAlways(a *finding.Value) {
	spec := a.In("template", "spec")
	policy := spec.Field("restartPolicy")
	if t := policy.Text(); t == "Never" || t == "OnFailure" {
		policy.Fail(finding.RuleEnum, "expected \"Always\" in a %s, found %s", a.Root().Kind(), policy.Show()).Hint =
			"a Job runs pods to their end"
	}
	if d := spec.Field("activeDeadlineSeconds"); d.Has() {
		d.Fail(finding.RuleExclusive, "must not be set in a %s", a.Root().Kind())
	}
	if spec.Field("ephemeralContainers").Size() > 0 {
		spec.Field("ephemeralContainers").Fail(finding.RuleExclusive, "must not be set in a template")
	}
}

// checkSelector requires a selector that selects the pods of the template.
func checkSelector(a *finding.Value) {
	selector, have := a.Field("selector"), a.In("template", "metadata", "labels")
	if !selector.Has() {
		return
	}
	want, expressions := selector.Field("matchLabels"), selector.Field("matchExpressions")
	if want.Size() == 0 && expressions.Size() == 0 {
		f := selector.Fail(finding.RuleSelector, "must not be empty: it selects the pods")
		f.Hint = "repeat the labels of template.metadata.labels in matchLabels"
		return
	}
	for _, key := range want.Names() {
		w, h := want.Field(key), have.Field(key)
		switch {
		case !h.Has():
			w.Fail(finding.RuleSelector, "selects the label %q, which spec.template.metadata.labels does not have", key)
		case w.Text() != h.Text():
			w.Fail(finding.RuleSelector, "expected %s as in spec.template.metadata.labels, found %s", h.Show(), w.Show())
		}
	}
	for _, e := range expressions.Items() {
		if !matches(e, have) {
			e.Fail(finding.RuleSelector, "does not match spec.template.metadata.labels")
		}
	}
}

// matches evaluates one expression of a selector against labels.
func matches(e, have *finding.Value) bool {
	h := have.Field(e.Field("key").Text())
	contained := slices.ContainsFunc(e.Field("values").Items(), func(v *finding.Value) bool { return h.Has() && v.Text() == h.Text() })
	switch e.Field("operator").Text() {
	case "In":
		return contained
	case "NotIn":
		return !contained
	case "Exists":
		return h.Has()
	case "DoesNotExist":
		return !h.Has()
	}
	return true
}

func checkStatefulSet(a *finding.Value) {
	checkSelector(a)
	checkRestartAlways(a)
	if n := len(a.Field("serviceName").Text()); n > 63 {
		a.Field("serviceName").Fail(finding.RuleSize, "expected at most 63 characters, found %d", n)
	}
	update := a.Field("updateStrategy")
	rolling := update.Field("rollingUpdate")
	if update.Field("type").Text() == "OnDelete" {
		if rolling.Has() {
			rolling.Fail(finding.RuleExclusive, "must not be set where the type is \"OnDelete\"")
		}
	} else if rolling.Has() {
		checkNumberOrPercent(rolling.Field("maxUnavailable"))
	}
	checkDistinct(a.Field("volumeClaimTemplates"), "metadata", "name")
	for _, t := range a.Field("volumeClaimTemplates").Items() {
		name := t.In("metadata", "name")
		checkLabel(name)
		if name.Text() == "" {
			t.Field("metadata").Missing("name")
		}
	}
}

func checkDaemonSet(a *finding.Value) {
	checkSelector(a)
	checkRestartAlways(a)
	if rolling := a.In("updateStrategy", "rollingUpdate"); rolling.Has() {
		checkRollingUpdate(rolling)
		surge, unavailable := rolling.Field("maxSurge"), rolling.Field("maxUnavailable")
		surges := surge.Has() && !numberOrPercentIsZero(surge)
		allAvailable := unavailable.Has() && numberOrPercentIsZero(unavailable)
		if surges && !allAvailable {
			surge.Fail(finding.RuleExclusive, "must not be set unless maxUnavailable is 0")
		}
		if percent(surge) > 100 {
			surge.Fail(finding.RuleRange, "expected at most \"100%%\", found %s", surge.Show())
		}
	}
}

func numberOrPercentIsZero(a *finding.Value) bool {
	i, ok := a.Int()
	return (ok && i == 0) || percent(a) == 0
}

func checkJob(a *finding.Value) {
	policy := a.In("template", "spec", "restartPolicy")
	if t := policy.Text(); a.In("template", "spec").Has() && t != "OnFailure" && t != "Never" {
		f := policy.Fail(finding.RuleEnum, "expected \"OnFailure\" or \"Never\" in a Job, found %s", policy.Show())
		if t == "" {
			f.Rule, f.Message = finding.RuleRequired, "is required in a Job: \"OnFailure\" or \"Never\""
		}
	}
	selector := a.Field("selector")
	if a.Field("manualSelector").Bool() {
		checkSelector(a)
	} else if selector.Has() {
		f := selector.Fail(finding.RuleExclusive, "must not be set unless manualSelector is true")
		f.Hint = "leave it out: the server makes one that selects the pods of this Job"
	}
	if mode := a.Field("completionMode"); mode.Text() == "Indexed" {
		if !a.Field("completions").Has() {
			a.Missing("completions")
		}
	} else {
		forbid(a, "unless completionMode is \"Indexed\"", "backoffLimitPerIndex", "successPolicy")
	}
	if p := a.Field("podFailurePolicy"); p.Has() {
		if policy.Text() == "OnFailure" {
			policy.Fail(finding.RuleEnum, "expected \"Never\" with podFailurePolicy, found %s", policy.Show())
		}
		for _, r := range p.Field("rules").Items() {
			checkFailureRule(r, a.In("template", "spec"))
		}
	}
}

// checkFailureRule checks a rule of a podFailurePolicy against the pods of the Job.
func checkFailureRule(a, pod *finding.Value) {
	codes, conditions := a.Field("onExitCodes"), a.Field("onPodConditions")
	switch {
	case codes.Has() && conditions.Size() > 0:
		codes.Fail(finding.RuleExclusive, "must not be set together with onPodConditions").Hint = "write a separate rule"
	case !codes.Has() && conditions.Size() == 0:
		a.Fail(finding.RuleExclusive, "needs onExitCodes or onPodConditions")
	}
	name := codes.Field("containerName")
	containers := append(pod.Field("containers").Items(), pod.Field("initContainers").Items()...)
	if name.Has() && !slices.ContainsFunc(containers, func(c *finding.Value) bool { return c.Field("name").Text() == name.Text() }) {
		name.Fail(finding.RuleReference, "names no container of the pod: %s", name.Show())
	}
	for _, v := range codes.Field("values").Items() {
		i, ok := v.Int()
		isZero := v.Raw == nil || (ok && i == 0)
		if isZero && codes.Field("operator").Text() == "In" {
			v.Fail(finding.RuleRange, "must not be 0 where operator is \"In\": that is success")
		}
	}
}

func checkCronJob(a *finding.Value) {
	schedule := a.Field("schedule")
	if t := schedule.Text(); t != "" {
		if problem := cronProblem(t); problem != "" {
			schedule.Fail(finding.RuleFormat, "%s, found %s", problem, schedule.Show())
		}
	}
	zone := a.Field("timeZone")
	if z, ok := zone.Raw.(string); ok && !timezone.Known(z) {
		zone.Fail(finding.RuleFormat, "expected the name of a time zone such as \"Europe/Berlin\", found %s", zone.Show()).Hint = zoneHint(z)
	}
	spec := a.In("jobTemplate", "spec")
	if spec.Field("manualSelector").Bool() {
		spec.Field("manualSelector").Fail(finding.RuleExclusive, "must not be set in a CronJob")
	}
}
