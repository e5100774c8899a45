// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package request makes of a Transform in a cluster the request that render takes:
// it finds the source and the ConfigMaps that the Transform names, writes the
// Transform down as the document that a repository would have, and has plugin/host
// load it all from memory.
//
// # Invariants
//
// Everything that is read for a Transform is read by the client that it is given,
// which stands for the Transform's service account. What a look at the cache of the
// controller says is used to know whether anything changed, never as content.
//
// No value of a Secret gets into a request: a Secret of inputsFrom is its name and
// its key, and only its metadata is asked for. Secrets that a module names as
// credentials go to the fetchers, and nowhere else.
//
// Positions lead to what the user wrote: files of the source from its root, and
// fields of the Transform (spec.input.replicas) and of ConfigMaps for the rest. The
// document that stands between is never named.
//
// Nothing is written to disk, and the package keeps nothing but sources in a memory
// that its caller bounds. An entry of that memory is found only under the source's
// own name beside the digest: who knows the digest of a tenant's source must not
// get it by naming it in the status of an object of their own.
//
// Callers: plugin/flux.
//
// # Decisions
//
// A source counts as long as it has an artifact for its generation, also while it
// is not Ready: a Git server that is down must not take a Transform down that has
// been delivered for long. That is what Flux does with its own consumers.
//
// A source is fetched whole, because a project has several modules.
//
// A Transform with a source and without a module is a project, whose documents
// stand as they are. Policies of the Transform are made by loading a document that
// has nothing but them, and are then put beside those of each spec, because a
// project that is altered has other lines than the user's.
package request
