// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package fetch builds the fetchers of an adapter: the lock over the cache over the
// backend, for each type of reference.
//
// # Invariants
//
// The lock comes first, so that a locked reference asks no server where it leads;
// then the cache; the dependencies of a module are added last, from CUE registries,
// and held to the same lock.
//
// A hit of the cache is never an authorisation: a reference with a pullSecretRef
// shows its credentials to the server each time, by one request if the tree is
// cached, and fails if they are refused. References that are a digest or a commit
// and have no Secret ask no server; offline ones never do. Scope separates tenants
// that share a cache.
//
// Credentials of a Git host are those of the program. They are used behind the
// cache, which keeps what was fetched with them apart by host and by when they were
// written: once they are removed or replaced, the server is asked again.
//
// Mounted Secrets lie in a directory for each project (DIR/PROJECT/NAME), so that a
// reference cannot name the Secret of another project.
//
// A pull policy is applied before the lock, and again between the lock and the
// cache. Modules that others depend on are judged before they are requested, and
// their signatures are verified before their content is used.
//
// Nothing is opened, read or started before the first module needs it.
//
// Callers: the command line, and the Argo CD and Flux adapters.
package fetch
