// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package release has the documents between a render and a cluster: BuildPlan, DeployPlan,
// PreviewPlan, ArtifactSync and Installation. It reads and writes them, copies what they name from
// registry to registry, and makes the documents by which an engine applies an artifact.
//
// # Invariants
//
// Secrets are named, never held. What deploys names artifacts by digest. The same document
// and the same artifact give the same bytes. A document is read strictly, with every
// mistake at its line; a plan that was altered or is of a newer version is refused.
package release
