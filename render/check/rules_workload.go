// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
)

// workloadRules holds the rules of what makes pods. Their sources are
// k8s.io/kubernetes, pkg/apis/apps/validation and pkg/apis/batch/validation.
func workloadRules(component string) func(*at) {
	switch component {
	case "apps.v1.DeploymentSpec":
		return deployment
	case "apps.v1.StatefulSetSpec":
		return statefulSet
	case "apps.v1.DaemonSetSpec":
		return daemonSet
	case "apps.v1.ReplicaSetSpec":
		return replicaSet
	case "batch.v1.JobSpec":
		return job
	case "batch.v1.CronJobSpec":
		return cronJob
	case "meta.v1.LabelSelector":
		return labelSelector
	case "core.v1.PodTemplateSpec", "batch.v1.JobTemplateSpec", "core.v1.PersistentVolumeClaimTemplate":
		return func(a *at) { templateMeta(a.field("metadata")) }
	case "core.v1.ReplicationControllerSpec":
		return replicationController
	}
	return nil
}

func deployment(a *at) {
	replicas(a)
	notNegative(a, "revisionHistoryLimit", "progressDeadlineSeconds")
	ready, _ := a.field("minReadySeconds").integer()
	deadline, ok := a.field("progressDeadlineSeconds").integer()
	if !ok {
		deadline = 600
	}
	if deadline <= ready && deadline >= 0 {
		a.field("progressDeadlineSeconds").fail(RuleRange, "expected more than minReadySeconds, which is %d, found %d", ready, deadline)
	}
	selects(a)
	always(a)
	strategy := a.field("strategy")
	rolling := strategy.field("rollingUpdate")
	if strategy.field("type").text() == "Recreate" {
		if rolling.has() {
			rolling.fail(RuleExclusive, "must not be set where the type is \"Recreate\"")
		}
		return
	}
	rollingUpdate(rolling)
}

// rollingUpdate checks that an update can move at all.
func rollingUpdate(a *at) {
	surge, unavailable := a.field("maxSurge"), a.field("maxUnavailable")
	none := numberOrPercent(surge)
	if numberOrPercent(unavailable) && (none || !surge.has() && a.w.root.Kind() == "DaemonSet") {
		unavailable.fail(RuleExclusive, "must not be 0 while maxSurge is 0: no pod could ever be replaced")
	}
	if percent(unavailable) > 100 {
		unavailable.fail(RuleRange, "expected at most \"100%%\", found %s", unavailable.show())
	}
}

// replicas checks the counts that all workloads have.
func replicas(a *at) { notNegative(a, "replicas", "minReadySeconds") }

// always wants pods that are started again.
func always(a *at) {
	spec := a.in("template", "spec")
	policy := spec.field("restartPolicy")
	if t := policy.text(); t == "Never" || t == "OnFailure" {
		policy.fail(RuleEnum, "expected \"Always\" in a %s, found %s", a.w.root.Kind(), policy.show()).Hint =
			"a Job runs pods to their end"
	}
	if d := spec.field("activeDeadlineSeconds"); d.has() {
		d.fail(RuleExclusive, "must not be set in a %s", a.w.root.Kind())
	}
	if spec.field("ephemeralContainers").size() > 0 {
		spec.field("ephemeralContainers").fail(RuleExclusive, "must not be set in a template")
	}
}

// selects wants a selector that selects the pods of the template.
func selects(a *at) {
	selector, have := a.field("selector"), a.in("template", "metadata", "labels")
	if !selector.has() {
		return
	}
	want, expressions := selector.field("matchLabels"), selector.field("matchExpressions")
	if want.size() == 0 && expressions.size() == 0 {
		selector.fail(RuleSelector, "must not be empty: it selects the pods").Hint = "repeat the labels of template.metadata.labels in matchLabels"
		return
	}
	for _, key := range want.names() {
		w, h := want.field(key), have.field(key)
		switch {
		case !h.has():
			w.fail(RuleSelector, "selects the label %q, which spec.template.metadata.labels does not have", key)
		case w.text() != h.text():
			w.fail(RuleSelector, "expected %s as in spec.template.metadata.labels, found %s", h.show(), w.show())
		}
	}
	for _, e := range expressions.items() {
		if !matches(e, have) {
			e.fail(RuleSelector, "does not match spec.template.metadata.labels")
		}
	}
}

// matches evaluates one expression of a selector against labels.
func matches(e, have *at) bool {
	h := have.field(e.field("key").text())
	in := slices.ContainsFunc(e.field("values").items(), func(v *at) bool { return h.has() && v.text() == h.text() })
	switch e.field("operator").text() {
	case "In":
		return in
	case "NotIn":
		return !in
	case "Exists":
		return h.has()
	case "DoesNotExist":
		return !h.has()
	}
	return true
}

func statefulSet(a *at) {
	replicas(a)
	notNegative(a, "revisionHistoryLimit")
	atLeast(a.in("ordinals", "start"), 0)
	selects(a)
	always(a)
	subdomain(a.field("serviceName"))
	if n := len(a.field("serviceName").text()); n > 63 {
		a.field("serviceName").fail(RuleSize, "expected at most 63 characters, found %d", n)
	}
	update := a.field("updateStrategy")
	rolling := update.field("rollingUpdate")
	if update.field("type").text() == "OnDelete" {
		if rolling.has() {
			rolling.fail(RuleExclusive, "must not be set where the type is \"OnDelete\"")
		}
	} else if rolling.has() {
		atLeast(rolling.field("partition"), 0)
		numberOrPercent(rolling.field("maxUnavailable"))
	}
	retention := a.field("persistentVolumeClaimRetentionPolicy")
	for _, n := range [...]string{"whenDeleted", "whenScaled"} {
		if p := retention.field(n); p.text() != "" && p.text() != "Retain" && p.text() != "Delete" {
			p.fail(RuleEnum, "expected \"Retain\" or \"Delete\", found %s", p.show())
		}
	}
	seen := map[string]bool{}
	for _, t := range a.field("volumeClaimTemplates").items() {
		name := t.in("metadata", "name")
		label(name)
		switch {
		case name.text() == "":
			t.field("metadata").missing("name")
		case seen[name.text()]:
			name.fail(RuleUnique, "is the name of another claim template: %s", name.show())
		}
		seen[name.text()] = true
	}
}

func daemonSet(a *at) {
	notNegative(a, "minReadySeconds", "revisionHistoryLimit")
	selects(a)
	always(a)
	if rolling := a.in("updateStrategy", "rollingUpdate"); rolling.has() {
		rollingUpdate(rolling)
		surge, unavailable := rolling.field("maxSurge"), rolling.field("maxUnavailable")
		if surge.has() && !numberOrPercentIsZero(surge) && (!unavailable.has() || !numberOrPercentIsZero(unavailable)) {
			surge.fail(RuleExclusive, "must not be set unless maxUnavailable is 0")
		}
		if percent(surge) > 100 {
			surge.fail(RuleRange, "expected at most \"100%%\", found %s", surge.show())
		}
	}
}

func numberOrPercentIsZero(a *at) bool {
	i, ok := a.integer()
	return ok && i == 0 || percent(a) == 0
}

func replicaSet(a *at) {
	replicas(a)
	if !a.field("template").has() {
		a.missing("template")
	}
	selects(a)
	always(a)
}

func replicationController(a *at) {
	replicas(a)
	always(a)
	labels(a.field("selector"))
	if !a.field("template").has() {
		a.missing("template")
		return
	}
	have := a.in("template", "metadata", "labels")
	for _, key := range a.field("selector").names() {
		if w := a.in("selector", key); w.text() != have.field(key).text() {
			w.fail(RuleSelector, "does not match spec.template.metadata.labels")
		}
	}
}

func job(a *at) {
	notNegative(a, "completions", "parallelism", "backoffLimit", "backoffLimitPerIndex", "maxFailedIndexes",
		"activeDeadlineSeconds", "ttlSecondsAfterFinished")
	policy := a.in("template", "spec", "restartPolicy")
	if t := policy.text(); a.in("template", "spec").has() && t != "OnFailure" && t != "Never" {
		f := policy.fail(RuleEnum, "expected \"OnFailure\" or \"Never\" in a Job, found %s", policy.show())
		if t == "" {
			f.Rule, f.Message = RuleRequired, "is required in a Job: \"OnFailure\" or \"Never\""
		}
	}
	selector := a.field("selector")
	if a.field("manualSelector").truth() {
		selects(a)
	} else if selector.has() {
		selector.fail(RuleExclusive, "must not be set unless manualSelector is true").Hint = "leave it out: the server makes one that selects the pods of this Job"
	}
	if mode := a.field("completionMode"); mode.text() == "Indexed" {
		if !a.field("completions").has() {
			a.missing("completions")
		}
	} else {
		forbid(a, "unless completionMode is \"Indexed\"", "backoffLimitPerIndex", "successPolicy")
	}
	if p := a.field("podFailurePolicy"); p.has() {
		if policy.text() == "OnFailure" {
			policy.fail(RuleEnum, "expected \"Never\" beside podFailurePolicy, found %s", policy.show())
		}
		for _, r := range p.field("rules").items() {
			failureRule(r, a.in("template", "spec"))
		}
	}
}

// failureRule checks a rule of a podFailurePolicy against the pods of the Job.
func failureRule(a, pod *at) {
	codes, conditions := a.field("onExitCodes"), a.field("onPodConditions")
	switch {
	case codes.has() && conditions.size() > 0:
		codes.fail(RuleExclusive, "must not be set beside onPodConditions").Hint = "make it a rule of its own"
	case !codes.has() && conditions.size() == 0:
		a.fail(RuleExclusive, "needs onExitCodes or onPodConditions")
	}
	name := codes.field("containerName")
	containers := append(pod.field("containers").items(), pod.field("initContainers").items()...)
	if name.has() && !slices.ContainsFunc(containers, func(c *at) bool { return c.field("name").text() == name.text() }) {
		name.fail(RuleReference, "names no container of the pod: %s", name.show())
	}
	for _, v := range codes.field("values").items() {
		if i, ok := v.integer(); (v.v == nil || ok && i == 0) && codes.field("operator").text() == "In" {
			v.fail(RuleRange, "must not be 0 where operator is \"In\": that is success")
		}
	}
	for _, c := range conditions.items() {
		optionalKey(c.field("type"))
		switch s := c.field("status"); s.text() {
		case "", "True", "False", "Unknown":
		default:
			s.fail(RuleEnum, "expected \"True\", \"False\" or \"Unknown\", found %s", s.show())
		}
	}
}

func cronJob(a *at) {
	notNegative(a, "startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
	schedule := a.field("schedule")
	if t := schedule.text(); t != "" {
		if problem := cronProblem(t); problem != "" {
			schedule.fail(RuleFormat, "%s, found %s", problem, schedule.show())
		}
	}
	zone := a.field("timeZone")
	if z, ok := zone.v.(string); ok && !knownZone(z) {
		zone.fail(RuleFormat, "expected the name of a time zone such as \"Europe/Berlin\", found %s", zone.show())
	}
	spec := a.in("jobTemplate", "spec")
	if spec.field("manualSelector").truth() {
		spec.field("manualSelector").fail(RuleExclusive, "must not be set in a CronJob")
	}
}

// knownZone reports whether the text has the form of a time zone. The names
// themselves depend on the database of the machine, and a render must not: an
// unknown but well formed name passes.
func knownZone(name string) bool {
	if name == "" || name == "Local" {
		return false
	}
	if name == "UTC" {
		return true
	}
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		inside := r >= '0' && r <= '9' || r == '/' || r == '_' || r == '-' || r == '+'
		if !letter && (i == 0 || !inside) {
			return false
		}
	}
	return true
}

func labelSelector(a *at) {
	labels(a.field("matchLabels"))
	for _, e := range a.field("matchExpressions").items() {
		key, operator := e.field("key"), e.field("operator")
		optionalKey(key)
		switch operator.text() {
		case "In", "NotIn", "Exists", "DoesNotExist", "":
			selectorValues(e)
		default:
			operator.fail(RuleEnum, "expected \"In\", \"NotIn\", \"Exists\" or \"DoesNotExist\", found %s", operator.show())
		}
		for _, v := range e.field("values").items() {
			labelValue(v)
		}
	}
}
