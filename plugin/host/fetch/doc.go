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
// A policy (source/pullpolicy) stands before the lock and again between the lock and
// the cache, so that neither is a way around it. Modules that others depend on are
// judged before any of them is asked for, by where the configuration of CUE's
// registries has them; their signatures, which are about what was fetched, are
// verified when they are there, before anybody reads them.
//
// Nothing is opened, read or started before the first module needs it: a render
// of local modules pays for none of it.
//
// # Decisions
//
// Mounted Secrets lie in a folder for each project (DIR/PROJECT/NAME). A reference
// names a Secret and no project, so a tenant cannot name that of another, and who may
// mount it says who may use it. One folder for all, with a rule for each Secret, was
// not chosen: whoever forgets the rule has given the Secret to everybody.
//
// Credentials for a Git host are used behind the cache, as those of docker for
// registries are: they are of the program and not of a tenant, and tenants are told
// apart by Scope and policy. The cache keeps what was had with them apart, by host
// and by when they were written, so that nobody gets it any more once they are taken
// away or replaced. To ask the server each time, as for a Secret of a reference, was
// not chosen: it costs every render a request, and fails it while the server is down.
// Nor was a digest of the credentials, which would be written down with the key.
//
// Callers: the command line, and the Argo CD and Flux adapters.
package fetch
