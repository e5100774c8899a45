// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package fetch joins what gets modules into the fetchers of an adapter: the
// lock, over the cache, over the backend, for each type of reference.
//
// # Invariants
//
// The lock is asked first, so that a locked reference asks no server where it
// leads; the cache comes next, so that what is there is not fetched again; the
// dependencies of a module are added last, from CUE registries, and held to the
// same lock.
//
// Nothing is opened, read or started before the first module needs it: a render
// of local modules pays for none of it.
//
// Callers: the command line, and the Argo CD and Flux adapters.
package fetch
