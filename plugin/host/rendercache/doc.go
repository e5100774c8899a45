// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package rendercache keeps finished renders, so that a request that was
// rendered before costs a read and not an evaluation.
//
// # Invariants
//
// The key is everything that a render depends on: the digests of the module
// trees, input, context, policies, dialect, options, the version of the
// program, and the credential scope of the tenant. A hit is never an
// authorisation: two scopes never share an entry.
//
// Only renders that went well are kept. One that holds a Secret with data is
// not, because no secret may enter a cache. An entry that was cut short or
// altered is a miss.
//
// A cache that cannot be read or written costs time, never the render.
//
// Callers: the command line, and the Argo CD and Flux adapters.
//
// # Decisions
//
// Positions are part of the key, because warnings and the graph name lines: a
// spec that only moves down a line is rendered again, which costs milliseconds,
// and nobody is ever pointed at the wrong line.
//
// The key is made by reflection over the request, so that a field that someone
// adds later is part of it unless it is taken out by name. Listing the fields
// would be faster by some microseconds, and wrong once.
//
// A disk makes sure of what it is given, which takes as long as a warm render: a
// server writes [Behind] its answer. A command that ends waits for it.
//
// The plan is not kept, only its document: what needs the plan itself (explain,
// the picture) renders.
package rendercache
