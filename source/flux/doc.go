// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package flux gets module trees from the sources of Flux: what source-controller
// has fetched of a GitRepository, OCIRepository or Bucket, and what others
// publish as an ExternalArtifact.
//
// Invariants:
//   - The API server says where an artifact is and what its digest is, by the
//     interface [Artifacts]; the server of artifacts is not believed. Each byte is
//     hashed while it is unpacked, and a tree is given only when the digest is
//     right.
//   - Only http and https are spoken, and only with the host of the URL:
//     redirects to others, and from https to http, are not followed.
//   - Downloads are bounded in size and time, and never held as a whole.
//   - Errors name the source and the host, and no URL: those of some servers
//     carry tokens.
//
// Callers: plugin/host in a cluster, which brings Artifacts; source/cache and
// source/lock by source.Resolver; plugin/flux for whole projects.
//
// # Decisions
//
// A source that is not ready is an error even where it has an older artifact.
// Flux itself goes on with that; here a user waits for the render of a
// revision, and an old tree would look like a new one.
//
// What a source leads to is pinned by the digest of the artifact:
// GitRepository/apps/web@sha256:…. The revision of a GitRepository is not enough,
// since its artifact changes with spec.ignore too. Flux keeps an artifact for
// minutes, so a pinned reference is one that fails when it is no longer true,
// and no archive.
//
// An artifact that is gone (404) counts as one that may be there later: the
// source has moved on since its status was read, and names another now.
//
// The artifact is read as a whole, and then cut down to the module of the
// package unless the caller wants all of it. To read a part would need to know where modules are before their
// files came. Sources that are too large for the limits have spec.ignore and
// spec.sparseCheckout.
//
// See https://github.com/fluxcd/flux2/tree/main/rfcs/0012-external-artifact.
package flux
