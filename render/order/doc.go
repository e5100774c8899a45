// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package order cuts a graph into waves: sets of nodes that an engine may
// apply together, each of which follows when the one before is ready.
//
// An edge costs a wave only when the engine's own order inside a wave cannot
// honour it. The number of waves is the longest path over such gating edges,
// and no more. What would hang a sync in a wave that is not the last never
// gates by itself. Engines differ, so they are data: see [Rules].
//
// Inside a wave nodes are in a stable total order that does not depend on the
// order in which they came.
//
// # What costs a wave
//
// An edge that an author wrote costs one where its end has a readiness that the
// engine waits for, or a readyWhen that asks for more than existence, and also
// where the engine's own order inside a wave is contrary to the edge or does not
// say. An inferred edge costs one only onto the workload behind a webhook or
// APIService, onto a custom resource with a readyWhen of its own, and from a bare
// Pod onto a class that the API server refuses it without. All other inferred
// edges are either kept by the order inside a wave, or settled by the cluster:
// pods wait for a Secret, and an autoscaler for its target. Those are loose.
//
// # What may hang
//
// Engines wait for everything in a wave that is not the last, needed or not. So
// what may never count as ready, or only after a while, see [Trap], goes to the
// last wave, and a claim that binds only when a pod uses it shares the wave of its
// first user. A dependency that names such a node still waits for it, with a
// warning. One on a whole spec does not: whoever depends on a spec means its
// workloads, not its Ingress. A LoadBalancer is the exception, because pods reach
// each other through it. An autoscaler that something leads to, such as a canary,
// stays where that is.
//
// # Decisions
//
// A join is answered by a table of its ends in the engine's order, not pair by
// pair, so that a dependency between two large specs costs a sort. The result
// is that of the product, which a test checks.
//
// What KeepsOrder engines apply is sorted topologically; the others sort for
// themselves, and their files are written in that order, so that they look like
// what happens.
package order
