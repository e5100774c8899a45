// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package cases reads the cases of a module, renders them, and compares what came of it with
// what they expect.
//
// Cases are the documents of the files test/*.yaml beside the package of a module; files
// whose names begin with "_" or "." or end in .golden.yaml are none. Each is rendered
// through the complete pipeline, with positions in its file:
//
//	name: two replicas              # that of the file where it is left out
//	input: {replicas: 2}            # what a user writes in spec.input
//	context: {name: web}            # name, namespace, environment, engine, kubeVersion, clusterDomain
//	expect:
//	  objects: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2}}]
//	  absent: [{kind: Ingress, metadata: {name: web}}]
//	  count: 2
//	  waves: [[web/service, web/deployment]]
//	---
//	name: none
//	input: {replicas: 0}
//	expect: {errors: [{message: at least 1, at: input.replicas}]}
//
// An object must hold what an item of objects says: of maps the fields that are written, of
// which null says that there is none; lists have as many items as are written, each of
// which holds what its counterpart says. Waves, errors and warnings are compared as a whole.
//
// The input of a case of a module of provisioners is the spec of a Workload, and a case of a
// policy has, beside its parameters, the subject that it judges.
//
// # Invariants
//
// A case that asserts nothing is a mistake. Without a context, a case is rendered in the
// same one wherever the module comes from, so that it never depends on the name of a folder.
package cases
