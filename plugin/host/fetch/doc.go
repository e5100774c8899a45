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
// A hit of the cache is never an authorisation: a reference with a pullSecretRef
// shows its credentials to the server each time, by one request where the tree
// is there already, and fails where they are no good. References that are a
// digest or a commit and have no Secret ask nobody; offline ones never do.
// Scope parts tenants who share a cache beyond that, such as those of a
// controller, which has credentials of its own; the command line has one tenant,
// its user, and leaves it empty.
//
// Nothing is opened, read or started before the first module needs it: a render
// of local modules pays for none of it.
//
// Callers: the command line, and the Argo CD and Flux adapters.
package fetch
