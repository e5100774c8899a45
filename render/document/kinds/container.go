// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

func container() Field {
	return Field{Kind: fields, Fields: []Field{
		{Name: "image", Kind: text, Need: true, Doc: "Image, or . where it is given at deployment."},
		{Name: "command", Kind: list},
		{Name: "args", Kind: list},
		{Name: "variables", Kind: fields, Doc: "Environment variables; ${resources.NAME.OUTPUT}, ${secrets.name.key}, ${metadata.…} and ${VARIABLE:-default} are expanded.", Each: &Field{Kind: text, Loose: true, Or: []Field{{Kind: fields, Doc: "A secret, or with local a Secret of the namespace.", Fields: []Field{
			{Name: "secret", Kind: text, Doc: "Name of the secret at its provider."},
			{Name: "provider", Kind: text, Values: choices("aws", "azure", "gcp", "vault", "local"), Doc: "Where the secret is; the default provider where it is absent."},
			{Name: "version", Kind: text, Text: true, Doc: "The newest where it is absent."},
			{Name: "key", Kind: text, Doc: "Part of the secret; all of it where it is absent."},
			{Name: "local", Kind: text, Doc: "Name of a Secret of the namespace."},
		}}}}},
		{Name: "files", Kind: fields, Doc: "Files by their path in the container.", Each: &Field{Kind: fields, Fields: []Field{
			{Name: "content", Kind: text, Doc: "Text; placeholders are expanded."},
			{Name: "binaryContent", Kind: text, Doc: "In base64."},
			{Name: "source", Kind: text, Doc: "A path relative to this file."},
			{Name: "mode", Kind: text, Doc: "Such as \"0644\"."},
			{Name: "noExpand", Kind: truth, Doc: "Leave placeholders as they are."},
			{Name: "target", Kind: text, Doc: "An older form."},
		}}},
		{Name: "volumes", Kind: fields, Doc: "Volumes by their path in the container.", Each: &Field{Kind: fields, Fields: []Field{
			{Name: "source", Kind: text, Need: true, Doc: "A resource of type volume."},
			{Name: "path", Kind: text},
			{Name: "readOnly", Kind: truth},
			{Name: "target", Kind: text, Doc: "An older form."},
		}}},
		{Name: "before", Kind: fields, Doc: "Containers that wait for this one.", Each: &Field{Kind: fields, Fields: []Field{
			{Name: "ready", Kind: text, Values: choices("started", "healthy", "complete"), Need: true},
		}}},
		{Name: "resources", Kind: fields, Fields: []Field{
			{Name: "requests", Kind: fields, Each: quantity()},
			{Name: "limits", Kind: fields, Each: quantity()},
		}},
		probe().Named("livenessProbe"),
		probe().Named("readinessProbe"),
		probe().Named("startupProbe"),
		{Name: "securityContext", Kind: fields, Free: true, Doc: "In the shape of the Kubernetes API."},
		{Name: "imagePullPolicy", Kind: text, Values: choices("Always", "IfNotPresent", "Never")},
		{Name: "lifecycle", Kind: fields, Free: true, Doc: "In the shape of the Kubernetes API."},
		{Name: "resizePolicy", Kind: list, Each: &Field{Kind: fields, Free: true}},
		{Name: "stdin", Kind: truth},
		{Name: "stdinOnce", Kind: truth},
		{Name: "terminationMessagePath", Kind: text},
		{Name: "terminationMessagePolicy", Kind: text, Values: choices("File", "FallbackToLogsOnError")},
		{Name: "tty", Kind: truth},
		{Name: "workingDir", Kind: text},
	}}
}

func probe() Field {
	return Field{Kind: fields, Doc: "A probe, with one action.", Fields: []Field{
		{Name: "httpGet", Kind: fields, Fields: []Field{
			{Name: "path", Kind: text},
			{Name: "port", Kind: number, Range: between(1, 65535), Need: true, Or: []Field{{Kind: text, Doc: "Name of a port of the service."}}},
			{Name: "host", Kind: text},
			{Name: "scheme", Kind: text, Values: choices("HTTP", "HTTPS")},
			{Name: "httpHeaders", Kind: list, Fields: []Field{
				{Name: "name", Kind: text, Need: true},
				{Name: "value", Kind: text, Need: true},
			}},
		}},
		{Name: "exec", Kind: fields, Fields: []Field{
			{Name: "command", Kind: list, Need: true},
		}},
		{Name: "tcpSocket", Kind: fields, Fields: []Field{
			{Name: "port", Kind: number, Range: between(1, 65535), Need: true, Or: []Field{{Kind: text, Doc: "Name of a port of the service."}}},
			{Name: "host", Kind: text},
		}},
		{Name: "grpc", Kind: fields, Fields: []Field{
			{Name: "port", Kind: number, Range: between(1, 65535), Need: true},
			{Name: "service", Kind: text},
		}},
		{Name: "initialDelaySeconds", Kind: number, Range: from(0)},
		{Name: "periodSeconds", Kind: number, Range: from(1)},
		{Name: "timeoutSeconds", Kind: number, Range: from(1)},
		{Name: "successThreshold", Kind: number, Range: from(1)},
		{Name: "failureThreshold", Kind: number, Range: from(1)},
		{Name: "terminationGracePeriodSeconds", Kind: number, Range: from(1)},
	}}
}

func traffic() Field {
	return Field{Kind: fields, Fields: []Field{
		{Name: "namespace", Kind: text, Rule: label(), Doc: "That of the pods; the one of the workload where it is absent."},
		{Name: "labels", Kind: fields, Least: 1, Doc: "Those of the pods; all of the namespace where they are absent.", Each: loose()},
		{Name: "cidr", Kind: text, Full: true, Doc: "Addresses, in place of pods."},
		{Name: "except", Kind: list, Doc: "Addresses inside of cidr that are left out.", Each: full()},
		{Name: "host", Kind: text, Full: true, Doc: "A DNS name or *.example.com, in allowTo: with cilium or istio."},
		{Name: "ports", Kind: list, Least: 1, Doc: "Those of the pods that are called; all where they are absent.", Each: &Field{Kind: number, Range: between(1, 65535), Or: []Field{{Kind: fields, Fields: []Field{
			{Name: "port", Kind: number, Range: between(1, 65535), Need: true},
			{Name: "protocol", Kind: text, Values: choices("TCP", "UDP")},
		}}}}},
	}}
}
