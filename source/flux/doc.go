// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package flux gets module trees from the sources of Flux: what source-controller
// has fetched of a GitRepository, OCIRepository or Bucket, and what others
// publish as an ExternalArtifact.
//
// Invariants:
//   - The API server gives the URL and the digest of an artifact, by the
//     interface [Artifacts]; the server of artifacts is not believed. Each byte is
//     hashed while it is unpacked, and a tree is given only when the digest is
//     right.
//   - Only http and https are spoken, and only with the host of the URL:
//     redirects to other hosts, and from https to http, are not followed.
//   - Downloads are bounded in size and time, and never held as a whole.
//   - Errors name the source and the host, and no URL: the URLs of some servers
//     carry tokens.
//
// A source that is not ready is an error even where it has an older artifact: that would
// look like the revision that a user waits for. A reference is pinned by the digest of
// the artifact, which changes with spec.ignore too; Flux keeps an artifact for minutes,
// so that a pinned reference fails when it is no longer true. An artifact that is gone
// (404) is ErrUnavailable: the source names another by now.
//
// See https://github.com/fluxcd/flux2/tree/main/rfcs/0012-external-artifact.
package flux
