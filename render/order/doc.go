// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package order cuts a graph into waves: sets of nodes that an engine may apply at
// the same time, each of which follows when the one before is ready. Engines differ,
// and what differs is data: see [dialect.Rules]. Its callers are render, emit, and
// the commands that draw and explain a plan.
//
// An edge costs a wave only where the engine's own order inside a wave cannot honour
// it, so the number of waves is the longest path over such gating edges, and no more:
//   - An edge that an author wrote gates where its end has a readiness that the
//     engine waits for, or a readyWhen that requires more than existence, and where
//     the engine's order inside a wave is contrary to the edge or undefined.
//   - An inferred edge gates only onto the workload behind a webhook or APIService,
//     onto a custom resource with a readyWhen of its own, and from a bare Pod onto a
//     class that the API server rejects it without. All others are kept by the order
//     inside a wave, or loose: the cluster retries until they hold.
//
// Engines wait for everything in a wave that is not the last. So what may never
// count as ready, see [dialect.NeverReady], goes to the last wave, and a claim that
// binds only when a pod uses it to the wave of its first user. A dependency that names
// such a node still waits for it, with a warning; one on a whole spec does not, but for
// a LoadBalancer, because pods reach each other through it.
//
// Inside a wave nodes are in a stable total order that does not depend on the order
// of the input.
package order
