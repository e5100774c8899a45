// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
)

func container() Field {
	return Field{Kind: fields, Elsewhere: inContainer, Fields: []Field{
		{Name: "image", Kind: text, Full: true, Need: true, Hint: "write image: . where it is given at deployment", Doc: "Image, or . where it is given at deployment."},
		{Name: "command", Kind: list, Doc: "In place of the command of the image.", Each: loose(), Mistyped: asList},
		{Name: "args", Kind: list, Doc: "In place of its arguments.", Each: loose(), Mistyped: asList},
		variables(),
		{Name: "files", Kind: fields, Doc: "Files by their path in the container.", Each: each(file(false)), Or: []Field{{Kind: list, Each: each(file(true)), Doc: "An older form."}}},
		{Name: "volumes", Kind: fields, Doc: "Volumes by their path in the container.", Each: each(mount(false)), Or: []Field{{Kind: list, Each: each(mount(true)), Doc: "An older form."}}},
		{Name: "before", Kind: fields, Doc: "Containers that wait for this one.", Each: &Field{Kind: fields, Fields: []Field{
			{Name: "ready", Kind: text, Values: choices("started", "healthy", "complete"), Need: true, Hint: "write ready: started, healthy or complete", Doc: "When the other starts."},
		}}},
		{Name: "resources", Kind: fields, Doc: "What the container gets.", Fields: []Field{
			{Name: "requests", Kind: fields, Doc: "What is kept for it, such as cpu: 100m or memory: 128Mi.", Names: key(1), Each: quantity()},
			{Name: "limits", Kind: fields, Doc: "What it may take at most.", Names: key(1), Each: quantity()},
		}},
		probe().Named("livenessProbe"),
		probe().Named("readinessProbe"),
		probe().Named("startupProbe"),
		{Name: "securityContext", Kind: fields, Free: true, Doc: "In the shape of the Kubernetes API."},
		passed("imagePullPolicy", text, choices("Always", "IfNotPresent", "Never")...),
		{Name: "lifecycle", Kind: fields, Free: true, Passed: true, Doc: "In the shape of the Kubernetes API."},
		{Name: "resizePolicy", Kind: list, Passed: true, Doc: "In the shape of the Kubernetes API.", Each: &Field{Kind: fields, Free: true}},
		passed("stdin", truth),
		passed("stdinOnce", truth),
		passed("terminationMessagePath", text),
		passed("terminationMessagePolicy", text, choices("File", "FallbackToLogsOnError")...),
		passed("tty", truth),
		passed("workingDir", text),
	}}
}

// passed returns a field that goes into the input of the module as it is written.
func passed(name string, kind object.Kind, values ...document.Choice) Field {
	return Field{Name: name, Kind: kind, Passed: true, Values: values}
}

// inContainer returns what to write for a field that Kubernetes has, or "" for any other name.
func inContainer(name string) string {
	switch name {
	case "env", "envFrom":
		return "environment variables go under variables"
	case "volumeMounts":
		return "mounts go under volumes"
	case "ports":
		return "ports go under service.ports of the workload"
	case "pullPolicy":
		return "write imagePullPolicy"
	}
	return ""
}

func variables() Field {
	return Field{
		Name: "variables", Kind: fields, Sensitive: true, Names: variableName(),
		Doc: "Environment variables; ${resources.NAME.OUTPUT}, ${secrets.name.key}, ${metadata.…} and ${VARIABLE:-default} are expanded.",
		Each: &Field{Kind: text, Loose: true, Sensitive: true, Rule: noZero(), Mistyped: asText, Or: []Field{{Kind: fields, Doc: "A secret, or with local a Secret of the namespace.", Fields: []Field{
			{Name: "secret", Kind: text, Full: true, Doc: "Name of the secret at its provider."},
			{Name: "provider", Kind: text, Values: choices("aws", "azure", "gcp", "vault", "local"), Doc: "Where the secret is; the default provider where it is absent."},
			{Name: "version", Kind: text, Loose: true, Doc: "The newest where it is absent."},
			{Name: "key", Kind: text, Full: true, Doc: "Part of the secret; all of it where it is absent."},
			{Name: "local", Kind: text, Full: true, Doc: "Name of a Secret of the namespace."},
		}}}},
	}
}

// file returns the table of a file of a container. In a list, its path is called target.
func file(listed bool) Field {
	const octal = `write three octal digits in quotes, such as "0644"`
	return Field{Kind: fields, Fields: []Field{
		{Name: "content", Kind: text, Sensitive: true, Doc: "Text; placeholders are expanded.", Or: []Field{{Kind: list, Doc: "An older form: lines."}}},
		{Name: "binaryContent", Kind: text, Sensitive: true, Doc: "In base64."},
		{Name: "source", Kind: text, Full: true, Doc: "A path relative to this file."},
		{Name: "mode", Kind: text, Rule: fileMode(), Hint: octal, Mistyped: func(object.Value) string { return octal }, Doc: "Such as \"0644\"."},
		{Name: "noExpand", Kind: truth, Doc: "Leave placeholders as they are."},
		{Name: "secret", Kind: truth, Doc: "Keep it in a Secret in place of a ConfigMap; allowSecrets of the workload names the Secret."},
		target(listed),
	}}
}

func mount(listed bool) Field {
	return Field{Kind: fields, Fields: []Field{
		{Name: "source", Kind: text, Full: true, Need: true, Hint: "write source: ${resources.NAME}", Doc: "A resource of type volume, or with pvc:NAME, configmap:NAME and secret:NAME an object of the namespace that is there already."},
		{Name: "path", Kind: text, Doc: "Path inside of the volume."},
		{Name: "readOnly", Kind: truth, Doc: "Nothing is written to it."},
		{Name: "read_only", Kind: truth, Doc: "An older name."},
		target(listed),
	}}
}

func target(listed bool) Field {
	return Field{Name: "target", Kind: text, Need: listed, Hint: "write target: /path/in/the/container", Doc: "An older form."}
}

func probe() Field {
	named := port()
	named.Or = []Field{{Kind: text, Doc: "Name of a port of the service."}}
	return Field{Kind: fields, Doc: "A probe, with one action.", Fields: []Field{
		{Name: "httpGet", Kind: fields, Doc: "A request that must be answered.", Fields: []Field{
			{Name: "path", Kind: text, Doc: "Path of the request."},
			named,
			{Name: "host", Kind: text, Full: true, Doc: "Host to ask in place of the pod."},
			{Name: "scheme", Kind: text, Values: choices("HTTP", "HTTPS"), Doc: "HTTP where it is absent."},
			{Name: "httpHeaders", Kind: list, Doc: "Headers of the request.", Fields: []Field{
				{Name: "name", Kind: text, Rule: headerName(), Full: true, Need: true},
				{Name: "value", Kind: text, Need: true},
			}},
		}},
		{Name: "exec", Kind: fields, Doc: "A command that must succeed.", Fields: []Field{
			{Name: "command", Kind: list, Least: 1, Need: true, Hint: `write a list, such as ["/bin/check"]`, Doc: "The command with its arguments.", Each: loose(), Mistyped: asList},
		}},
		{Name: "tcpSocket", Kind: fields, Doc: "A port that must be open.", Fields: []Field{
			named,
			{Name: "host", Kind: text, Full: true, Doc: "Host to ask in place of the pod."},
		}},
		{Name: "grpc", Kind: fields, Doc: "A health check of gRPC.", Fields: []Field{
			port(),
			{Name: "service", Kind: text, Doc: "Name of the service that is asked for."},
		}},
		{Name: "initialDelaySeconds", Kind: number, Range: count(0), Doc: "Seconds before the first check."},
		{Name: "periodSeconds", Kind: number, Range: count(1), Doc: "Seconds between two checks."},
		{Name: "timeoutSeconds", Kind: number, Range: count(1), Doc: "Seconds that a check has."},
		{Name: "successThreshold", Kind: number, Range: count(1), Doc: "Successes after a failure until it counts as well."},
		{Name: "failureThreshold", Kind: number, Range: count(1), Doc: "Failures until it counts as ill."},
		{Name: "terminationGracePeriodSeconds", Kind: number, Range: count(1), Doc: "Seconds that a container has to end when it is ill."},
	}}
}

func traffic() Field {
	peers := labels().Means("Those of the pods; all of the namespace where they are absent.")
	peers.Least = 1
	peers.Hint = "remove it for all pods of the namespace"
	peers.Names = key(1)
	return Field{Kind: fields, Fields: []Field{
		{Name: "namespace", Kind: text, Rule: namespace(), Doc: "That of the pods; the one of the workload where it is absent."},
		peers,
		{Name: "cidr", Kind: text, Full: true, Doc: "Addresses, in place of pods."},
		{Name: "except", Kind: list, Doc: "Addresses inside of cidr that are left out.", Each: full()},
		{Name: "host", Kind: text, Full: true, Doc: "A DNS name or *.example.com, in allowTo: with cilium or istio."},
		{Name: "externalService", Kind: text, Full: true, Doc: "One of spec.workloads.externalServices of the Project with its ports, in allowTo."},
		{Name: "ports", Kind: list, Least: 1, Hint: "remove it for all ports", Doc: "Those of the pods that are called; all where they are absent.", Each: &Field{Kind: number, Range: between(1, 65535), Or: []Field{{Kind: fields, Fields: []Field{
			port(),
			{Name: "protocol", Kind: text, Values: choices("TCP", "UDP"), Doc: "TCP where it is absent."},
		}}}}},
	}}
}
