// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
)

// What makes the pods: Knative, or all else.
const (
	Pods document.Set = 1 << iota
	Knative
)

// Workload returns the table of a Workload.
func Workload() Document {
	metadata, spec := looseMetadata(), workload(1)
	metadata.Elsewhere = func(name string) string {
		if slices.ContainsFunc(spec.Fields, func(f Field) bool { return f.Name == name }) {
			return "move it under spec"
		}
		return ""
	}
	return Whole("Workload", "A workload: what Score has, and what it lacks.", metadata, spec)
}

// workload returns the table of the spec of a Workload, whose names have at least the given
// number of letters.
func workload(least int) Field {
	return Field{Name: "spec", Kind: fields, Need: true, Elsewhere: func(name string) string { return ofOthers("", name) }, Fields: []Field{
		{Name: "kind", Kind: text, Values: choices(workloadKinds()...), Doc: "What makes the pods."},
		replicas(),
		{Name: "serving", Kind: fields, Doc: "What limits requests, with kind: KnativeService or replicas.http.", Fields: []Field{
			{Name: "concurrencyLimit", Kind: number, Range: between(0, 1000), Doc: "Requests at a time that one pod of Knative gets at most; 0 is no limit."},
			seconds("timeout", 1, "Seconds that a request has."),
		}},
		{Name: "containers", Kind: fields, Least: 1, Need: true, Hint: "a workload has one container at least", Doc: "Containers of the pods, by their names.", Names: name(least), Each: each(container())},
		{Name: "service", Kind: fields, Doc: "What others reach the pods by.", Fields: []Field{
			{Name: "ports", Kind: fields, Doc: "Ports by their names.", Names: name(least), Each: &Field{Kind: fields, Fields: []Field{
				port(),
				{Name: "targetPort", Kind: number, Range: between(1, 65535), Doc: "Port of the container; that of the Service where it is absent."},
				{Name: "protocol", Kind: text, Values: choices("TCP", "UDP"), Doc: "TCP where it is absent."},
			}}},
			{Name: "headless", Kind: truth, Doc: "The name of the Service leads to the pods, at any port."},
		}},
		needs(least),
		DependsOn(),
		allowSecrets(),
		policyOverrides(),
		environment(),
		{Name: "namespace", Kind: text, Rule: namespace(), Doc: "Namespace of its objects, over that of metadata."},
		labels(),
		annotations(least),
		podAnnotations(least),
		serviceAccount(),
		identity(),
		network(),
		podSecurity(),
		deploy(),
		disruption(),
		{Name: "schedule", Kind: text, Full: true, Doc: "Of a CronJob, such as \"0 3 * * *\"."},
		{Name: "job", Kind: fields, Free: true, Doc: "Further fields of the spec of the Job or CronJob."},
		pod(),
		overlays(),
	}}
}

func workloadKinds() []string {
	return []string{"Deployment", "StatefulSet", "Job", "CronJob", "KnativeService"}
}

func port() Field {
	return Field{Name: "port", Kind: number, Range: between(1, 65535), Need: true, Doc: "Port of the Service.", Hint: "write port: 8080, or the one that it is"}
}

// ofOthers returns what to write for a field that Kubernetes and other formats have instead, or
// "" for any other name. The argument up is the path to the fields that Score lacks.
func ofOthers(up, name string) string {
	switch name {
	case "ingress", "ingresses", "route", "routes", "host", "hosts", "domain", "expose", "gateway":
		return "a host is a resource: resources: {web: {type: route, params: {host: HOST, path: /, port: PORT}}}"
	case "minReplicas", "maxReplicas", "autoscaling", "scaling", "autoscale", "hpa", "scale":
		return "write " + up + "replicas: {min: …, max: …}"
	case "image", "command", "args", "livenessProbe", "readinessProbe", "files":
		return "it goes under containers.NAME"
	case "env", "envFrom", "variables", "environmentVariables":
		return "write containers.NAME.variables: {NAME: VALUE}"
	case "ports", "port":
		return "write service: {ports: {http: {port: …}}}"
	case "initContainers", "sidecars":
		return "they go under containers; before defines the order"
	case "volumes", "volumeMounts":
		return "a volume is a resource of type volume, which containers.NAME.volumes mounts: {/PATH: {source: \"${resources.NAME}\"}}"
	case "serviceAccountName":
		return "write " + up + "serviceAccount"
	case "strategy":
		return "write " + up + "deploy: {strategy: …}"
	case "template", "selector":
		return "containers stand in the place of a template of pods; further fields of pods go under " + up + "pod"
	case "nodeSelector", "tolerations", "affinity", "imagePullSecrets", "terminationGracePeriodSeconds", "topologySpreadConstraints", "priorityClassName", "hostNetwork":
		return "write " + up + "pod: {" + name + ": …}"
	}
	return ""
}

func replicas() Field {
	return Field{Name: "replicas", Kind: number, Range: count(0), Rule: rule{Short: "number, or a map such as {min: 2, max: 10}"}, Doc: "How many pods run, or the bounds of an autoscaler; KEDA with queue, cron or http.", Or: []Field{{Kind: fields, Fields: []Field{
		{Name: "min", Kind: number, Range: count(0), Doc: "Pods at least."},
		{Name: "max", Kind: number, Range: count(1), Doc: "Pods at most."},
		{Name: "cpu", Kind: number, By: Pods, Range: between(1, 1000), Doc: "Target in percent of the request."},
		{Name: "memory", Kind: number, By: Pods, Range: between(1, 1000), Doc: "Target in percent of the request."},
		by(Pods, seconds("pollingInterval", 1, "Seconds between two looks at the triggers.")),
		seconds("cooldown", 0, "Seconds before the last pod is stopped."),
		by(Pods, queue()),
		{Name: "cron", Kind: list, By: Pods, Doc: "Scales by the clock.", Fields: []Field{
			{Name: "timezone", Kind: text, Full: true, Doc: "A name of the IANA database, such as Europe/Berlin; UTC where it is absent."},
			{Name: "start", Kind: text, Rule: cronLine(), Need: true, Hint: CronHint, Doc: "Five fields of cron."},
			{Name: "end", Kind: text, Rule: cronLine(), Need: true, Hint: CronHint, Doc: "Five fields of cron."},
			{Name: "replicas", Kind: number, Range: count(1), Need: true, Hint: "write how many pods run in the window", Doc: "How many pods run in the window."},
		}},
		{Name: "http", Kind: fields, Doc: "Scales by requests that pass through KEDA's HTTP add-on, or through Knative.", Fields: []Field{
			{Name: "concurrency", Kind: number, Range: count(1), Doc: "Requests at a time per pod."},
			{Name: "rate", Kind: number, Range: count(1), Doc: "Requests per second per pod."},
			{Name: "hosts", Kind: list, By: Pods, Least: 1, Unique: true, Doc: "For KEDA, which needs them.", Rule: host()},
			{Name: "paths", Kind: list, By: Pods, Least: 1, Unique: true, Rule: rooted(), Doc: "Beginnings of the paths of the requests that count; all where they are absent."},
			{Name: "port", Kind: text, By: Pods, Full: true, Doc: "The name of one of service.ports, where there are several of TCP."},
			{Name: "namespace", Kind: text, By: Pods, Rule: namespace(), Doc: "That of KEDA's HTTP add-on; keda where it is absent."},
		}},
	}}}}
}

// queue returns the field of a queue. The decoder knows which fields each type has.
func queue() Field {
	return Field{Name: "queue", Kind: fields, Doc: "Scales by the length of a queue.", Fields: []Field{
		{Name: "type", Kind: text, Values: choices("redis", "rabbitmq", "kafka", "sqs", "pubsub", "servicebus"), Doc: "The kind of server; redis, or valkey, where it is absent."},
		{Name: "name", Kind: text, Full: true, Need: true, Hint: "write the name of the queue", Doc: "The list of Redis or Valkey, the queue of RabbitMQ, the topic of Kafka, the name or URL of a queue of SQS, the subscription of Pub/Sub, the queue of Service Bus or the subscription of its topic."},
		{Name: "length", Kind: number, Range: count(1), Doc: "Entries per pod; 5 where it is absent."},
		{Name: "activation", Kind: number, Range: count(0), Doc: "Entries that start no pod where there is none; 0 where it is absent."},
		{Name: "resource", Kind: text, Full: true, Doc: "The resource of the workload that is the server, or that has the credentials."},
		{Name: "address", Kind: text, Full: true, Doc: "host:port of a server without credentials, in place of resource: redis, rabbitmq, kafka."},
		{Name: "tls", Kind: truth, Doc: "TLS to the server: redis, rabbitmq, kafka."},
		{Name: "database", Kind: number, Range: count(0), Doc: "Number of the database of redis; 0 where it is absent."},
		{Name: "vhost", Kind: text, Full: true, Doc: "Virtual host of rabbitmq; that of the resource, or /, where it is absent."},
		{Name: "group", Kind: text, Full: true, Doc: "Consumer group of kafka."},
		{Name: "sasl", Kind: text, Values: choices("plaintext", "scram_sha256", "scram_sha512"), Doc: "How KEDA logs in to kafka with the credentials of the resource."},
		{Name: "region", Kind: text, Full: true, Doc: "Region of sqs, such as eu-central-1."},
		{Name: "topic", Kind: text, Full: true, Doc: "Topic of servicebus; name is then its subscription."},
		{Name: "namespace", Kind: text, Rule: busNamespace(), Doc: "Namespace of servicebus, without .servicebus.windows.net, where there is no resource."},
	}}
}

// CronHint says what the fields of cron are.
const CronHint = `write minute, hour, day of month, month and day of week, such as "0 8 * * 1-5"`

func by(targets document.Set, f Field) Field {
	f.By = targets
	return f
}

func needs(least int) Field {
	aType := func(v object.Value) string {
		if v.Kind == object.KindNull {
			return "write {type: postgres}, or the type that it is"
		}
		return ""
	}
	return Field{Name: "resources", Kind: fields, Doc: "What the workload needs, by a name of its own.", Names: name(least), Each: &Field{Kind: fields, Rule: rule{Short: "map with the type of the resource"}, Mistyped: aType, Fields: []Field{
		{Name: "type", Kind: text, Rule: word(least), Need: true, Hint: "write type: postgres, or the one that it is", Doc: "What is needed, such as postgres, redis, volume, route, service."},
		{Name: "class", Kind: text, Rule: word(least), Doc: "Which kind of it, such as local, external or aws; what is there depends on the type."},
		{Name: "id", Kind: text, Rule: id(least), Doc: "Workloads that write the same id share the resource."},
		{Name: "params", Kind: fields, Free: true, Sensitive: true, Doc: "What the type takes: ropewalk provisioners show TYPE."},
		{Name: "metadata", Kind: fields, Open: true, Doc: "Labels and annotations for what makes it.", Fields: []Field{annotations(least).Means("")}},
		{Name: "direction", Kind: text, Values: choices("inbound", "outbound"), Doc: "Of a service: outbound where this workload calls, which is meant where it is absent; inbound where it is called."},
		{Name: "waitFor", Kind: truth, Doc: "The workload waits until the resource is ready."},
	}}}
}

func environment() Field {
	return Field{Name: "environment", Kind: text, Full: true, Doc: "Environment that the document is for."}
}

func serviceAccount() Field {
	return Field{Name: "serviceAccount", Kind: text, Full: true, Rule: account(), Doc: "Account of the pods.", Or: []Field{{Kind: fields, Fields: []Field{
		{Name: "name", Kind: text, Full: true, Rule: account(), Doc: "Name of the account; that of the workload where it is absent."},
		{Name: "existing", Kind: truth, Doc: "It is there already and is not made."},
		annotations(1).Means(""),
		{Name: "mountToken", Kind: truth, Doc: "Lets the pods call the Kubernetes API."},
	}}}}
}

func identity() Field {
	const client = "expected a UUID, such as 12345678-90ab-cdef-1234-567890abcdef"
	return Field{Name: "identity", Kind: fields, Least: 1, Hint: "write one of gcp, aws and azure", Doc: "The account of the cloud that the pods act as: one of the three.", Fields: []Field{
		{Name: "gcp", Kind: text, Rule: googleAccount(), Hint: "expected the address of a service account, such as api@acme.iam.gserviceaccount.com", Doc: "The address of a service account."},
		{Name: "aws", Kind: text, Rule: awsRole(), Hint: "expected the ARN of a role, such as arn:aws:iam::123456789012:role/api", Doc: "The ARN of a role."},
		{Name: "azure", Kind: text, Rule: uuid(), Hint: client, Doc: "The client id of an identity, or that and its tenant.", Or: []Field{{Kind: fields, Fields: []Field{
			{Name: "clientId", Kind: text, Rule: uuid(), Need: true, Hint: client, Doc: "Client id of the identity."},
			{Name: "tenantId", Kind: text, Rule: uuid(), Hint: client, Doc: "Tenant of the identity."},
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
	return Field{Name: "securityContext", Kind: fields, Free: true, Passed: true, Doc: "Of the pods, in the shape of the Kubernetes API."}
}

func deploy() Field {
	return Field{Name: "deploy", Kind: fields, Doc: "How a new version takes over.", Fields: []Field{
		{Name: "strategy", Kind: text, Values: choices("rolling", "canary"), Doc: "Where it is absent, canary if there is one here, else rolling."},
		{Name: "canary", Kind: fields, Doc: "How Flagger shifts requests to a new version.", Fields: []Field{
			{Name: "interval", Kind: text, Rule: interval(), Doc: "Such as 1m or 30s."},
			{Name: "threshold", Kind: number, Range: count(1), Doc: "Failed checks after which it goes back."},
			{Name: "maxWeight", Kind: number, Range: between(1, 100), Doc: "Percent of the requests at most before the new version gets all; 50 where it is absent."},
			{Name: "stepWeight", Kind: number, Range: between(1, 100), Doc: "Percent of the requests that each step adds; 10 where it is absent."},
		}},
	}}
}

func disruption() Field {
	return Field{Name: "disruption", Kind: fields, Passed: true, OneOf: []string{"minAvailable", "maxUnavailable"}, Doc: "What an eviction may take.", Fields: []Field{
		{Name: "minAvailable", Kind: number, Range: count(0), Doc: "Pods that stay, as a number or in percent.", Or: []Field{{Kind: text, Rule: percent()}}},
		{Name: "maxUnavailable", Kind: number, Range: count(0), Doc: "Pods that may go, as a number or in percent.", Or: []Field{{Kind: text, Rule: percent()}}},
	}}
}

func pod() Field {
	return Field{Name: "pod", Kind: fields, Free: true, Doc: "Further fields of the spec of the pods."}
}

func labels() Field {
	value := loose()
	value.Rule = labelValue()
	return Field{Name: "labels", Kind: fields, Doc: "Labels of all objects and of the pods.", Names: labelKey(), Each: value}
}

func annotations(least int) Field {
	return Field{Name: "annotations", Kind: fields, Doc: "Annotations of the object that makes the pods, and of the pods.", Names: key(least), Each: loose()}
}

func podAnnotations(least int) Field { return annotations(least).Named("podAnnotations").Means("") }
