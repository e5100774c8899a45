// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

// defaults are those of workloads, in a Project.
func defaults() Field {
	every := with(container(), "resources", "livenessProbe", "readinessProbe", "startupProbe", "securityContext", "imagePullPolicy", "lifecycle",
		"resizePolicy", "terminationMessagePath", "terminationMessagePolicy")
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
		every.Named("container").Means("Fields of every container."),
	}}
}
