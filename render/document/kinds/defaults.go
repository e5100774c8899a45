// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

// defaults are those of workloads, in a Project.
func defaults() Field {
	return Field{Name: "defaults", Kind: fields, Doc: "What workloads have where they write nothing else.", Fields: []Field{
		labels(),
		annotations(),
		podAnnotations(),
		replicas(),
		disruption(),
		deploy(),
		serviceAccount(),
		network(),
		podSecurity(),
		pod(),
		{Name: "container", Kind: fields, Doc: "Fields of every container.", Fields: []Field{
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
			{Name: "terminationMessagePath", Kind: text},
			{Name: "terminationMessagePolicy", Kind: text, Values: choices("File", "FallbackToLogsOnError")},
		}},
	}}
}
