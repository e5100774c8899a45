// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package graph joins nodes into a typed graph without cycles: the edges that
// authors wrote, and those that follow from the objects themselves.
//
// An edge leads from a node to one that must come first, and says who asked
// for it. Explicit edges win: where an inferred edge would close a cycle with
// them, the inferred one is left out, and kept in [Graph.Dropped] so that it
// can be explained. A cycle of explicit edges is a [CycleError], which prints
// every edge with its line.
//
// The package says nothing of waves: which edges cost one is for render/order,
// which knows the engines. Its callers are render and render/order.
//
// # Decisions
//
// A dependency between whole specs or apply sets is a [Join], not the product
// of their nodes. Two specs of 2,500 objects would have six million edges, and
// leaving out implied edges is no way out: which edges imply others depends on
// what an engine waits for, which is not known here. A join keeps what the
// author said, word for word.
//
// A spec without nodes passes its dependencies on: what depends on it depends
// on what it depends on.
//
// An inferred edge needs its target in the render. What is not in the render
// is expected to be in the cluster, so nothing is ever reported as missing by
// inference; a name that an author wrote in dependsOn is.
//
// Inferred edges that close a cycle among themselves are dropped from the least
// certain rule upwards, see [Build], so that the result does not depend on the
// order in which nodes come.
package graph
