// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package generate makes the input of the CUE module cue/modules/workload, which
// makes the Kubernetes objects of a workload, from a workload whose placeholders are
// resolved.
//
// # Stages
//
// [Input] makes volumes, files, containers with their variables and probes, the number of pods, the
// canary and the network, in this order. Each stage takes values and returns values, and reports its
// mistakes. The changes of provisioners are merged over the result, and the parts that depend on
// both are completed and checked last.
//
// # Invariants
//
// A secret is a Go type ([Secret]), never a mark in a text: text that holds one is
// tainted, and goes into an ExternalSecret template, a secretKeyRef or a $(VAR)
// composition, or is refused at its line. Every part of the input has the position of
// what the user wrote. All mistakes are reported at once; the same workload gives the
// same bytes.
package generate
