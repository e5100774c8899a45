// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package rendercache caches finished renders, so that an equal request costs a read
// instead of an evaluation. It is beside the cache of evaluations (render/evaluate/resultcache), which serves a project in which one spec changed.
//
// The key is everything that a render depends on: the digests of the module trees,
// input, context, policies, dialect, options, positions, the version of the program, and
// the credential scope of the tenant. A hit is never an authorisation: two scopes never
// share an entry.
//
// Only successful renders are cached. One that holds a Secret with data is not, because
// no secret may enter a cache. A truncated or altered entry is a miss. A cache that
// cannot be read or written costs time, never the render.
package rendercache
