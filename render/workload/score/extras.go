// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// What Score lacks goes under spec in a Workload, and under metadata in a Score
// file, which Score leaves open:
//
//	replicas         3, or {min, max, cpu, memory}: targets in percent of the request;
//	                 with {queue, cron, http, pollingInterval, cooldown} KEDA scales
//	identity         {gcp}, {aws} or {azure}: the account of the cloud that the pods act as
//	network          {allowFrom, allowTo}: traffic beside that between workloads
//	deploy           {strategy: rolling | canary,
//	                 canary: {interval, threshold, maxWeight, stepWeight}}
//	kind             Deployment | StatefulSet | Job | CronJob | KnativeService
//	serving          {concurrencyLimit, timeout}: of requests, by Knative or KEDA
//	schedule         of a CronJob, such as "0 3 * * *"
//	disruption       {minAvailable} or {maxUnavailable}: a number or "50%"
//	serviceAccount   a name, or {name, existing, annotations, mountToken}
//	securityContext  of the pod, in the shape of the Kubernetes API
//	pod, job         further fields of the pod, and of the Job or CronJob
//	labels           of all objects and of the pods
//	podAnnotations   of the pods only
//	namespace        where it is not that of the project
//	environment      that the document is for
//	dependsOn        names of specs that come first
//
// In a Workload, namespace, labels and annotations may be in metadata, as in
// Kubernetes, or in spec, which an environment can change and which wins.
//
// Extras of a container go into the container itself in a Workload, and under
// metadata.containers.<name> in a Score file:
//
//	securityContext  in the shape of the Kubernetes API
//	resources        {requests, limits} of what is neither cpu nor memory, such as
//	                 ephemeral-storage
//	livenessProbe, readinessProbe
//	                 initialDelaySeconds, periodSeconds, timeoutSeconds,
//	                 successThreshold, failureThreshold,
//	                 terminationGracePeriodSeconds; the actions tcpSocket and grpc
//	startupProbe     all fields
//	imagePullPolicy, lifecycle, resizePolicy, stdin, stdinOnce,
//	terminationMessagePath, terminationMessagePolicy, tty, workingDir
//	                 as in the Kubernetes API
//
// Extras of a resource go into the resource in a Workload, and in its metadata
// in a Score file:
//
//	direction        inbound | outbound
//	waitFor          true: the workload waits until the resource is ready
//
// A Workload may also have names of one letter, requests of anything that
// Kubernetes counts, and amounts without quotes.

// The bounds of numbers.
const (
	maxPort    = 65535
	maxInt32   = 1<<31 - 1
	maxPercent = 100
	// maxTarget is a high target for an autoscaler: ten times the request.
	maxTarget = 1000
	// The defaults of a canary.
	defaultMaxWeight, defaultStepWeight = 50, 10
)

// extras decodes what Score lacks and a workload may declare: the fields
// of the tables above.
func (d *decoder) extras(f *fields) {
	if d.doc.Score {
		d.identity(f)
	}
	if p := f.get("environment"); p.given() {
		d.out.Environment = p.filled()
	}
	pod := f.get("podAnnotations")
	pod.literals(useValue)
	d.out.PodAnnotations = pod.pairs(d.badKey, anything)
	if p := f.get("kind"); p.given() {
		d.out.Kind = p.enum(workloadKinds()...)
	}
	d.kindOfOthers()
	if p := f.get("schedule"); p.given() {
		d.out.Schedule = p.filled()
	}
	d.out.Replicas = d.replicas(f.get("replicas"))
	d.serving(f.get("serving"))
	d.out.Deploy = d.deploy(f.get("deploy"))
	d.out.Disruption = d.disruption(f.get("disruption"))
	d.out.ServiceAccount = d.serviceAccount(f.get("serviceAccount"))
	d.cloudIdentity(f.get("identity"))
	d.useAzure()
	d.out.Network = d.network(f.get("network"))
	d.out.SecurityContext = f.get("securityContext").open(nil)
	d.out.Pod = f.get("pod").open(podOwned)
	d.out.Job = f.get("job").open(jobOwned)
	d.dependsOn(f.get("dependsOn"))
}

// kindOfOthers reads the annotation by which score-k8s chooses a kind.
func (d *decoder) kindOfOthers() {
	const name = "k8s.score.dev/kind"
	i, found := slices.BinarySearchFunc(d.out.Annotations, Pair{Name: name}, comparePairs)
	if !found || !d.doc.Score || d.out.Kind.Pos.IsValid() {
		return
	}
	at := &location{up: &location{up: &location{step: object.Field("metadata")}, step: object.Field("annotations")}, step: object.Field(name)}
	switch v := d.out.Annotations[i].Value; v.Value {
	case KindDeployment, KindStatefulSet:
		d.warn(v.Pos, at, "write metadata.kind: "+v.Value, "the annotation of score-k8s is read as kind")
		d.out.Kind = v
	default:
		d.fail(v.Pos, at, "write metadata.kind instead", "%s is not known: expected Deployment or StatefulSet", shown(v.Value))
	}
}

// podOwned is where the fields of a pod stand that are not passed on.
func podOwned(name string) string {
	switch name {
	case "containers", "initContainers":
		return "init containers go under containers; before defines the order"
	case "volumes":
		return "declare a resource of type volume and mount it"
	case "serviceAccountName", "serviceAccount", "automountServiceAccountToken":
		return "see serviceAccount {name, existing, mountToken}"
	case "securityContext":
		return "move it up, next to pod"
	}
	return ""
}

// jobOwned is where the fields of a Job stand that are not passed on.
func jobOwned(name string) string {
	switch name {
	case "template", "jobTemplate", "selector":
		return "further fields of the pod go under pod"
	case "schedule":
		return "move it up, next to job"
	}
	return ""
}

// deploy decodes {strategy, canary}. A canary without a strategy implies one;
// an environment may switch it off by strategy: rolling.
func (d *decoder) deploy(p part) Deploy {
	if !p.given() {
		return Deploy{}
	}
	out := Deploy{Pos: p.Pos}
	f := p.fields()
	if s := f.get("strategy"); s.given() {
		out.Strategy = s.enum(StrategyRolling, StrategyCanary).Value
	}
	if c := f.get("canary"); c.given() {
		out.Canary = c.canary()
		if out.Strategy == "" {
			out.Strategy = StrategyCanary
		}
	}
	f.done(nil)
	return out
}

func (p part) canary() Canary {
	f := p.fields()
	var out Canary
	if i := f.get("interval"); i.given() {
		out.Interval = i.Text
		n, err := strconv.Atoi(strings.TrimRight(out.Interval, "ms"))
		if len(strings.TrimRight(out.Interval, "ms")) != len(out.Interval)-1 || err != nil || n < 1 || out.Interval[0] == '+' {
			i.fail("", "expected minutes or seconds, such as 1m or 30s")
		}
	}
	out.Threshold, _ = f.get("threshold").number(1, maxInt32)
	out.MaxWeight, _ = f.get("maxWeight").number(1, maxPercent)
	step := f.get("stepWeight")
	out.StepWeight, _ = step.number(1, maxPercent)
	most := out.MaxWeight
	if most == 0 {
		most = defaultMaxWeight
	}
	switch {
	case out.StepWeight > most:
		step.fail("", "is %d, more than maxWeight, which is %d", out.StepWeight, most)
	case out.StepWeight == 0 && most < defaultStepWeight:
		p.fail("write stepWeight too", "maxWeight is %d, less than the default stepWeight of %d", most, defaultStepWeight)
	}
	f.done(nil)
	return out
}

// disruption decodes {minAvailable} or {maxUnavailable}: a number or a share.
func (d *decoder) disruption(p part) object.Value {
	if !p.given() || !p.is(object.KindMap) {
		return object.Value{}
	}
	f := p.fields()
	given := 0
	for _, name := range []string{"minAvailable", "maxUnavailable"} {
		v := f.get(name)
		switch {
		case !v.given():
			continue
		case v.Kind == object.KindString:
			share, ok := strings.CutSuffix(v.Text, "%")
			if n, err := strconv.Atoi(share); !ok || err != nil || n < 0 || n > maxPercent || share[0] == '+' {
				v.fail("", "%s is not a percentage: expected 0%% to 100%%", shown(v.Text))
			}
		default:
			v.number(0, maxInt32)
		}
		given++
	}
	if given != 1 {
		p.fail("", "expected one of minAvailable and maxUnavailable, got %d", given)
	}
	f.done(nil)
	return withoutNull(p.Value)
}

// serviceAccount decodes a name, or {name, existing, annotations, mountToken}.
func (d *decoder) serviceAccount(p part) ServiceAccount {
	var out ServiceAccount
	if !p.given() {
		return out
	}
	name := p
	if p.Kind == object.KindMap {
		f := p.fields()
		name = f.get("name")
		existing, annotations := f.get("existing"), f.get("annotations")
		out.Existing = existing.flag()
		annotations.literals(useValue)
		out.Annotations = annotations.pairs((&decoder{}).badKey, anything)
		out.MountToken = f.get("mountToken").flag()
		if out.Existing && len(out.Annotations) > 0 {
			annotations.fail("annotate the account where it is made", "an account that exists already is left as it is")
		}
		f.done(nil)
	}
	if name.given() {
		out.Name = name.filled()
		if name.Text != "" && !subdomain(name.Text, 1) {
			name.fail("", "%s is not a service account name: expected a-z, 0-9, - and dots", shown(name.Text))
		}
	}
	return out
}

// dependsOn decodes names of other specs.
func (d *decoder) dependsOn(p part) {
	if !p.given() {
		return
	}
	for _, item := range p.items() {
		t := item.text()
		switch {
		case item.Kind != object.KindString:
		case len(t.Value) > labelLength || spec.CheckName(t.Value) != nil:
			item.fail("", "%s is not a spec name", shown(t.Value))
		case t.Value == d.out.Name.Value:
			item.fail("", "%q is this workload itself", t.Value)
		case slices.ContainsFunc(d.out.DependsOn, func(o Text) bool { return o.Value == t.Value }):
			item.fail("", "%q is written twice", t.Value)
		default:
			d.out.DependsOn = append(d.out.DependsOn, t)
		}
	}
}

// kinds checks what goes with the kind of the workload.
func (d *decoder) kinds() {
	kind, root := d.out.Kind.Value, "spec"
	if d.doc.Score {
		root = "metadata"
	}
	at := func(name string) *location {
		return &location{up: &location{step: object.Field(root)}, step: object.Field(name)}
	}
	d.knative(at)
	job := kind == KindJob || kind == KindCronJob
	if kind == KindCronJob && !d.out.Schedule.Pos.IsValid() {
		d.fail(d.out.Kind.Pos, at("schedule"), `write schedule: "0 3 * * *", or the one that it is`, "is missing: a CronJob requires one")
	}
	if d.out.Schedule.Pos.IsValid() && kind != KindCronJob {
		d.fail(d.out.Schedule.Pos, at("schedule"), "write kind: CronJob", "only a CronJob has a schedule")
	}
	if d.out.Job.Kind != object.KindNone && !job {
		d.fail(d.out.Job.Pos, at("job"), "write kind: Job or kind: CronJob", "only a Job or a CronJob has it")
	}
	if ttl, ok := d.out.Job.Get("ttlSecondsAfterFinished"); ok && kind == KindJob {
		d.warn(ttl.Pos, &location{up: at("job"), step: object.Field("ttlSecondsAfterFinished")}, "remove it, or write kind: CronJob",
			"a Job that the cluster deletes is missing for the engine, which creates it again, so that it runs again")
	}
	if job && len(d.out.Ports) > 0 {
		service := &location{step: object.Field("service")}
		if !d.doc.Score {
			service = at("service")
		}
		d.warn(d.out.Ports[0].Pos, service, "",
			"the pods of a %s run to an end: others reach the service only while they do", kind)
	}
	if job && d.out.Replicas != nil {
		d.fail(d.out.Replicas.Pos, at("replicas"), "see job: {parallelism: …}", "a %s has no replicas", kind)
	}
	if job && d.out.Disruption.Kind != object.KindNone {
		d.fail(d.out.Disruption.Pos, at("disruption"), "remove it", "a %s has no disruption budget", kind)
	}
	if d.out.Headless.IsValid() && (kind == KindKnativeService || d.out.Deploy.Strategy == StrategyCanary) {
		d.fail(d.out.Headless, &location{up: at("service"), step: object.Field("headless")}, "remove it",
			"the Services of a KnativeService and of a workload with canaries are made in the cluster, and are not headless")
	}
	if d.out.Deploy.Strategy == StrategyCanary && kind != "" && kind != KindDeployment {
		d.fail(d.out.Deploy.Pos, at("deploy"), "write strategy: rolling", "only a Deployment has canaries, and this is a %s", kind)
	}
}
