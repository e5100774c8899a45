// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import "slices"

// Defaults returns the field of a Project that has the defaults of workloads.
func Defaults() Field {
	every := with(container(), "resources", "livenessProbe", "readinessProbe", "startupProbe", "securityContext", "imagePullPolicy", "lifecycle",
		"resizePolicy", "terminationMessagePath", "terminationMessagePolicy")
	every.Elsewhere = otherOfContainers
	return Field{Name: "defaults", Kind: fields, Doc: "What workloads have where they write nothing else.", Elsewhere: otherOfWorkloads, Fields: []Field{
		labels(),
		annotations(1),
		podAnnotations(1),
		defaultReplicas(),
		disruption(),
		deploy(),
		serviceAccount(),
		network(),
		podSecurity(),
		pod(),
		every.Named("container").Means("Fields of every container."),
	}}
}

// defaultReplicas returns the field of replicas, whose queue needs no name: it is the default of the
// workloads that have a queue.
func defaultReplicas() Field {
	out := replicas()
	for i, f := range out.Or[0].Fields {
		if f.Name != "queue" {
			continue
		}
		f.Fields = slices.Clone(f.Fields)
		for j := range f.Fields {
			f.Fields[j].Need = false
		}
		out.Or[0].Fields[i] = f.Means("What the queues of workloads have where they write nothing else, if they are of this type.")
	}
	return out
}

// otherOfWorkloads returns why a field of a Workload has no default.
func otherOfWorkloads(name string) string {
	switch name {
	case "containers":
		return "write container: its fields are for every container"
	case "namespace":
		return "write spec.context.namespace"
	case "resources":
		return "write container: {resources: …} for requests and limits; what else a workload needs stands in the workload"
	case "name", "kind", "schedule", "job", "serving", "service", "dependsOn", "allowSecrets", "environment", "identity", "image", "command", "args":
		return "it belongs to one workload: write it there"
	}
	return ""
}

// otherOfContainers returns why a field of a container has no default.
func otherOfContainers(name string) string {
	switch name {
	case "image", "command", "args", "variables", "files", "volumes", "before", "name", "stdin", "stdinOnce", "tty", "workingDir":
		return "it belongs to one container: write it there"
	}
	return ""
}
