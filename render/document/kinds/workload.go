// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

// Workload is the table of a Workload.
func Workload() Document {
	spec := []Field{
		{Name: "kind", Kind: text, Values: choices("Deployment", "StatefulSet", "Job", "CronJob", "KnativeService"), Doc: "What makes the pods."},
		replicas(),
		{Name: "serving", Kind: fields, Doc: "What limits requests, with kind: KnativeService or replicas.http.", Fields: []Field{
			{Name: "concurrencyLimit", Kind: number, Range: between(0, 1000), Doc: "Requests at a time that one pod of Knative gets at most; 0 is no limit."},
			{Name: "timeout", Kind: number, Range: from(1), Doc: "Seconds that a request has."},
		}},
		{Name: "containers", Kind: fields, Least: 1, Need: true, Each: each(container())},
		{Name: "service", Kind: fields, Fields: []Field{
			{Name: "ports", Kind: fields, Each: &Field{Kind: fields, Fields: []Field{
				{Name: "port", Kind: number, Range: between(1, 65535), Need: true},
				{Name: "targetPort", Kind: number, Range: between(1, 65535)},
				{Name: "protocol", Kind: text, Values: choices("TCP", "UDP")},
			}}},
			{Name: "headless", Kind: truth, Doc: "The name of the Service leads to the pods, at any port."},
		}},
		needs(),
		DependsOn(),
		environment(),
		{Name: "namespace", Kind: text, Rule: label()},
		labels(),
		annotations(),
		podAnnotations(),
		serviceAccount(),
		identity(),
		network(),
		podSecurity(),
		deploy(),
		disruption(),
		{Name: "schedule", Kind: text, Doc: "Of a CronJob, such as \"0 3 * * *\"."},
		{Name: "job", Kind: fields, Free: true, Doc: "Further fields of the spec of the Job or CronJob."},
		pod(),
	}
	return Whole("Workload", "A workload: what Score has, and what it lacks.",
		looseMetadata(), Field{Name: "spec", Kind: fields, Need: true, Fields: spec})
}

func replicas() Field {
	return Field{Name: "replicas", Kind: number, Range: from(0), Doc: "How many pods run, or the bounds of an autoscaler; KEDA with queue, cron or http.", Or: []Field{{Kind: fields, Fields: []Field{
		{Name: "min", Kind: number, Range: from(0)},
		{Name: "max", Kind: number, Range: from(1)},
		{Name: "cpu", Kind: number, Range: between(1, 1000), Doc: "Target in percent of the request."},
		{Name: "memory", Kind: number, Range: between(1, 1000), Doc: "Target in percent of the request."},
		{Name: "pollingInterval", Kind: number, Range: from(1), Doc: "Seconds between two looks at the triggers."},
		{Name: "cooldown", Kind: number, Range: from(0), Doc: "Seconds before the last pod is stopped."},
		{Name: "queue", Kind: fields, Doc: "Scales by the length of a list.", Fields: []Field{
			{Name: "name", Kind: text, Full: true, Need: true, Doc: "The list of Redis or Valkey."},
			{Name: "length", Kind: number, Range: from(1), Doc: "Entries per pod; 5 where it is absent."},
			{Name: "activation", Kind: number, Range: from(0), Doc: "Entries that start no pod where there is none; 0 where it is absent."},
			{Name: "resource", Kind: text, Full: true, Doc: "The resource of the workload that is the server."},
			{Name: "address", Kind: text, Full: true, Doc: "host:port of a server without credentials, in place of resource."},
			{Name: "tls", Kind: truth},
			{Name: "database", Kind: number, Range: from(0)},
		}},
		{Name: "cron", Kind: list, Doc: "Scales by the clock.", Fields: []Field{
			{Name: "timezone", Kind: text, Full: true, Doc: "A name of the IANA database, such as Europe/Berlin; UTC where it is absent."},
			{Name: "start", Kind: text, Rule: cronLine(), Need: true, Doc: "Five fields of cron."},
			{Name: "end", Kind: text, Rule: cronLine(), Need: true, Doc: "Five fields of cron."},
			{Name: "replicas", Kind: number, Range: from(1), Need: true, Doc: "How many pods run in the window."},
		}},
		{Name: "http", Kind: fields, Doc: "Scales by requests that pass through KEDA's HTTP add-on, or through Knative.", Fields: []Field{
			{Name: "concurrency", Kind: number, Range: from(1), Doc: "Requests at a time per pod."},
			{Name: "rate", Kind: number, Range: from(1), Doc: "Requests per second per pod."},
			{Name: "hosts", Kind: list, Least: 1, Doc: "For KEDA, which needs them.", Each: full()},
			{Name: "paths", Kind: list, Least: 1, Rule: rooted()},
			{Name: "port", Kind: text, Full: true, Doc: "The name of one of service.ports, where there are several of TCP."},
			{Name: "namespace", Kind: text, Rule: label(), Doc: "That of KEDA's HTTP add-on; keda where it is absent."},
		}},
	}}}}
}

func needs() Field {
	return Field{Name: "resources", Kind: fields, Doc: "What the workload needs, by a name of its own.", Each: &Field{Kind: fields, Fields: []Field{
		{Name: "type", Kind: text, Need: true, Doc: "What is needed, such as postgres, redis, volume, route, service."},
		{Name: "class", Kind: text},
		{Name: "id", Kind: text, Doc: "Workloads that write the same id share the resource."},
		{Name: "params", Kind: fields, Free: true},
		{Name: "metadata", Kind: fields, Free: true},
		{Name: "direction", Kind: text, Values: choices("inbound", "outbound")},
		{Name: "waitFor", Kind: truth, Doc: "The workload waits until the resource is ready."},
	}}}
}

func environment() Field {
	return Field{Name: "environment", Kind: text, Doc: "Environment that the document is for."}
}

func serviceAccount() Field {
	return Field{Name: "serviceAccount", Kind: text, Doc: "Account of the pods.", Or: []Field{{Kind: fields, Fields: []Field{
		{Name: "name", Kind: text},
		{Name: "existing", Kind: truth, Doc: "It is there already and is not made."},
		{Name: "annotations", Kind: fields, Each: loose()},
		{Name: "mountToken", Kind: truth, Doc: "Lets the pods call the Kubernetes API."},
	}}}}
}

func identity() Field {
	return Field{Name: "identity", Kind: fields, Doc: "The account of the cloud that the pods act as: one of the three.", Fields: []Field{
		{Name: "gcp", Kind: text, Rule: googleAccount(), Doc: "The address of a service account."},
		{Name: "aws", Kind: text, Rule: awsRole(), Doc: "The ARN of a role."},
		{Name: "azure", Kind: text, Rule: uuid(), Or: []Field{{Kind: fields, Fields: []Field{
			{Name: "clientId", Kind: text, Rule: uuid(), Need: true},
			{Name: "tenantId", Kind: text, Rule: uuid()},
		}}}},
	}}
}

func network() Field {
	return Field{Name: "network", Kind: fields, Doc: "Traffic beside that of the calls between workloads.", Fields: []Field{
		{Name: "allowFrom", Kind: list, Doc: "What may call the pods; nothing where it is empty, and no rule where it is absent.", Each: each(traffic())},
		{Name: "allowTo", Kind: list, Doc: "What the pods may call; nothing but DNS where it is empty, and no rule where it is absent.", Each: each(traffic())},
	}}
}

func podSecurity() Field {
	return Field{Name: "securityContext", Kind: fields, Free: true, Doc: "Of the pods, in the shape of the Kubernetes API."}
}

func deploy() Field {
	return Field{Name: "deploy", Kind: fields, Fields: []Field{
		{Name: "strategy", Kind: text, Values: choices("rolling", "canary")},
		{Name: "canary", Kind: fields, Fields: []Field{
			{Name: "interval", Kind: text, Doc: "Such as 1m or 30s."},
			{Name: "threshold", Kind: number, Range: from(1)},
			{Name: "maxWeight", Kind: number, Range: between(1, 100)},
			{Name: "stepWeight", Kind: number, Range: between(1, 100)},
		}},
	}}
}

func disruption() Field {
	return Field{Name: "disruption", Kind: fields, Least: 1, Most: 1, Fields: []Field{
		{Name: "minAvailable", Kind: number, Range: from(0), Or: []Field{{Kind: text, Rule: percent()}}},
		{Name: "maxUnavailable", Kind: number, Range: from(0), Or: []Field{{Kind: text, Rule: percent()}}},
	}}
}

func pod() Field {
	return Field{Name: "pod", Kind: fields, Free: true, Doc: "Further fields of the spec of the pods."}
}

func labels() Field {
	return Field{Name: "labels", Kind: fields, Doc: "Labels of all objects and of the pods.", Each: loose()}
}

func annotations() Field {
	return Field{Name: "annotations", Kind: fields, Doc: "Annotations of the object that makes the pods, and of the pods.", Each: loose()}
}

func podAnnotations() Field {
	return Field{Name: "podAnnotations", Kind: fields, Each: loose()}
}
