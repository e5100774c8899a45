// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

// Function returns the table of a Function.
func Function() Document {
	spec := []Field{
		{Name: "target", Kind: text, Values: choices("knative", "keda"), Doc: "What runs the function; knative where it is absent."},
		container().Named("container").Needed(),
		{Name: "port", Kind: number, Range: between(1, 65535), Doc: "Where the container listens; 8080 where it is absent."},
		{Name: "scale", Kind: number, Range: from(0), Doc: "How many pods run, or the bounds and the requests that one pod has.", Or: []Field{{Kind: fields, Rule: rule{Short: "map such as {min: 2, max: 10}"}, Fields: []Field{
			{Name: "min", Kind: number, Range: from(0), Doc: "Pods at least; 0 where it is absent."},
			{Name: "max", Kind: number, Range: from(1), Doc: "Pods at most."},
			{Name: "concurrency", Kind: number, Range: from(1), Doc: "Requests at a time per pod."},
			{Name: "rate", Kind: number, Range: from(1), Doc: "Requests per second per pod."},
			{Name: "hosts", Kind: list, Least: 1, Doc: "For KEDA, which needs them.", Each: full()},
			{Name: "paths", Kind: list, Least: 1, Rule: rooted(), Doc: "Beginnings of the paths of the requests that count."},
			{Name: "namespace", Kind: text, Rule: label(), Doc: "That of KEDA's HTTP add-on; keda where it is absent."},
			seconds("cooldown", 0, "Seconds before the last pod is stopped."),
			seconds("pollingInterval", 1, "Seconds between two looks at the triggers."),
		}}}},
		{Name: "concurrencyLimit", Kind: number, Range: between(0, 1000), Doc: "Requests at a time that one pod of Knative gets at most; 0 is no limit."},
		{Name: "timeout", Kind: number, Range: from(1), Doc: "Seconds that a request has."},
		annotations(1),
		DependsOn(),
		environment(),
		identity(),
		labels(),
		{Name: "namespace", Kind: text, Rule: label(), Doc: "Namespace of its objects, over that of metadata."},
		network(),
		pod(),
		podAnnotations(1),
		needs(1),
		podSecurity(),
		serviceAccount(),
	}
	return Whole("Function", "A function that Knative or KEDA scales by requests.",
		looseMetadata(), Field{Name: "spec", Kind: fields, Need: true, Fields: spec})
}
