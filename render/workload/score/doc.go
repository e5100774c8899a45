// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package score decodes workloads: Score files (score.dev/v1b1, as of Score
// 0.4.1) and documents of our own kind Workload, which have the same fields and
// those that Score lacks.
//
// [Decode] takes the document as a value whose parts know their lines, after
// environments and options were laid over it, and gives a [Workload]: decoded,
// older forms upgraded, defaults of Score filled in, valid by itself. What takes
// other workloads, resources or placeholders to know is not its business:
// render/workload calls it and goes on from there.
//
// # Invariants
//
// A workload without errors has a name, one container at least, nothing twice at
// one path, no cycle in before, and amounts that Kubernetes takes. Lists are sorted by
// name, so that the order of a document changes nothing. All mistakes are
// reported at once, each at its line; no message repeats the text of a variable,
// a file or a parameter, which may be a password. No input panics, and the time
// is linear in its size.
//
// # Extras
//
// What Score lacks stands under spec in a Workload, and under metadata in a Score
// file, which Score leaves open:
//
//	replicas         3, or {min, max, cpu, memory}: aims in percent of the request
//	deploy           {strategy: rolling | canary,
//	                 canary: {interval, threshold, maxWeight, stepWeight}}
//	kind             Deployment | StatefulSet | Job | CronJob
//	schedule         of a CronJob, such as "0 3 * * *"
//	disruption       {minAvailable} or {maxUnavailable}: a number or "50%"
//	serviceAccount   a name, or {name, existing, annotations, mountToken}
//	securityContext  of the pod, in the shape of the Kubernetes API
//	pod, job         further fields of the pod, and of the Job or CronJob
//	labels           of all objects and of the pods
//	podAnnotations   of the pods alone
//	namespace        where it is not that of the project
//	environment      that the document is for
//	dependsOn        names of specs that come first
//
// In a Workload, namespace, labels and annotations may stand in metadata, as in
// Kubernetes, or in spec, which an environment can change and which wins.
//
// Extras of a container stand in the container itself in a Workload, and under
// metadata.containers.<name> in a Score file:
//
//	securityContext  in the shape of the Kubernetes API
//	livenessProbe, readinessProbe
//	                 initialDelaySeconds, periodSeconds, timeoutSeconds,
//	                 successThreshold, failureThreshold,
//	                 terminationGracePeriodSeconds; the actions tcpSocket and grpc
//	startupProbe     whole
//	imagePullPolicy, lifecycle, resizePolicy, stdin, stdinOnce,
//	terminationMessagePath, terminationMessagePolicy, tty, workingDir
//	                 as in the Kubernetes API
//
// Extras of a resource stand in the resource in a Workload, and in its metadata
// in a Score file:
//
//	direction        inbound | outbound
//	waitFor          true: the workload waits until the resource is ready
//
// A Workload may besides have names of one letter, requests of anything that
// Kubernetes counts, and amounts without quotes.
//
// # Older forms
//
// These are read with a warning: apiVersion score.sh/v1b1, properties of a
// resource (which are left out), pullPolicy, files and volumes as lists, content
// as a list of lines, read_only, null for what is optional, whole numbers and
// bools where text belongs, an amount of cpu that begins with its point, and the annotation
// k8s.score.dev/kind. What could mean two things is refused with what to
// write: a number with a point as text, memory of 128K, names with underscores,
// a mode without quotes, an image that is null.
//
// # Decisions
//
// Rules are code, not the JSON Schema of Score: compiling it costs milliseconds
// at each start, its errors say which subschema failed and not what to
// write, and it knows neither older forms nor what Kubernetes refuses.
//
// before means what the issues and implementations of Score say and the text of
// its schema does not: migrate.before.app starts migrate first.
//
// Parts in the shape of the Kubernetes API are passed on with their places and
// not judged here: the check of the rendered objects knows every field of them.
package score
