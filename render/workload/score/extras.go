// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"cmp"
	"slices"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// The fields that Score lacks stand under spec in a Workload, and under metadata in a Score
// file, which Score leaves open:
//
//	replicas         3, or {min, max, cpu, memory}: targets in percent of the request;
//	                 with {queue, cron, http, pollingInterval, cooldown} KEDA scales
//	identity         {gcp}, {aws} or {azure}: the account of the cloud that the pods act as
//	network          {allowFrom, allowTo}: traffic beside the calls between workloads
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
//	namespace        if it is not the namespace of the project
//	environment      that the document is for
//	dependsOn        names of specs that come first
//	allowSecrets     names of Secrets that may hold data
//	policyOverrides  loosen policies of the project
//	overlays         readyWhen, dependsOn, apply and patch over objects by selector
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

const (
	maxPort = 65535
	// The defaults of a canary.
	defaultMaxWeight, defaultStepWeight = 50, 10
)

// decodeExtras decodes the fields of the tables above.
func (d *decoder) decodeExtras(p part) {
	d.out.Environment = p.field("environment").asText()
	d.out.PodAnnotations = p.annotations("podAnnotations")
	d.out.Kind = p.field("kind").asText()
	d.decodeKindAnnotation()

	// Decode the fields that need more than their text.
	d.out.Schedule = p.field("schedule").asText()
	d.out.Replicas = d.replicas(p.field("replicas"))
	d.decodeServing(p.field("serving"))
	d.out.Deploy = p.field("deploy").deploy()
	d.out.ServiceAccount = p.field("serviceAccount").serviceAccount()
	d.decodeCloudIdentity(p.field("identity"))
	d.useAzure()
	d.out.Network = p.field("network").network()
	d.out.Passed = p.passed(specPassed())
	d.out.Pod = p.field("pod").open(podOwned)
	d.out.Job = p.field("job").open(jobOwned)

	// Decode the rules over objects, and the lists.
	whole := document.Part{Decoder: &d.Decoder, Value: p.Value, Path: p.loc.Path()}
	d.out.Overlays = spec.Overlays(whole, d.doc.Blocks, d.out.Name.Value)
	d.out.PolicyOverrides = spec.PolicyOverrides(whole)
	for _, item := range p.field("allowSecrets").parts() {
		d.out.AllowSecrets = append(d.out.AllowSecrets, item.asText())
	}
	for _, item := range p.field("dependsOn").parts() {
		if item.Text == d.out.Name.Value {
			item.reject("", "%q is this workload itself", item.Text)
			continue
		}
		d.out.DependsOn = append(d.out.DependsOn, item.asText())
	}
}

// decodeKindAnnotation reads the annotation by which score-k8s chooses a kind.
func (d *decoder) decodeKindAnnotation() {
	const name = "k8s.score.dev/kind"
	i, found := slices.BinarySearchFunc(d.out.Annotations, Pair{Name: name}, comparePairs)
	if !found || !d.doc.Score || d.out.Kind.Pos.IsValid() {
		return
	}
	loc := (*location)(nil).To("metadata", "annotations", name)
	switch v := d.out.Annotations[i].Value; v.Value {
	case KindDeployment, KindStatefulSet:
		d.warnAt(v.Pos, loc, "write metadata.kind: "+v.Value, "the annotation of score-k8s is read as kind")
		d.out.Kind = v
	default:
		d.failAt(v.Pos, loc, "write metadata.kind instead", "%s is not known: expected Deployment or StatefulSet", shown(v.Value))
	}
}

// podOwned returns a hint for a field of a pod that is not passed on, or "" for any other field.
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

// jobOwned returns a hint for a field of a Job that is not passed on, or "" for any other field.
func jobOwned(name string) string {
	switch name {
	case "template", "jobTemplate", "selector":
		return "further fields of the pod go under pod"
	case "schedule":
		return "move it up, next to job"
	}
	return ""
}

// deploy decodes {strategy, canary}. A canary without a strategy implies one, and an environment
// may switch it off by strategy: rolling.
func (p part) deploy() Deploy {
	if !p.given() {
		return Deploy{}
	}
	out := Deploy{Pos: p.Pos, Strategy: p.field("strategy").Text}
	if c := p.field("canary"); c.given() {
		out.Canary = c.canary()
		out.Strategy = cmp.Or(out.Strategy, StrategyCanary)
	}
	return out
}

func (p part) canary() Canary {
	out := Canary{Interval: p.field("interval").Text}
	out.Threshold, _ = p.field("threshold").number()
	out.MaxWeight, _ = p.field("maxWeight").number()
	step := p.field("stepWeight")
	out.StepWeight, _ = step.number()
	maxWeight := cmp.Or(out.MaxWeight, defaultMaxWeight)
	switch {
	case out.StepWeight > maxWeight:
		step.reject("", "is %d, more than maxWeight, which is %d", out.StepWeight, maxWeight)
	case out.StepWeight == 0 && maxWeight < defaultStepWeight:
		p.reject("write stepWeight too", "maxWeight is %d, less than the default stepWeight of %d", maxWeight, defaultStepWeight)
	}
	return out
}

// serviceAccount decodes a name, or {name, existing, annotations, mountToken}.
func (p part) serviceAccount() ServiceAccount {
	if p.Kind != object.KindMap {
		return ServiceAccount{Name: p.asText()}
	}
	annotations := p.field("annotations")
	out := ServiceAccount{
		Name: p.field("name").asText(), Existing: p.field("existing").flag(),
		Annotations: p.annotations("annotations"), MountToken: p.field("mountToken").flag(),
	}
	if out.Existing && len(out.Annotations) > 0 {
		annotations.reject("annotate the account where it is made", "an account that exists already is left as it is")
	}
	return out
}

// checkKind checks the fields that depend on the kind of the workload.
func (d *decoder) checkKind() {
	kind := d.out.Kind.Value
	field := func(name string) *location { return (*location)(nil).To(d.extra(), name) }
	d.checkKnative(field)
	job := kind == KindJob || kind == KindCronJob

	// Some fields are only for a CronJob or a Job.
	if kind == KindCronJob && !d.out.Schedule.Pos.IsValid() {
		d.failAt(d.out.Kind.Pos, field("schedule"), `write schedule: "0 3 * * *", or the one that it is`, "is missing: a CronJob requires one")
	}
	if d.out.Schedule.Pos.IsValid() && kind != KindCronJob {
		d.failAt(d.out.Schedule.Pos, field("schedule"), "write kind: CronJob", "only a CronJob has a schedule")
	}
	if d.out.Job.Kind != object.KindNone && !job {
		d.failAt(d.out.Job.Pos, field("job"), "write kind: Job or kind: CronJob", "only a Job or a CronJob has it")
	}
	if ttl, ok := d.out.Job.Get("ttlSecondsAfterFinished"); ok && kind == KindJob {
		d.warnAt(ttl.Pos, field("job").To("ttlSecondsAfterFinished"), "remove it, or write kind: CronJob",
			"a Job that the cluster deletes is missing for the engine, which creates it again, so that it runs again")
	}

	// A Job runs to an end, and so it lacks the fields of servers.
	if job && len(d.out.Ports) > 0 {
		d.warnAt(d.out.Ports[0].Pos, d.service(), "",
			"the pods of a %s run to an end: others reach the service only while they do", kind)
	}
	if job && d.out.Replicas != nil {
		d.failAt(d.out.Replicas.Pos, field("replicas"), "see job: {parallelism: …}", "a %s has no replicas", kind)
	}
	if budget, ok := d.out.Passed.Get("disruption"); ok && job {
		d.failAt(budget.Pos, field("disruption"), "remove it", "a %s has no disruption budget", kind)
	}

	// Some Services are made in the cluster, and only a Deployment has canaries.
	if d.out.Headless.IsValid() && (kind == KindKnativeService || d.out.Deploy.Strategy == StrategyCanary) {
		d.failAt(d.out.Headless, field("service").To("headless"), "remove it",
			"the Services of a KnativeService and of a workload with canaries are made in the cluster, and are not headless")
	}
	if d.out.Deploy.Strategy == StrategyCanary && kind != "" && kind != KindDeployment {
		d.failAt(d.out.Deploy.Pos, field("deploy"), "write strategy: rolling", "only a Deployment has canaries, and this is a %s", kind)
	}
}

// service returns the location of the service.
func (d *decoder) service() *location {
	if d.doc.Score {
		return (*location)(nil).To("service")
	}
	return (*location)(nil).To("spec", "service")
}
