// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package storage is the output of Transforms in clusters without a registry: a
// folder with archives, a server of them, and the ExternalArtifacts of Flux that
// lead to them. Storage keeps files, Store is what a reconciliation has of it
// (publish.Store), Server and Sweeper run beside the reconciler in the manager.
//
// # The shape
//
// Each Transform has a folder, transform/NAMESPACE/NAME, with archives that are
// called by their own SHA-256, <hex>.tar.gz: of the whole, of each layer, and of what
// a hand-over needs in between. Beside a whole lies its plan, <hex>.json, which
// a rollback reads. The digest of an artifact is that of its archive; the revision by
// which Flux sees a change is UNIT@DIGEST. An ExternalArtifact is written after its
// archive, by server-side apply: spec.sourceRef names the Transform.
//
// # Invariants
//
// The same files are the same archive, so the same digest and URL, on every machine
// and after a volume was lost: packing is that of package artifact.
//
// A name in a request or in an object becomes a path only where it is the name of a
// Kubernetes object or a SHA-256, and all paths are below an os.Root.
//
// A file has its name when it is whole and synced. What is read back is checked
// against its digest. What a process that was killed left half written is cleared away by
// a sweep when it is old, since the leader before may be writing yet.
//
// A file that is needed is never removed: what the status of a Transform, its rollback
// or an ExternalArtifact in the cluster names. What is not needed is marked
// by an empty file <hex>.unused, whose time says since when, and goes after the TTL,
// because a client that has read an object before it was changed still asks for what it
// named. So that time outlives the process, and publishing takes the mark away.
//
// Only the leader writes and serves. A replica that takes over has an empty folder,
// or that of the volume, and each Transform is reconciled then, which makes again
// what is missing: Desired says that it is gone.
package storage
