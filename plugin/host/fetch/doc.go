// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package fetch builds the fetchers of an adapter: the lock over the cache over the
// backend, for each type of reference.
//
// # Invariants
//
// The lock comes first, so that a locked reference is resolved without a request; then
// the cache; the dependencies of a module are added last, from CUE registries,
// and held to the same lock.
//
// A hit of the cache is never an authorisation: a reference with a pullSecretRef
// is authorised by the server each time, by one request if the tree is cached, and
// fails if its credentials are refused. References to a digest or a commit without a
// Secret need no request when cached; offline none is sent. Scope separates tenants that
// share a cache.
//
// Credentials of a Git host are those of the process. The cache separates entries that
// were fetched with them by host and by the version of the credentials: after these are
// removed or replaced, the module is fetched again.
//
// Mounted Secrets lie in a directory for each project (DIR/PROJECT/NAME), so that a
// reference cannot name the Secret of another project.
//
// A pull policy is applied before the lock, and again between the lock and the
// cache. Dependencies are checked against it before they are requested, and their
// signatures are verified before their content is used.
//
// Nothing is opened, read or started before the first module needs it.
package fetch
