// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package statement writes statements about an artifact: in-toto statements v1
// that sign it, tell where it comes from, which images it runs and what its
// graph is. Values go in and JSON comes out; package signature signs it.
//
// Invariants:
//   - The same values give the same bytes: no time, no random, lists sorted.
//   - A statement has at least one subject, each with a SHA-256 digest.
//   - Credentials never get in: a URI with a password is refused.
//
// Package artifact and the command call it. The structs are plain and the standard library writes
// the JSON: the module test/peers has the libraries of in-toto, SLSA and CycloneDX read what is
// written here, so that the product need not link them.
//
// # Decisions
//
// Provenance has no times. SLSA wants none, and a render with times would be a
// new artifact each time. The time is in the log of the pipeline.
//
// The SBOM lists the images that the manifests name and nothing inside them: each image has an SBOM
// of its own, made by its builder. Images are not looked up in a registry: rendering is offline, so
// a reference without a digest stays without a digest.
package statement
