// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package artifact packs a render as one OCI artifact that Flux and Argo CD both
// consume unchanged, and pushes, pulls, tags, copies, inspects, signs, verifies and
// prunes it: in registries, and in image layouts (package layout).
//
// # Format
//
// An artifact is an image manifest with the config type of Flux, one layer that is a tar.gz of the
// plain OCI type, and annotations. The tar has the manifests flat at its root, sorted, with mode
// 0644, without times and owners. The tree digest covers the uncompressed tar and stands in an
// annotation: by it, and not by the digest of the compressed layer, a push detects that nothing
// changed. A [Set] is a render with barrier layers: the complete artifact, and one of the same
// format for each layer, which the complete one names in an annotation.
//
// # Invariants
//
// The same files and options give the same bytes, on every machine: the encoder of gzip
// is pinned by go.mod, and the time is the epoch.
//
// Nothing is used before its digest is verified, and all reads are bounded. A referrer
// counts only if it names its subject.
//
// Tags move last: an interrupted push or copy leaves blobs without a tag, and the next
// attempt completes it. Every digest keeps a retention tag, see tags.go.
//
// Clients that attach to one manifest at the same moment lose nothing on a registry with
// the referrers API. On one without it, one of them may be lost, as with oras and cosign.
//
// The package reads no clock and no environment: times, which are in tags only, come
// from the caller.
//
// The fetcher of OCI sources takes a [Verifier], and does not import this package.
package artifact
