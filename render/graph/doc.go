// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package graph joins nodes into a typed graph without cycles: the edges that
// authors wrote, and those inferred from the objects themselves.
//
// An edge leads from a node to one that must come first, and names the rule and
// the line behind it. A dependency between complete specs or apply sets is a
// [Join] and is never expanded into edges. A spec without nodes passes its
// dependencies on.
//
// # Invariants
//
// Explicit edges win: where an inferred edge would close a cycle with them, the
// inferred one is left out and kept in [Graph.Dropped] so that it can be
// explained. Inferred edges that close a cycle among themselves are dropped from
// the least certain rule upwards (see [Build]), so that the result does not
// depend on the order of the nodes. A cycle of explicit edges is a [CycleError],
// which prints every edge with its line.
//
// An inferred edge needs its target in the render: other objects are expected in
// the cluster, so inference reports nothing as missing, and lists them in
// [Graph.Needs]. An unknown name in dependsOn is an error.
//
// Waves are not known here.
package graph
