// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package function makes workloads of functions: of documents of kind Function, and of the
// func.yaml of knative's func.
//
// [Compile] turns a func.yaml into a document of kind Function, before overlays are laid
// over it, so that environments and options name the fields of a Function. [Lower] then
// turns a Function into a Workload: to a Service of Knative, or to a Deployment with a
// Service that KEDA's HTTP add-on scales.
//
// # Invariants
//
// Every part of a Workload has the position of the part of the author's that it is made
// of. What a Workload says of the container, the port or the scale is checked by
// render/workload/score alone; [Written] leads its messages to the author's fields.
// Nothing of a func.yaml is dropped without a message where it concerns what runs: what
// only the tool func uses (builder, git, registry) is.
package function
