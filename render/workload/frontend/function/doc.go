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
// Every part of a Workload has the position of the author's part that it is made
// of. The container, the port and the scale are checked only by
// render/workload/score; [Written] maps its messages to the author's fields.
// No field of a func.yaml that affects the running function is dropped without a message. The
// fields that only the tool func uses (builder, git, registry) are dropped.
package function
